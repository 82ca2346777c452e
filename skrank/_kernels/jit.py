"""Declare functions that numba compiles when they are first needed, so that imports stay quick.

Python calls a `kernel`, and kernels call a `subroutine`. A declared function stays plain Python
until a kernel that needs it is compiled. numba caches the machine code on disk: in the folder that
the environment variable NUMBA_CACHE_DIR names, else beside the sources, else in the user's cache.

No function is compiled with numba's `fastmath`. It allows approximate reciprocals, whose bits
differ between manufacturers, and sums in an order that depends on the width of vectors: gradients,
and the trees that are trained on them, would differ between processors. `sums` adds in SIMD in an
order of its own.

A kernel declared with ``plain=True`` computes the same bits in plain Python, which
`skrank._engine.threads.run_chunks` chooses for few rows.
"""

import os
import sys
import threading
import time
from contextlib import suppress
from functools import lru_cache, update_wrapper
from hashlib import sha256
from pathlib import Path

import numpy as np

from skrank._warnings import warn

ONE_PASS = 0.01  # `row_cost` of a kernel that reads rows once: a row takes about a nanosecond

MESSAGE = "skrank: compiling loops: the first uses take some seconds (SKRANK_QUIET=1 hides this)"

# Options of `numba.njit`. Nothing calls the functions from C: compiling wrappers would take time.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# Without inlining, numba counts references to the arrays that are passed: gradients of lists of 20
# documents take twice as long.
_INLINED = _OPTIONS | {"forceinline": True}

# Subroutines to register with numba: the function that plain Python calls; a function that gets the
# types of arguments and returns the function that compiled code calls; options of `overload`.
_subroutines: list[tuple] = []
_caches: set[Path] = set()  # folders of numba's cache
_lock = threading.Lock()  # held while subroutines are registered

if hasattr(os, "register_at_fork"):  # so that no forked child inherits a lock that is held
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def subroutine(*, plain=None):
    """Declare a function that kernels call.

    Parameters
    ----------
    plain : function, optional
        Function that plain Python calls instead, with the same result.
    """

    def declare(function):
        _subroutines.append((plain or function, lambda *_: function, _INLINED))
        return plain or function

    return declare


def by_precision(single, double):
    """Function for kernels that calls `single` if its first argument is float32, else `double`."""

    def choose(x, *more):
        return (single if isinstance(x, np.float32) else double)(x, *more)

    # not _INLINED: the arguments are numbers, for which no references are counted
    _subroutines.append((choose, lambda x, *_: single if x.bitwidth == 32 else double, {}))
    return choose


def emitted(emit):
    """Declare a function that kernels call, and for which ``emit()`` writes LLVM instructions.

    `emit` is called when a kernel is compiled. It returns a function that compiled code calls, such
    as one that calls a `numba.extending.intrinsic`. Plain Python calls the declared function.
    """

    def declare(function):
        _subroutines.append((function, lambda *_: emit(), {}))
        return function

    return declare


def kernel(*, plain=False, row_cost=1, work=None):
    """Declare a function that Python calls.

    Parameters
    ----------
    plain : bool
        Whether plain Python computes the same bits: no integer of less than 64 bits wraps around,
        and all called functions round as in NumPy.
    row_cost : float
        Time of a row, as a multiple of that of most kernels: few rows that cost little are not
        shared by threads. Kernels of the cost ONE_PASS run as plain Python for more rows.
    work : function, optional
        Function that gets the arguments of a call and returns a workspace, the last argument of the
        kernel. An allocation inside a kernel would take numba 0.05 s to compile.
    """
    return lambda function: Kernel(function, plain, row_cost, work)


