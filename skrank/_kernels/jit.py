"""Compile kernels with numba, and cache the machine code for later processes.

Two decorators declare functions for numba: Python calls a `kernel`, and kernels call a
`subroutine`. A declared function stays plain Python until a kernel that needs it is compiled, so
that importing this package does not import numba.

A kernel declared with ``plain=True`` computes the same bits in plain Python, and one with a `plain`
function has the same results. `Kernel.for_rows` chooses plain Python for calls of few rows, until
the calls of a process have had many rows, since the import of numba takes almost a second, and
compilation takes seconds. A direct call, and any call with ``SKRANK_COMPILE=1`` in the environment,
is compiled.

numba caches a function by the file that defines it, and does not notice when a function that the
cached one calls is edited in another file. Therefore the cache folder is named after a digest of
all files of `skrank._kernels`. It has one folder per kernel, with a file `checksums` of the files
that numba wrote. If these differ, because they are damaged or incomplete, they are deleted before
numba reads them, and the kernel is compiled anew. Processes may share the cache: at worst, a
process that starts while another one writes compiles a kernel once more.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import warnings
import zlib
from functools import lru_cache, update_wrapper
from pathlib import Path

import numpy as np

# numba takes 0.8 s to be imported and started. In this time, plain Python evaluates a few metrics
# of 100,000 rows of TREC files, or of 40,000 rows of arrays. Calls of more weighted rows than the
# first number are compiled, and all calls after the second number. A row takes up to 7 microseconds
# in plain Python, but up to 1 in a kernel of one pass, where it counts 0.3. Once numba is imported,
# less time is left to save, and a row counts 4 times.
_ROWS_OF_A_PLAIN_CALL, _ROWS_OF_ALL_PLAIN_CALLS = 40_000, 1_000_000
_PLAIN_COST_OF_ONE_PASS, _PLAIN_COST_BESIDE_NUMBA = 0.3, 4

MESSAGE = "skrank: compiling loops for this machine, once: some seconds (SKRANK_QUIET=1 hides this)"

ONE_PASS = 0.01  # `row_cost` of a kernel that reads rows once: a row takes about a nanosecond

_OPTIONS = {"nogil": True, "error_model": "numpy"}  # of `numba.njit`, for every function
_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_BESIDE = Path(__file__).parent / "__pycache__"
_CHECKSUMS = "checksums"

# Subroutines that numba does not know yet: the function that plain Python calls; a function of the
# types of arguments that returns the function that compiled code calls; and options of `overload`.
_subroutines: list[tuple] = []
_plain_rows = 0  # number of rows of all plain calls, weighted as in `Kernel.for_rows`
_lock = threading.Lock()  # held while numba's CACHE_DIR is set to the cache folder of skrank

if hasattr(os, "register_at_fork"):  # else a forked child could inherit a lock that stays locked
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def subroutine(*, fastmath=False, plain=None):
    """Declare a function that kernels call.

    The function is inlined wherever it is called. Otherwise numba counts references to the arrays
    that are passed, and gradients of lists of 20 documents take twice as long.

    Parameters
    ----------
    fastmath : as in `numba.njit`
    plain : function, optional
        Function that plain Python calls instead, with the same result.
    """
    options = _OPTIONS | {"fastmath": fastmath, "forceinline": True}

    def declare(function):
        _subroutines.append((plain or function, lambda *_: function, options))
        return plain or function

    return declare


def by_precision(single, double):
    """Function for kernels that calls `single` if its first argument is float32, else `double`.

    It is compiled with the `fastmath` of the function that calls it.
    """

    def choose(x, *more):
        return (single if isinstance(x, np.float32) else double)(x, *more)

    _subroutines.append((choose, lambda x, *_: single if x.bitwidth == 32 else double, {}))
    return choose


def kernel(*, fastmath=False, plain=False, row_cost=1):
    """Declare a function that Python calls.

    Parameters
    ----------
    fastmath : as in `numba.njit`
    plain : bool or function
        True if plain Python computes the same bits: no sum is reordered, no integer of less than 64
        bits wraps around, and all called functions round as in NumPy. Or a function that plain
        Python calls instead, with the same result.
    row_cost : float
        Time of a row, as a multiple of that of most kernels: few rows that cost little are not
        shared by threads. Kernels of the cost ONE_PASS run as plain Python for more rows.
    """
    return lambda function: Kernel(function, _OPTIONS | {"fastmath": fastmath}, plain, row_cost)


class Kernel:
    """A function that runs as plain Python or compiled: see `kernel`."""

    def __init__(self, function, options, plain, row_cost):
        update_wrapper(self, function)
        self.row_cost = row_cost
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        in_python = function if plain is True else plain
        self.plain = np.errstate(all="ignore")(in_python) if plain else None
        self._function, self._options = function, options
        self._dispatcher = None  # numba's dispatcher, which compiles or loads machine code on calls

    def __reduce__(self):
        return self.__qualname__  # pickled by name, as functions are

    def for_rows(self, n_rows, row_cost=None):
        """The function for a call: `plain` if the rows of all plain calls are few, else `compiled`.

        `row_cost` replaces that of the kernel.
        """
        global _plain_rows
        everything = os.environ.get("SKRANK_COMPILE", "0") not in ("", "0")
        if self.plain is None or self._dispatcher is not None or everything:
            return self.compiled
        cost = row_cost or self.row_cost
        if "numba" in sys.modules:
            n_rows *= _PLAIN_COST_BESIDE_NUMBA * max(1, cost)
        else:
            n_rows *= _PLAIN_COST_OF_ONE_PASS if cost == ONE_PASS else max(1, cost)
        if n_rows > min(_ROWS_OF_A_PLAIN_CALL, _ROWS_OF_ALL_PLAIN_CALLS - _plain_rows):
            return self.compiled
        _plain_rows += n_rows
        return self.plain

    def compiled(self, *arguments):
        """Call the compiled function. Each new tuple of argument types compiles it once more."""
        cache = _cache_folder()
        folder = None if cache is None else cache / self.name
        try:
            dispatcher = self._dispatcher or self._dispatch(folder)
            # machine code by tuple of argument types; missing under NUMBA_DISABLE_JIT
            compiled = getattr(dispatcher, "overloads", ())
            known = len(compiled)
            result = dispatcher(*arguments)
        except OSError as error:  # the cache cannot be written; kernels do not raise OSError
            _warn_that_nothing_is_cached(error)
            self._dispatcher = None
            return self._dispatch(None)(*arguments)
        if folder is not None and len(compiled) > known:
            _record(folder)
        return result

    __call__ = compiled

    def _dispatch(self, folder):
        """The dispatcher of numba, which the first thread makes that calls this."""
        import numba

        with _lock:
            if self._dispatcher is not None:
                pass
            elif numba.config.DISABLE_JIT:
                self._dispatcher = np.errstate(all="ignore")(self._function)
            else:
                _register_subroutines()
                if folder is None or not _is_cached(folder):
                    _announce()
                self._dispatcher = _njit(self._function, self._options, folder)
            return self._dispatcher


def _register_subroutines():
    """Pass `_subroutines` to numba: compiled code then calls `compiled` in place of `plain`."""
    from numba.extending import overload

    while _subroutines:
        plain, compiled, options = _subroutines[-1]
        overload(plain, jit_options=options, strict=False)(compiled)
        _subroutines.pop()  # after `overload`, so that an interrupt loses no subroutine


def _njit(function, options, folder):
    import numba

    if folder is None:
        return numba.njit(**options)(function)
    configured = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(folder)
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = configured


def _create(folder):
    """Create a folder unless it exists. Raises OSError if files cannot be written to it."""
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()


def _files(folder):
    """numba's files of a kernel: an index (nbi), and machine code (nbc) per tuple of types."""
    return sorted(folder.rglob("*.nb[ic]"))


