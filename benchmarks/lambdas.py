"""How long does one round of gradients take, against LightGBM's own lambdarank?

LightGBM computes its gradients inside ``Booster.update``; their time is that of a round with the
objective less that of the same round with constant gradients. Both sides see scores that move from
round to round as in training: the sort starts from the order of the round before.

    python benchmarks/lambdas.py [--queries 30000] [--documents 120] [--threads 2] [--rounds 8]
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
    parser.add_argument("--metrics", nargs="+", default=["gap", "ap", "ndcg", "err", "rr", "q"])
    return parser.parse_args()


options = parse()
os.environ["NUMBA_NUM_THREADS"] = str(options.threads)

import lightgbm as lgb  # noqa: E402
import numpy as np  # noqa: E402

import skrank  # noqa: E402
from skrank._queries import Queries  # noqa: E402
from skrank.metrics.plan import Judgments  # noqa: E402

GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # as in MSLR-WEB
FEATURES = 2  # trees cost next to nothing, so that the gradients show


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
        """Scores of the next round; not timed."""
        self.scores = self.scores + 0.03 * self.rng.standard_normal(len(self.scores))

    def __call__(self) -> None:
        self.bound.gradient(self.scores, self.grad, self.hess)


def seconds(rounds: LightGBMRounds | SkrankRounds) -> float:
    """Best time of a round; the first one warms up."""
    times = []
    for _ in range(options.rounds):
        start = time.perf_counter()
        rounds()
        times.append(time.perf_counter() - start)
        if isinstance(rounds, SkrankRounds):
            rounds.step()
    return min(times[1:])


def main() -> None:
    X, relevance, sizes = make_data(np.random.default_rng(0))
    judgments = Judgments(relevance, Queries.from_sizes(sizes))
    print(
        f"{options.queries} queries x {options.documents} documents, {options.threads} threads, "
        f"best of {options.rounds - 1} rounds"
    )
    trees = seconds(LightGBMRounds(X, relevance, sizes, 0))
    print(f"{'':24}{'full lists':>20}{'truncation 30':>20}")
    levels = ((10_000, None), (30, 30))
    own = [seconds(LightGBMRounds(X, relevance, sizes, level)) - trees for level, _ in levels]
    print(f"{'LightGBM lambdarank':24}" + "".join(f"{1e3 * each:>17.0f} ms" for each in own))
    for metric in options.metrics:
        cells = []
        for (_, truncation), peer in zip(levels, own, strict=True):
            mine = seconds(SkrankRounds(metric, judgments, truncation))
            cells.append(f"{1e3 * mine:>8.0f} ms  1/{peer / mine:<6.1f}")
        print(f"{'skrank ' + metric:24}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