class Kernel:
    """A function that runs as plain Python or compiled: see `kernel`."""

    def __init__(self, function, plain, row_cost, work):
        update_wrapper(self, function)
        self.function, self.plain, self.row_cost, self.work = function, plain, row_cost, work
        self._dispatcher = None  # numba's dispatcher, which compiles or loads machine code on calls
        self._folder = None  # folder of the cached files
        self._compiled = {}  # tuples of argument types that this process compiled: numba adds them
        self._n_recorded = 0  # how many of them the checksum of the cached files covers

    def __reduce__(self):
        return self.__qualname__  # pickled by name, as functions are

    def __call__(self, *arguments):
        """Call the compiled function. Each new tuple of argument types compiles it once more."""
        if self._dispatcher is None:
            self._dispatcher = self._dispatch(cache=True)
        try:
            values = self._dispatcher(*arguments)
        except OSError:  # the cache cannot be written; kernels do not raise OSError
            _warn_that_nothing_is_cached(self._folder)
            self._dispatcher = self._dispatch(cache=False)
            return self._dispatcher(*arguments)
        if len(self._compiled) > self._n_recorded:
            self._record_checksum()
        return values

    def _dispatch(self, cache):
        import numba

        _register_subroutines()
        try:
            dispatcher = numba.njit(cache=cache, **_OPTIONS)(self.function)
            if cache and dispatcher is not self.function:
                self._use_cache(dispatcher.stats)
        except (RuntimeError, OSError):  # no folder to write to, or damaged files stay on disk
            _warn_that_nothing_is_cached(self._folder)
            return self._dispatch(cache=False)
        if dispatcher is self.function:  # without compilation (NUMBA_DISABLE_JIT)
            return np.errstate(all="ignore")(dispatcher)
        return dispatcher

    def _use_cache(self, stats):
        """Remove the cached files of this function unless they have the recorded checksum.

        numba notices neither damage nor changes of the functions that this function calls.
        """
        self._folder, self._compiled = Path(stats.cache_path), stats.cache_misses
        _caches.add(self._folder)
        while not self._is_intact():
            paths, _ = self._cached_files()
            if not _are_being_written(paths):
                for path in paths:
                    path.unlink(missing_ok=True)
                return
            time.sleep(0.1)

    def _is_intact(self):
        paths, record = self._cached_files()
        try:
            return record.read_bytes() == _checksum(paths)
        except OSError:
            return not paths

    def _record_checksum(self):
        self._n_recorded = len(self._compiled)
        paths, record = self._cached_files()
        with suppress(OSError):  # without a checksum, the next process compiles anew
            record.write_bytes(_checksum(paths))

    def _cached_files(self):
        """The cached files of this function, and the file with their checksum."""
        name = f"{self.__module__.rpartition('.')[2]}.{self.__qualname__}"
        return sorted(self._folder.glob(f"{name}-*.nb?")), self._folder / f"{name}.sha256"


def _are_being_written(paths):
    """True if a file is under 2 s old: its process writes the checksum at the end of its call."""
    with suppress(OSError):  # a file has just been removed
        return any(0 <= time.time() - path.stat().st_mtime < 2 for path in paths)
    return False


def _checksum(paths):
    """Checksum of files, and of the sources of all kernels."""
    return sha256(_sources() + b"".join(path.read_bytes() for path in paths)).digest()


@lru_cache(maxsize=1)
def _sources():
    return b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def _register_subroutines():
    """Register subroutines: compiled code calls what `choose` returns in place of `plain`."""
    from numba.extending import overload

    def announced(choose):
        def announce_and_choose(*types):
            _announce()  # numba calls this function to compile, but not to load cached code
            return choose(*types)

        return announce_and_choose

    with _lock:
        while _subroutines:
            plain, choose, options = _subroutines[-1]
            overload(plain, jit_options=options, strict=False)(announced(choose))
            _subroutines.pop()  # after `overload`, so that an interrupt loses no subroutine


@lru_cache(maxsize=1)
def _announce():
    """Print once why the first use of a kernel takes seconds, unless the cache holds any code."""
    filled = any(any(folder.glob("*.nbi")) for folder in _caches)
    if not filled and os.environ.get("SKRANK_QUIET", "0") in ("", "0"):
        print(MESSAGE, file=sys.stderr, flush=True)


@lru_cache
def _warn_that_nothing_is_cached(folder):
    """Warn, once for each folder, that cached files cannot be written or replaced there."""
    place = f" in {folder}" if folder else ""
    warn(
        f"compiled code cannot be cached{place}: every process compiles anew, for some seconds. "
        "Let the environment variable NUMBA_CACHE_DIR name a folder that can be written.",
        RuntimeWarning,
    )
