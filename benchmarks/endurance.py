"""Memory per row of objectives, and numerical drift over a thousand rounds of training.

Memory is what NumPy and Python allocate for the objective, without the arrays of the booster
(labels, scores): between rounds, and at the peak of a round. Drift is measured on scores that
change in small steps: NaN, gradients of a query that do not sum to 0, and a document order, updated
from round to round, that differs from a full sort.

    python benchmarks/endurance.py [--rows 1000000] [--documents 100] [--rounds 1000]

Some objectives (mixtures of objectives) allocate a workspace for a
block of queries. Below a million rows, this workspace raises their memory per row.
"""

from __future__ import annotations

import argparse
import gc
import tracemalloc

import lightgbm as lgb
import numpy as np

import skrank
import skrank.lightgbm
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries

OBJECTIVES = {
    **{name: skrank.LambdaRank(name) for name in ("gap", "ndcg@10", "q", "err")},
    "LambdaLoss": skrank.LambdaLoss("ndcg"),
    "SoftRank gap": skrank.SoftRank("gap"),
    "Softmax": skrank.Softmax(),
    "SquaredError": skrank.SquaredError(centered=True),
    "mixture": 0.5 * skrank.LambdaRank("gap") + 0.5 * skrank.LambdaRank("ndcg"),
}
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--metrics", nargs="+", default=["gap", "ndcg@10", "err"])
    return parser.parse_args()


def memory(
    trained_on: skrank.Objective, labels: np.ndarray, sizes: np.ndarray
) -> tuple[float, float]:
    """Bytes per row between rounds and at the peak of a round, as LightGBM calls the objective."""
    X = np.zeros((len(labels), 1), np.float32)
    data = lgb.Dataset(X, labels, group=sizes, params={"verbose": -1}).construct()
    objective = skrank.lightgbm.objective(trained_on)
    scores = np.random.default_rng(0).standard_normal(len(labels))
    objective(scores, data)  # compiles, and allocates permanent buffers
    objective = skrank.lightgbm.objective(trained_on)
    tracemalloc.start()
    objective(scores, data)
    gc.collect()
    tracemalloc.reset_peak()
    gradients = objective(scores, data)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held -= sum(each.nbytes for each in gradients)
    return held / len(labels), peak / len(labels)


def drift(name: str, judgments: Judgments, rounds: int) -> tuple[int, float, bool]:
    """Number of NaN, largest abs(sum) / sum(abs) of a query's gradients, and True if the order is
    that of a full sort.
    """
    rng = np.random.default_rng(0)
    objective = skrank.LambdaRank(name, tie_order="stable")
    bound, n_rows = objective.bind(judgments), judgments.queries.n_rows
    grad, hess = np.empty((2, n_rows), np.float32)
    scores, lost, unbalanced = np.zeros(n_rows), 0, 0.0
    starts = judgments.indptr[:-1]
    for i in range(rounds):
        bound.gradient(scores, grad, hess)
        lost += int(np.isnan(grad).sum() + np.isnan(hess).sum())
        sums = np.abs(np.add.reduceat(grad, starts, dtype=np.float64))
        sizes = np.add.reduceat(np.abs(grad), starts, dtype=np.float64)
        unbalanced = max(unbalanced, float((sums / np.maximum(sizes, 1e-30)).max()))
        noise = rng.standard_normal(n_rows, dtype=np.float32)
        scores += 0.01 * (noise - grad / (hess + 0.01))
        if (i + 1) % 100 == 0:
            print(f"  {name}: round {i + 1}", flush=True)
    bound.gradient(scores, grad, hess)
    again = objective.bind(judgments)
    again.gradient(scores, *np.empty((2, n_rows), np.float32))
    return lost, unbalanced, bool(np.array_equal(bound.order, again.order))


def main() -> None:
    options = parse()
    rng = np.random.default_rng(0)
    n_queries = options.rows // options.documents
    sizes = np.full(n_queries, options.documents)
    n_rows = int(sizes.sum())
    labels = rng.choice(len(GRADES), size=n_rows, p=GRADES).astype(np.float32)
    print(f"{n_rows} rows, {n_queries} queries\n\nbytes per row          at rest    peak")
    for name, objective in OBJECTIVES.items():
        rest, peak = memory(objective, labels, sizes)
        print(f"{name:21}{rest:9.1f}{peak:8.1f}", flush=True)
    print(f"\ndrift over {options.rounds} rounds")
    judgments = Judgments(labels, Queries.from_sizes(sizes))
    for name in options.metrics:
        lost, unbalanced, same = drift(name, judgments, options.rounds)
        print(
            f"{name:16} NaN {lost}, largest |sum| / sum of |gradients| {unbalanced:.1e}, "
            f"order {'equal to' if same else 'DIFFERENT from'} that sorted anew"
        )


if __name__ == "__main__":
    main()
