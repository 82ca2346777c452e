"""Time of the moments of the metric values of a large pool under random labels.

Usage: python benchmarks/active_moments.py [n_queries] [n_docs] [n_grades]
"""

import sys
import time

import numpy as np
from active_pools import label_moments

CASES = [("dcg@20", 1), ("err@20", 1), ("dcg@20", 2), ("err@20", 2), ("err", 2)]


def main(n_queries: int = 30_000, n_docs: int = 120, n_grades: int = 5) -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(n_queries), n_docs)
    scores = random.standard_normal((2, n_queries * n_docs))
    probabilities = random.random((n_queries * n_docs, n_grades)) ** 3
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    print(f"{n_queries} queries x {n_docs} documents x {n_grades} grades: seconds")
    for name, n_rankers in CASES:
        start = time.perf_counter()
        label_moments(name, [*scores[:n_rankers]], groups, probabilities)
        print(f"{name:<8}{n_rankers:>3} rankers{time.perf_counter() - start:>8.1f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
