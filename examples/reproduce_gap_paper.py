"""Reproduce Table 2 of the GAP paper on OHSUMED, beside the published values.

S. Robertson, E. Kanoulas and E. Yilmaz (SIGIR 2010) train SoftRank and
LambdaRank for nDCG, GAP and AP, and find that training for GAP ranks best, also
by nDCG@10, AP and precision at 10. Here both train linear rankers. SoftRank is
`skrank.LinearRanker`, which chooses among three penalties. LambdaRank takes
Newton steps along its gradients, from the same start and with the same
penalties. If PyTorch is installed, two-layer networks are trained as well, as
in the paper.

The validation part of each fold chooses all parameters, by the metric of the
training. Queries without a relevant document are left out.

    python examples/reproduce_gap_paper.py FOLDER [--seeds 10]

FOLDER holds OHSUMED of LETOR: S1.txt .. S5.txt or Fold1 .. Fold5 (also .gz and
.xz). Values are means over seeds with their standard error. A seed shuffles the
rows and initialises the networks. The order of the rows changes linear rankers
by rounding errors only. Networks amplify rounding errors, which differ between
processors, so their values vary between machines as between seeds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import skrank
from skrank.datasets import load_letor

MEASURED = ["ndcg@10", "ap", "precision@10"]
TRAINED = ["ndcg", "gap", "ap"]
ALPHAS = (1e-3, 3e-3, 1e-2)
PAPER = {
    ("SoftRank", "ndcg"): (0.4665, 0.4452, 0.4986),
    ("SoftRank", "gap"): (0.4747, 0.4478, 0.5001),
    ("SoftRank", "ap"): (0.4601, 0.4448, 0.4900),
    ("LambdaRank", "ndcg"): (0.4585, 0.4397, 0.5005),
    ("LambdaRank", "gap"): (0.4665, 0.4432, 0.5042),
    ("LambdaRank", "ap"): (0.4528, 0.4408, 0.4881),
}
Part = tuple[np.ndarray, pd.Series]
Scores = Callable[[np.ndarray], np.ndarray]


def softrank(metric: str, train: Part, valid: Part, seed: int) -> Scores:
    ranker = skrank.LinearRanker(metric, alpha=ALPHAS)
    return ranker.fit(*train, X_val=valid[0], y_val=valid[1]).predict


def centred(values: np.ndarray, qid: np.ndarray) -> np.ndarray:
    means = pd.DataFrame(values).groupby(qid).transform("mean").to_numpy()
    return values - means.reshape(values.shape)


def lambdarank(
    metric: str, train: Part, valid: Part, seed: int, steps: int = 60
) -> Scores:
    """A linear ranker by Newton steps along gradients of LambdaRank; validation
    stops early."""
    X, y = train
    qid = y.index.to_numpy()
    scale = X.std(0) + 1e-9
    table = centred(X / scale, qid)
    n_rows, n_queries = len(y), len(np.unique(qid))
    ridge = table.T @ table + 0.01 * n_rows * np.eye(X.shape[1])
    start = np.linalg.solve(ridge, table.T @ centred(y.to_numpy(), qid))
    objective, measure = skrank.LambdaRank(metric), skrank.metric(metric)
    best, weights = -np.inf, start
    for alpha in ALPHAS:
        now = start / np.std(table @ start)
        for _ in range(steps):
            value = measure(valid[1], valid[0] @ (now / scale))
            if value > best:
                best, weights = value, now
            grad, hess = objective(y, table @ now)
            penalty = 2 * alpha * n_queries
            curvature = (table * hess[:, None]).T @ table + penalty * np.eye(
                X.shape[1]
            )
            now = now - 0.1 * np.linalg.solve(
                curvature, table.T @ grad + penalty * now
            )
    return lambda rows: rows @ (weights / scale)


def network(kind: str) -> Callable[..., Scores]:
    """Training function of a two-layer network; `kind` is "SoftRank" or
    "LambdaRank"."""

    def train(metric: str, train: Part, valid: Part, seed: int) -> Scores:
        from skrank.torch import NeuralRanker

        objective = getattr(skrank, kind)(metric)
        ranker = NeuralRanker(
            objective, hidden=(10,), learning_rate=0.01,
            eval_metric=metric, net_params={"batch_size": 8},
            random_state=seed,
        )  # fmt: skip
        return ranker.fit(*train, X_val=valid[0], y_val=valid[1]).predict

    return train


def networks_at_hand() -> bool:
    try:
        from skrank.torch import NeuralRanker
    except ImportError:
        return False
    return NeuralRanker is not None


def shuffled(part: Any, rng: np.random.Generator) -> Part:
    order = rng.permutation(len(part.relevance))
    return part.X[order], skrank.with_groups(
        part.relevance[order], part.qid[order]
    )


def measure(
    learn: Callable[..., Scores], metric: str, folds: list[Any], seeds: int
) -> pd.DataFrame:
    """Values of the test queries by seed."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for fold in folds:
            train, valid, test = (shuffled(part, rng) for part in fold)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores = learn(metric, train, valid, seed)
            report = skrank.evaluate(test[1], scores(test[0]), metrics=MEASURED)
            found.append(
                report.per_query.loc["scores"].dropna().assign(seed=seed)
            )
    return pd.concat(found).set_index("seed", append=True)


def cells(values: pd.DataFrame) -> str:
    """Means over queries and seeds, with the standard error over seeds."""
    by_seed = values.groupby("seed").mean()
    pairs = zip(by_seed.mean(), by_seed.sem(), strict=True)
    return "".join(
        f"{f'{mean:.3f} ± {error:.3f}':>16}" for mean, error in pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    folds = list(load_letor(options.folder).values())
    kinds: dict[str, Callable[..., Scores]] = {
        "SoftRank": softrank,
        "LambdaRank": lambdarank,
    }
    if networks_at_hand():
        kinds |= {
            f"{kind}, network": network(kind)
            for kind in ("SoftRank", "LambdaRank")
        }
    for name, learn in kinds.items():
        values = {
            metric: measure(learn, metric, folds, options.seeds)
            for metric in TRAINED
        }
        print(
            f"\n{name}\n{'trained for':12}"
            + "".join(f"{one:>16}" for one in MEASURED)
        )
        for metric, frame in values.items():
            paper = PAPER[name.split(",")[0], metric]
            print(
                f"{metric:12}{cells(frame)}   paper: "
                f"{' '.join(f'{one:.4f}' for one in paper)}"
            )
        queries = {
            metric: frame.groupby(level=0).mean()
            for metric, frame in values.items()
        }
        for other in ("ndcg", "ap"):
            for one in MEASURED:
                pair = np.column_stack(
                    [queries["gap"][one], queries[other][one]]
                )
                p = float(skrank.stats.paired_t(pair).p_value[0])
                ahead = 100 * (pair[:, 0] - pair[:, 1]).mean()
                verdict = (
                    "confirmed"
                    if ahead > 0 and p < 0.05
                    else ("not significant" if p >= 0.05 else "contradicted")
                )
                print(
                    f"  {one}: GAP ahead of {other} by {ahead:+.2f} points, p "
                    f"= {p:.3f}: {verdict}"
                )


if __name__ == "__main__":
    main()
