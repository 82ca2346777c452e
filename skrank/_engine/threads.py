"""Run compiled loops over chunks of queries in our own threads.

numba's ``prange`` kills a forked child (GNU OpenMP) or aborts on concurrent callers (workqueue), so
the kernels are serial, release the interpreter lock, and are spread over the caller and threads of
ours, which are started on first use, and anew in a child process. A call that is interrupted comes
back when no thread works for it any more: what it was given may be used again. A kernel at work is
not interrupted itself, so that Ctrl-C takes effect once the chunks at hand have ended.

Only the main thread is interrupted, at any of its steps. What it shares with the others are
therefore queues and lists, whose single operations are atomic, and no lock that it could leave
locked.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from skrank._kernels.forms import Kernel

_CHUNKS_PER_THREAD = 4  # queries differ in length: small chunks even out the threads
# A thread that waits takes some 50 microseconds to begin, and what seems a free processor may be
# held for milliseconds by a thread of OpenMP, which looks for work after a round of a booster or a
# network. So a further thread is for more work than this, in seconds.
_WORTH_A_THREAD = 0.5e-3
_USUAL_COST = 20e-9  # seconds a row, of kernels that were not measured yet
# What was held up seems to take longer: by so many seconds, or else by so much of what a row cost.
_HELD_UP, _DOUBT = 5e-3, 1.1
_ROWS_TO_MEASURE = 4_000  # with fewer, time goes into the call rather than into rows
_PATIENCE = 1e-3  # seconds between looks at whether interrupted work has ended

_costs: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # seconds a row, as of late

_limit: ContextVar[int | None] = ContextVar("skrank_threads", default=None)


def thread_count() -> int:
    """Threads to use: the limit, else numba's count, which joblib sets in its workers."""
    import numba

    return _limit.get() or int(numba.config.NUMBA_NUM_THREADS)


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """Use at most `n_threads` threads inside the block; results do not depend on their number."""
    token = _limit.set(n_threads)
    try:
        yield
    finally:
        _limit.reset(token)


class _Pool:
    """The threads of this process: as many as were ever asked for at once, and no more."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self.n_threads = 0

    def run(self, job: _Job, n_threads: int) -> None:
        """Let some threads help with a job, if there are any, which at exit there may not be."""
        while self.n_threads < n_threads:
            # daemons: the process may end while they wait, and functions of atexit still find them
            thread = threading.Thread(target=self._serve, name="skrank", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                break
            self.n_threads += 1
        for _ in range(n_threads):
            self.jobs.put(job)

    def _serve(self) -> None:
        while True:
            self.jobs.get().help()


_pool = _Pool()


def _forget_threads() -> None:
    """In a child process, where only the thread lives that has forked."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


class _Job:
    """Calls of one kernel on chunks of queries."""

    def __init__(self, call: Callable[[int, int], Any], bounds: list[int]) -> None:
        self.call = call
        self.waiting = deque(enumerate(pairwise(bounds)))
        self.size = len(self.waiting)
        self.done: SimpleQueue[tuple[int, Any, float] | BaseException] = SimpleQueue()
        self.stopped = False
        self.working: deque[None] = deque()  # an entry for each thread in `help`

    def help(self) -> None:
        """Work in a thread of the pool; an error is one of the results."""
        self.working.append(None)  # before the look at `stopped`: see `stop`
        try:
            self.work()
        except BaseException as error:
            self.stopped = True
            self.done.put(error)
        finally:
            self.working.pop()

    def work(self) -> None:
        """Take chunks until none is left."""
        while not self.stopped:
            try:
                number, (first, last) = self.waiting.popleft()
            except IndexError:
                return
            start = time.perf_counter()
            result = self.call(first, last)
            self.done.put((number, result, time.perf_counter() - start))

    def results(self) -> tuple[list[Any], float]:
        """What the calls return, in their order, and their seconds; the first error is raised."""
        found: dict[int, Any] = {}
        seconds = 0.0
        while len(found) < self.size:
            one = self.done.get()
            if isinstance(one, BaseException):
                raise one
            number, result, taken = one
            found[number] = result
            seconds += taken
        return [found[number] for number in range(self.size)], seconds

    def stop(self) -> None:
        """Start nothing more, and wait for what runs, however often one is interrupted meanwhile.

        A thread enters itself before it looks whether to stop; here the word to stop comes before
        the look at who has entered. So none is overlooked.
        """
        while True:
            try:
                self.stopped = True
                while self.working:
                    time.sleep(_PATIENCE)
                return
            except BaseException:
                continue


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
    form = kernel.form(n_rows) if isinstance(kernel, Kernel) else kernel
    cost = _costs.get(kernel, _USUAL_COST)
    n_threads = min(1 + int(n_rows * cost / _WORTH_A_THREAD), n_queries)
    if n_threads > 1:
        n_threads = min(thread_count(), n_threads)
    if n_threads > 1:
        targets = np.linspace(0, n_rows, n_threads * _CHUNKS_PER_THREAD + 1)[1:-1]
        bounds = np.unique(np.r_[0, np.searchsorted(indptr, targets), n_queries]).tolist()
        job = _Job(lambda first, last: form(first, last, indptr, *arguments), bounds)
        found, seconds = _share(job, n_threads)
    else:
        start = time.perf_counter()
        found = [form(0, n_queries, indptr, *arguments)]
        seconds = time.perf_counter() - start
    if n_rows >= _ROWS_TO_MEASURE and form is not getattr(kernel, "plain", None):
        most = _DOUBT * _costs.get(kernel, math.inf)
        _costs[kernel] = max(min(most, seconds / n_rows), (seconds - _HELD_UP) / n_rows)
    return found


def _share(job: _Job, n_threads: int) -> tuple[list[Any], float]:
    """Results of a job that the caller and other threads work on, and the seconds of all."""
    try:
        _pool.run(job, n_threads - 1)
        job.work()
        return job.results()
    except BaseException:
        job.stop()
        raise


T = TypeVar("T")


class cached_property(Generic[T]):
    """`functools.cached_property` without a lock.

    Python 3.11's holds one while it computes. A process that is forked meanwhile, by another
    thread, would wait for it forever. Here two threads may compute the same value; either will do.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        """The value, which hides this from then on."""
        if instance is None:
            return self
        return instance.__dict__.setdefault(self.name, self.compute(instance))
