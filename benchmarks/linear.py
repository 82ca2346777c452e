"""Training time of LinearRanker, and its memory besides the features.

Queries have equal lengths, and the first five features determine the grade, with noise. Memory is
the peak of the process in training, minus its memory before. A first training on few rows compiles.

    python benchmarks/linear.py [--queries 30000] [--documents 120] [--features 30] [--threads 2]
        [--objective gap] [--single]
"""

from __future__ import annotations

import argparse
import os
import resource
import threading
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--queries", type=int, default=30_000)
parser.add_argument("--documents", type=int, default=120)
parser.add_argument("--features", type=int, default=30)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--objective", default="gap")
parser.add_argument("--single", action="store_true", help="features in single precision")
options = parser.parse_args()
for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import numpy as np  # noqa: E402

import skrank  # noqa: E402


def make(n_queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n_rows = n_queries * options.documents
    X = np.empty((n_rows, options.features), np.float32 if options.single else np.float64)
    worth = np.empty(n_rows, np.float32)
    for start in range(0, n_rows, 100_000):
        rows = slice(start, start + 100_000)
        X[rows] = rng.standard_normal(X[rows].shape, dtype=np.float32)
        worth[rows] = X[rows, :5].sum(1) + 2 * rng.standard_normal(len(X[rows]))
    labels = np.searchsorted([1.5, 3, 4.5, 6], worth).astype(np.float64)
    return X, labels, np.repeat(np.arange(n_queries), options.documents)


def resident() -> int:
    """Resident size of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


class Peak:
    """Peak resident size of the process inside a ``with`` block."""

    def __enter__(self) -> Peak:
        self.before = self.most = resident()
        self.ended = threading.Event()
        self.watcher = threading.Thread(target=self._watch)
        self.watcher.start()
        return self

    def _watch(self) -> None:
        while not self.ended.wait(0.005):
            self.most = max(self.most, resident())

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.watcher.join()


def main() -> None:
    few = make(50)
    skrank.LinearRanker(options.objective).fit(few[0], few[1], groups=few[2])
    X, labels, qid = make(options.queries)
    ranker = skrank.LinearRanker(options.objective)
    with Peak() as peak:
        start, processor = time.perf_counter(), time.process_time()
        ranker.fit(X, labels, groups=qid)
        taken, used = time.perf_counter() - start, time.process_time() - processor
    extra = (peak.most - peak.before) / len(X)
    value = skrank.metric("gap")(
        labels[:120_000], ranker.predict(X[:120_000]), groups=qid[:120_000]
    )
    print(
        f"{len(X)} rows x {options.features} features, {options.threads} threads: {taken:.1f} s "
        f"({used:.1f} s of processors), {ranker.n_iter_} iterations, {extra:.1f} bytes per row "
        f"besides X; GAP {value:.3f}"
    )


if __name__ == "__main__":
    main()
