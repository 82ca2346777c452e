"""Time of a round of gradients, compared with the boosters' own ranking objectives.

Boosters compute gradients inside a round of boosting. Their time is that of a round with the
objective minus that of a round with constant gradients (LightGBM, XGBoost) or with squared error
(CatBoost, which trains several rounds at a time). Scores change from round to round as in training,
so the sort starts from the order of the previous round.

    python benchmarks/lambdas.py [--queries 30000] [--documents 120] [--threads 2] [--rounds 8]
                                 [--peers lightgbm xgboost catboost]
"""

from __future__ import annotations

import argparse
import os
import time


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=30_000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--peers", nargs="*", default=["lightgbm", "xgboost", "catboost"])
    parser.add_argument("--metrics", nargs="+", default=["gap", "ap", "ndcg", "err", "rr", "q"])
    return parser.parse_args()


options = parse()
os.environ["NUMBA_NUM_THREADS"] = str(options.threads)

import lightgbm as lgb  # noqa: E402
import numpy as np  # noqa: E402

import skrank  # noqa: E402
from skrank._engine.judgments import Judgments  # noqa: E402
from skrank._engine.queries import Queries  # noqa: E402

GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # as in MSLR-WEB
FEATURES = 2  # few, so that trees take little time compared with gradients


def make_data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_rows = options.queries * options.documents
    relevance = rng.choice(len(GRADES), size=n_rows, p=GRADES).astype(np.float64)
    signal = relevance + 3 * rng.standard_normal(n_rows)
    X = np.column_stack([signal, rng.standard_normal((n_rows, FEATURES - 1))]).astype(np.float32)
    return X, relevance, np.full(options.queries, options.documents)


class LightGBMRounds:
    """Rounds of LightGBM with its own objective, or with constant gradients."""

    def __init__(self, X: np.ndarray, relevance: np.ndarray, sizes: np.ndarray, truncation: int):
        self.objective = truncation > 0
        name = "lambdarank" if self.objective else "none"
        fixed = {"num_leaves": 8, "max_bin": 63, "verbose": -1, "force_row_wise": True}
        parameters = fixed | {"objective": name, "num_threads": options.threads}
        if self.objective:
            parameters["lambdarank_truncation_level"] = truncation
        data = lgb.Dataset(X, relevance, group=sizes, params=fixed)
        self.booster = lgb.Booster(parameters, data.construct())
        constant = np.random.default_rng(0).standard_normal(len(relevance)).astype(np.float32)
        self.gradients = constant, np.ones_like(constant)

    def __call__(self) -> None:
        if self.objective:
            self.booster.update()
        else:
            self.booster.update(fobj=lambda scores, data: self.gradients)


class XGBoostRounds:
    """Rounds of XGBoost with its own objective, or with constant gradients."""

    def __init__(self, X: np.ndarray, relevance: np.ndarray, sizes: np.ndarray, truncation: int):
        import xgboost as xgb

        self.own = truncation > 0
        parameters = {"max_depth": 3, "max_bin": 63, "nthread": options.threads, "verbosity": 0}
        if self.own:
            parameters |= {
                "objective": "rank:ndcg",
                "lambdarank_pair_method": "topk",
                "lambdarank_num_pair_per_sample": truncation,
            }
        self.data = xgb.QuantileDMatrix(X, relevance, group=sizes, max_bin=63)
        self.booster = xgb.Booster(parameters, [self.data])
        constant = np.random.default_rng(0).standard_normal(len(relevance)).astype(np.float32)
        self.gradients = constant, np.ones_like(constant)
        self.round = 0

    def __call__(self) -> None:
        if self.own:
            self.booster.update(self.data, self.round)
        else:
            self.booster.update(self.data, self.round, fobj=lambda scores, data: self.gradients)
        self.round += 1


def catboost_seconds(X: np.ndarray, relevance: np.ndarray, sizes: np.ndarray, loss: str) -> float:
    """Time of a round of CatBoost: the difference of two trainings, per additional round."""
    import catboost

    groups = np.repeat(np.arange(len(sizes)), sizes)
    data = catboost.Pool(X, relevance, group_id=groups)
    fixed = {"depth": 3, "border_count": 63, "thread_count": options.threads, "verbose": False}
    times = []
    for rounds in (2, 2 + options.rounds):
        model = catboost.CatBoost(fixed | {"loss_function": loss, "iterations": rounds})
        start = time.perf_counter()
        model.fit(data)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / options.rounds


class SkrankRounds:
    """Rounds of gradients on scores that move as in boosting."""

    def __init__(self, metric: str, judgments: Judgments, truncation: int | None):
        self.bound = skrank.LambdaRank(metric, truncation_level=truncation).bind(judgments)
        n_rows = judgments.queries.n_rows
        self.grad, self.hess = np.empty(n_rows, np.float32), np.empty(n_rows, np.float32)
        self.rng = np.random.default_rng(0)
        self.scores = self.rng.standard_normal(n_rows)
        self.step()

    def step(self) -> None:
        """Change the scores for the next round; not timed."""
        self.scores = self.scores + 0.03 * self.rng.standard_normal(len(self.scores))

    def __call__(self) -> None:
        self.bound.gradient(self.scores, self.grad, self.hess)


def seconds(rounds: LightGBMRounds | XGBoostRounds | SkrankRounds) -> float:
    """Best time of a round; the first round is not counted."""
    times = []
    for _ in range(options.rounds):
        start = time.perf_counter()
        rounds()
        times.append(time.perf_counter() - start)
        if isinstance(rounds, SkrankRounds):
            rounds.step()
    return min(times[1:])


LEVELS = ((10_000, None), (30, 30))  # truncation levels of peers, and of skrank


def peers(*data: np.ndarray) -> dict[str, list[float]]:
    """Time of gradients on full lists and at truncation 30."""
    found = {}
    for name, rounds in (("lightgbm", LightGBMRounds), ("xgboost", XGBoostRounds)):
        if name in options.peers:
            trees = seconds(rounds(*data, 0))
            found[name] = [seconds(rounds(*data, level)) - trees for level, _ in LEVELS]
    if "catboost" in options.peers:
        own = catboost_seconds(*data, "YetiRank") - catboost_seconds(*data, "RMSE")
        found["catboost"] = [own, own]
    return found


def main() -> None:
    X, relevance, sizes = make_data(np.random.default_rng(0))
    judgments = Judgments(relevance, Queries.from_sizes(sizes))
    print(
        f"{options.queries} queries x {options.documents} documents, {options.threads} threads, "
        f"best of {options.rounds - 1} rounds; share of the time of each peer"
    )
    others = peers(X, relevance, sizes)
    width = 16 + 9 * len(others)
    print(f"{'':20}{'full lists':>{width}}{'truncation 30':>{width}}")
    names = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg", "catboost": "YetiRank"}
    for name, times in others.items():
        label = f"{name} {names[name]}"
        print(f"{label:20}" + "".join(f"{1e3 * each:>{width - 3}.0f} ms" for each in times))
    for metric in options.metrics:
        line = f"{'skrank ' + metric:20}"
        for column, (_, truncation) in enumerate(LEVELS):
            mine = seconds(SkrankRounds(metric, judgments, truncation))
            shares = "".join(f"  1/{times[column] / mine:<5.1f}" for times in others.values())
            line += f"{f'{1e3 * mine:.0f} ms{shares}':>{width}}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
