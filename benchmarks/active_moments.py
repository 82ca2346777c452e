"""Time of the moments of the metric values of a large pool under random labels.

Usage: python benchmarks/active_moments.py [n_queries] [n_docs] [n_grades]
"""

import sys
import time

import numpy as np

from skrank._engine.threads import thread_count
from skrank.active._moments import random_labels

CASES = [
    ("dcg", 1, "auto"), ("err", 1, "auto"), ("dcg", 2, "auto"), ("err", 2, "auto"),
    ("err@20", 2, "auto"), ("ap", 1, "auto"), ("gap", 1, "auto"),
]  # fmt: skip


def main(n_queries: int = 30_000, n_docs: int = 120, n_grades: int = 5) -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_queries), n_docs)
    scores = random.standard_normal((2, n_queries * n_docs))
    probabilities = random.random((n_queries * n_docs, n_grades)) ** 3
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    print(f"{n_queries} queries x {n_docs} documents x {n_grades} grades, ", end="")
    print(f"{thread_count()} threads; best of 3, seconds")
    print(f"{'metric':<8}{'rankers':>8}{'sorting etc.':>14}{'moments':>10}{'total':>8}")
    for name, n_rankers, method in CASES:
        measure(name, list(scores[:n_rankers]), groups, probabilities, method)


def measure(name, scores, groups, probabilities, method) -> None:  # type: ignore[no-untyped-def]
    best = []
    for repeat in range(4):  # the first repeat compiles and is not counted
        start = time.perf_counter()
        labels = random_labels(name, scores, groups, probabilities, None, None, 0, who="benchmark")
        middle = time.perf_counter()
        labels.moments(method, 200, 0)
        if repeat:
            best.append((middle - start, time.perf_counter() - middle))
    sorting, moments = np.min(best, axis=0)
    print(f"{name:<8}{len(scores):>8}{sorting:>14.2f}{moments:>10.2f}{sorting + moments:>8.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