def _checksums(folder):
    """One line per file of a kernel, such as "0f3a99c1 labels.count-27.py312.1.nbc"."""
    lines = [f"{zlib.crc32(path.read_bytes()):08x} {path.name}" for path in _files(folder)]
    return "\n".join(lines)


def _is_cached(folder):
    """Whether the files of a kernel are those that `_record` found; if not, deletes all of them.

    Raises OSError if the folder cannot be written: numba would choose another one.
    """
    _create(folder)
    recorded = folder / _CHECKSUMS
    try:
        if recorded.read_text(errors="replace") == _checksums(folder):
            return True
    except FileNotFoundError:  # never compiled, or another process deletes a file
        pass
    for path in [*_files(folder), recorded]:
        path.unlink(missing_ok=True)
    return False


def _record(folder):
    try:
        (folder / _CHECKSUMS).write_text(_checksums(folder))
    except OSError:  # the next process compiles this kernel again
        return


@lru_cache(maxsize=1)
def _cache_folder():
    """The cache of this version of the sources; None, with a warning, if none can be written."""
    digest = hashlib.sha256()
    for path in _SOURCES:
        digest.update(path.read_bytes())
    name = f"skrank-{digest.hexdigest()[:16]}"
    for parent in _parents():
        try:
            if parent == _BESIDE and not (parent / name).exists():
                for old in parent.glob("skrank-*"):  # caches of other versions of the sources
                    shutil.rmtree(old, ignore_errors=True)
            _create(parent / name)
            return parent / name
        except OSError as error:
            reason = error
    _warn_that_nothing_is_cached(reason)
    return None


def _parents():
    """Folders for the cache, best first: NUMBA_CACHE_DIR, beside the sources, the user's cache."""
    import numba

    if numba.config.CACHE_DIR:
        yield Path(numba.config.CACHE_DIR)
    yield _BESIDE
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    yield Path(home or os.path.expanduser("~/.cache"))


@lru_cache(maxsize=1)
def _announce():
    """Print once why the first use after installation takes seconds."""
    if os.environ.get("SKRANK_QUIET", "0") in ("", "0"):
        print(MESSAGE, file=sys.stderr, flush=True)


_warned = False


def _warn_that_nothing_is_cached(reason):
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled code cannot be cached ({reason}): every process compiles anew, for some "
            "seconds. Let the environment variable NUMBA_CACHE_DIR name a folder that can be "
            "written.",
            RuntimeWarning,
            stacklevel=3,
        )
