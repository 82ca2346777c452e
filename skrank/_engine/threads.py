"""Run compiled loops over chunks of queries in our own threads.

numba's ``prange`` kills a forked child (GNU OpenMP) or aborts on concurrent callers (workqueue), so
the kernels are serial, release the interpreter lock, and are spread over a pool that is made on
first use and made anew in a child process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import numpy as np

_CHUNKS_PER_THREAD = 4  # queries differ in length: small chunks even out the threads
_ROWS_WORTH_A_THREAD = 20_000

_limit: ContextVar[int | None] = ContextVar("skrank_threads", default=None)
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def thread_count() -> int:
    """Threads to use: the limit, else numba's count, which joblib sets in its workers."""
    import numba

    return _limit.get() or int(numba.config.NUMBA_NUM_THREADS)


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """Use `n_threads` threads inside the block; results do not depend on their number."""
    token = _limit.set(n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), n_threads)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(n_threads, thread_name_prefix="skrank")
    return _pools[key]


def run_chunks(kernel: Callable[..., Any], indptr: np.ndarray, *arguments: Any) -> list[Any]:
    """Call ``kernel(first, last, indptr, *arguments)`` on chunks that cover all queries.

    Parameters
    ----------
    kernel : compiled function over a range of queries
    indptr : int64 array (n_queries + 1,), first row of each query and the end
    *arguments : passed on

    Returns
    -------
    list of what the calls returned, in the order of the queries
    """
    n_queries, n_rows = len(indptr) - 1, int(indptr[-1])
    n_threads = min(thread_count(), 1 + n_rows // _ROWS_WORTH_A_THREAD, n_queries)
    if n_threads <= 1:
        return [kernel(0, n_queries, indptr, *arguments)]
    targets = np.linspace(0, n_rows, n_threads * _CHUNKS_PER_THREAD + 1)[1:-1]
    bounds = np.unique(np.r_[0, np.searchsorted(indptr, targets), n_queries]).tolist()
    calls = [
        _pool(n_threads).submit(kernel, first, last, indptr, *arguments)
        for first, last in pairwise(bounds)
    ]
    return [call.result() for call in calls]
