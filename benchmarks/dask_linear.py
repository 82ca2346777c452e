"""Training time and memory of LinearRanker on Dask workers, compared with a single process.

The single process trains on an array in memory, with one thread per worker. Then worker processes
with one thread each train on a Dask array with whole queries per partition, which the workers
generate. Features are float32, some with heavy tails. Memory is the peak resident size of each
process, with training data and libraries.

    python benchmarks/dask_linear.py [--rows 3600000] [--documents 120] [--features 40]
        [--workers 2] [--partitions 4] [--objective gap]
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import resource
import time

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--rows", type=int, default=3_600_000)
parser.add_argument("--documents", type=int, default=120)
parser.add_argument("--features", type=int, default=40)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--partitions", type=int, default=4)
parser.add_argument("--objective", default="gap")
options = parser.parse_args()
THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
for name in THREADS:
    os.environ.setdefault(name, str(options.workers))

import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402
from dask import delayed  # noqa: E402
from distributed import Client, LocalCluster, wait  # noqa: E402

import skrank  # noqa: E402

QUERIES = options.rows // options.documents // options.partitions  # queries of a partition


def part(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and queries of a partition."""
    rng = np.random.default_rng(number)
    n_rows = QUERIES * options.documents
    X = rng.standard_normal((n_rows, options.features), dtype=np.float32)
    noise = 2 * rng.standard_normal(n_rows, dtype=np.float32)
    labels = np.searchsorted([1.5, 3, 4.5, 6], X[:, :5].sum(axis=1) + noise).astype(np.float64)
    X[:, ::4] = np.sinh(3 * X[:, ::4])
    return X, labels, np.repeat(np.arange(QUERIES) + number * QUERIES, options.documents)


def peak() -> float:
    """Peak resident size of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def compile_loops() -> None:
    X, labels, qid = (one[:6000] for one in part(0))
    skrank.LinearRanker(options.objective, options={"max_iter": 2, "tol": 0.1}).fit(
        X, labels, groups=qid
    )


def on_one_machine() -> tuple[float, float, np.ndarray, int]:
    """Seconds of a fit, peak memory in GB, coefficients and number of iterations."""
    compile_loops()
    n_rows = QUERIES * options.documents
    X = np.empty((n_rows * options.partitions, options.features), np.float32)
    labels, qid = np.empty((2, len(X)))
    for number in range(options.partitions):
        rows = slice(number * n_rows, (number + 1) * n_rows)
        X[rows], labels[rows], qid[rows] = part(number)
    start = time.perf_counter()
    ranker = skrank.LinearRanker(options.objective).fit(X, labels, groups=qid)
    return time.perf_counter() - start, peak(), ranker.coef_, ranker.n_iter_


def on_workers() -> tuple[float, list[float], np.ndarray, int]:
    """Seconds of a fit, peak memory of each worker, coefficients and number of iterations."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # for the workers
    cluster = LocalCluster(
        n_workers=options.workers,
        threads_per_worker=1,
        memory_limit=None,
        dashboard_address=":0",
        silence_logs=logging.ERROR,
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(options.workers)
        client.run(compile_loops)
        pieces = client.persist([delayed(part)(number) for number in range(options.partitions)])
        n_rows = QUERIES * options.documents
        X, labels, qid = (
            da.concatenate(
                [da.from_delayed(piece[place], (n_rows, *width), dtype) for piece in pieces]
            )
            for place, (width, dtype) in enumerate(
                [((options.features,), np.float32), ((), np.float64), ((), np.int64)]
            )
        )
        wait(pieces)
        start = time.perf_counter()
        ranker = skrank.LinearRanker(options.objective).fit(X, labels, qid)
        taken = time.perf_counter() - start
        return taken, sorted(client.run(peak).values()), ranker.coef_, ranker.n_iter_


def main() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        alone, memory, coef, n_iter = pool.apply(on_one_machine)
    taken, memories, found, rounds = on_workers()
    n_rows = options.partitions * QUERIES * options.documents
    size = n_rows * options.features * 4 / 1e9
    print(f"{n_rows:,} rows, {options.features} features in single precision: {size:.2f} GB of X")
    print(f"{'':24}{'seconds':>9}{'iterations':>12}   peak memory of a process, GB")
    print(f"{'one process':24}{alone:9.1f}{n_iter:12}   {memory:.2f}")
    each = ", ".join(f"{one:.2f}" for one in memories)
    print(f"{f'{options.workers} workers':24}{taken:9.1f}{rounds:12}   {each}")
    print(f"largest difference of weights: {np.abs(coef - found).max() / np.abs(coef).max():.1e}")


if __name__ == "__main__":
    main()
