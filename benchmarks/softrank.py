"""Time of a round of SoftRank gradients, compared with LambdaRank on the same metric.

Scores change from round to round as in training. Gradients are float32, as in boosters, and
float64; the time includes the value of each query.

    python benchmarks/softrank.py [--queries 30000] [--documents 120] [--threads 2] [--rounds 6]
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
    parser.add_argument("--rounds", type=int, default=6)
    return parser.parse_args()


options = parse()
os.environ["NUMBA_NUM_THREADS"] = str(options.threads)

import numpy as np  # noqa: E402

from skrank._engine.judgments import Judgments  # noqa: E402
from skrank._engine.queries import Queries  # noqa: E402
from skrank.objectives import LambdaRank, Objective, SoftRank  # noqa: E402

GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # as in MSLR-WEB


def make_judgments(n_queries: int) -> Judgments:
    rng = np.random.default_rng(0)
    relevance = rng.choice(len(GRADES), size=n_queries * options.documents, p=GRADES)
    sizes = np.full(n_queries, options.documents)
    return Judgments(relevance.astype(np.float64), Queries.from_sizes(sizes))


class Rounds:
    """Rounds of gradients on scores that change as in boosting."""

    def __init__(
        self,
        objective: Objective,
        judgments: Judgments,
        real: type = np.float32,
        scale: float = 1.0,
    ) -> None:
        self.bound = objective.bind(judgments)
        n_rows = judgments.queries.n_rows
        self.grad, self.hess = np.empty((2, n_rows), real)
        self.rng = np.random.default_rng(0)
        self.scores = self.rng.standard_normal(n_rows)
        self.scale = scale
        self.times: list[float] = []

    def __call__(self) -> None:
        start = time.perf_counter()
        self.bound.gradient(self.scores, self.grad, self.hess)
        self.times.append(self.scale * (time.perf_counter() - start))
        self.scores += 0.03 * self.rng.standard_normal(len(self.scores))

    @property
    def seconds(self) -> float:
        """Best time of a round; the first round is not counted."""
        return min(self.times[1:])


def main() -> None:
    judgments = make_judgments(options.queries)
    runs = {}
    for metric in ("gap", "ap", "ap(rel=2)", "ndcg"):
        runs[metric, "LambdaRank"] = Rounds(LambdaRank(metric), judgments)
        runs[metric, "SoftRank"] = Rounds(SoftRank(metric), judgments)
        runs[metric, "SoftRank, double"] = Rounds(SoftRank(metric), judgments, np.float64)
    for _ in range(options.rounds):  # in turn, so that other load affects all runs alike
        for run in runs.values():
            run()
    print(
        f"{options.queries} queries x {options.documents} documents, {options.threads} threads, "
        f"best of {options.rounds - 1} rounds"
    )
    for (metric, name), run in runs.items():
        share = run.seconds / runs[metric, "LambdaRank"].seconds
        print(f"{metric:12}{name:24}{1e3 * run.seconds:>9.0f} ms {share:>8.2f} x")


if __name__ == "__main__":
    main()
