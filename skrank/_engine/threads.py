"""Run kernels over chunks of queries in several threads.

Kernels are serial and release the interpreter lock. The calling thread and the threads of a pool,
one per process, take chunks of queries in turn. numba's ``prange`` would kill a forked child
(threading layer GNU OpenMP), or abort the process if two threads call it (threading layer
workqueue).

After an error or an interrupt, such as Ctrl-C, no further chunk starts. The call raises when the
running chunks have ended, so that no thread writes to its arrays any more.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from skrank._kernels.jit import ONE_PASS, Kernel

# Sorts, metrics and gradients of so many rows take 0.3 ms or more (30 to 2000 ns a row, on lists of
# 20 to 1000 documents). A waiting thread starts in 0.05 ms.
ROWS_PER_THREAD = 10_000
# A call runs as plain Python up to this number of rows, times the cost of a row. Plain Python takes
# up to 7 microseconds for a row; to import numba and load machine code takes a second per process.
PLAIN_ROWS = 5_000
_PLAIN_COST_OF_ONE_PASS = 0.3  # of a row in plain Python, where the `row_cost` is ONE_PASS
_CHUNKS_PER_THREAD = 4  # a thread that ends early takes the next chunk

T = TypeVar("T")

_plain_rows: ContextVar[int] = ContextVar("skrank_plain_rows", default=PLAIN_ROWS)


def thread_count() -> int:
    """Largest number of threads: that of numba.

    joblib sets numba's environment variable NUMBA_NUM_THREADS in its workers.
    """
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)


@contextmanager
def plain_up_to(n_rows: int) -> Iterator[None]:
    """Inside the block, run kernels as plain Python up to this number of rows.

    A process that measures few rows once takes less time so, as it does not import numba. For calls
    that are repeated on few rows, compiled kernels take less time.

    Parameters
    ----------
    n_rows : int
        -1 has all kernels compiled.

    Examples
    --------
    >>> import skrank
    >>> from skrank.extending import plain_up_to
    >>> with plain_up_to(60_000):
    ...     skrank.metric("ap")([0, 1, 1], [3, 2, 1])
    0.5833333333333333
    """
    token = _plain_rows.set(n_rows)
    try:
        yield
    finally:
        _plain_rows.reset(token)


# A context in which kernels are compiled also for few rows, for calls that are repeated.
compiled = partial(plain_up_to, -1)


def run_chunks(
    kernel: Callable[..., T], indptr: np.ndarray, *arguments: object, row_cost: float | None = None
) -> list[T]:
    """Call ``kernel(first, last, indptr, *arguments)`` on chunks that cover all queries.

    Parameters
    ----------
    kernel : callable
        Function that processes the queries ``first .. last - 1``.
    indptr : int64 array (n_queries + 1,)
        First row of each query, and the end.
    *arguments
        Further arguments of `kernel`.
    row_cost : float, optional
        Time of a row, as a multiple of that of most kernels. One more thread is used for each
        `ROWS_PER_THREAD` / `row_cost` rows. Default: that of the `Kernel`; 1 for a function.

    Returns
    -------
    list
        Results of the calls, in the order of the queries.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.extending import run_chunks
    >>> out = np.empty(2)
    >>> def fill_in(first, last, indptr, out):
    ...     out[first:last] = np.diff(indptr)[first:last]
    >>> calls = run_chunks(fill_in, np.array([0, 3, 5]), out)
    >>> out
    array([3., 2.])
    """
    n_queries, n_rows = len(indptr) - 1, int(indptr[-1])
    function, work = kernel, getattr(kernel, "work", None)
    cost: float = getattr(kernel, "row_cost", 1) if row_cost is None else row_cost
    n_threads = min(1 + int(cost * n_rows / ROWS_PER_THREAD), n_queries)
    if isinstance(kernel, Kernel) and kernel.plain:
        plain_cost = _PLAIN_COST_OF_ONE_PASS if cost == ONE_PASS else max(1, cost)
        if n_rows * plain_cost <= _plain_rows.get():
            function, n_threads = np.errstate(all="ignore")(kernel.function), 1

    def call(first: int, last: int) -> T:
        if work is None:
            return function(first, last, indptr, *arguments)
        return function(first, last, indptr, *arguments, work(first, last, indptr, *arguments))

    if n_threads > 1:  # `thread_count` imports numba
        n_threads = min(n_threads, thread_count())
    if n_threads <= 1:
        return [call(0, n_queries)]
    targets = np.linspace(0, n_rows, n_threads * _CHUNKS_PER_THREAD + 1)[1:-1]
    bounds = np.unique(np.r_[0, np.searchsorted(indptr, targets), n_queries]).tolist()
    return _share(call, list(pairwise(bounds)), n_threads)


def _share(call: Callable[[int, int], T], chunks: list[tuple[int, int]], n_threads: int) -> list[T]:
    """Call `call` on chunks, which threads take in turn; returns results in the order of chunks."""
    results: dict[int, T] = {}
    stops = [None] * n_threads  # a thread that takes None from the queue stops
    queue = deque([*enumerate(chunks), *stops])
    helpers: list[Future[None]] = []

    def run_queue() -> None:
        try:
            for number, chunk in iter(queue.popleft, None):
                results[number] = call(*chunk)
        except BaseException:
            queue.extendleft(stops)
            raise

    def stop_helpers() -> set[Future[None]]:
        """Cancel helpers that have not started. Stop the others, wait for them and return them."""
        queue.extendleft(stops)
        return wait([helper for helper in helpers if not helper.cancel()]).done

    try:
        _submit(run_queue, n_threads - 1, helpers)
        run_queue()
        stopped = stop_helpers()
    except BaseException:
        stop_helpers()
        raise
    for helper in stopped:
        helper.result()  # raises the error of its chunk
    return [results[number] for number in range(len(chunks))]


_pool: ThreadPoolExecutor


def _replace_pool() -> None:
    """Make a pool without threads; it starts a thread when a task needs one."""
    global _pool
    # for the calls of all threads of a process; 32 is chosen freely
    _pool = ThreadPoolExecutor(max(32, os.cpu_count() or 1), thread_name_prefix="skrank")


_replace_pool()
if hasattr(os, "register_at_fork"):  # a child does not have the threads of its parent
    os.register_at_fork(after_in_child=_replace_pool)


def _submit(task: Callable[[], None], times: int, futures: list[Future[None]]) -> None:
    """Submit a task to the pool `times` times; fewer times if no thread can be started."""
    try:
        for _ in range(times):
            futures.append(_pool.submit(task))
    except RuntimeError:  # the system refuses a thread, or Python is about to exit
        _pool.shutdown(cancel_futures=True)  # drops the task that it queued before the error
        _replace_pool()


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """`functools.cached_property` without a lock.

        In Python 3.11, `functools.cached_property` holds a lock while it computes. If another
        thread forks the process then, the child waits for the lock forever. Here, two threads may
        compute equal values; the first is cached.
        """

        def __init__(self, compute):
            self.compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            """The value, stored in the instance, where attribute look-up finds it afterwards."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.compute(instance))
