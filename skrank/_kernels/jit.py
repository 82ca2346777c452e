"""Compile kernels with numba, and cache the machine code for later processes.

Two decorators declare functions for numba: Python calls a `kernel`, and kernels call a
`subroutine`. A declared function stays plain Python until a kernel that needs it is compiled, so
that importing this package does not import numba.

A kernel declared with ``plain=True`` computes the same bits in plain Python. It runs as plain
Python until it has processed many rows, since the import of numba takes half a second, and
compilation takes seconds. Any other kernel is compiled by its first call. With ``SKRANK_COMPILE=1``
in the environment every kernel is compiled by its first call.

numba caches a function by the file that defines it, and does not notice when a function that the
cached one calls is edited in another file. Therefore the cache folder is named after a digest of
all files of this package. The file `checksums` in that folder holds a checksum of every file that
numba wrote, so that a damaged one is deleted before numba reads it, and compiled anew.
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
# of 100,000 rows of TREC files, or of 40,000 rows of arrays. A row takes up to 1 microsecond in a
# kernel of one pass, and up to 7 in others. Once numba is imported, less time is left to save.
_ROWS_OF_A_PLAIN_CALL, _ROWS_OF_ALL_PLAIN_CALLS = 40_000, 1_000_000
_PLAIN_COST_OF_ONE_PASS, _PLAIN_COST_BESIDE_NUMBA = 0.3, 4

MESSAGE = "skrank: compiling loops for this machine, once: some seconds (SKRANK_QUIET=1 hides this)"

ONE_PASS = 0.01  # `row_cost` of a kernel that reads rows once: a row takes about a nanosecond

_OPTIONS = {"nogil": True, "error_model": "numpy"}  # of `numba.njit`, for every function
_SOURCES = sorted(Path(__file__).parent.glob("*.py"))
_BESIDE = Path(__file__).parent / "__pycache__"

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
    """Function of one number for kernels: calls `single` for float32 and `double` for float64."""

    def choose(x):
        return (single if isinstance(x, np.float32) else double)(x)

    _subroutines.append((choose, lambda x: single if x.bitwidth == 32 else double, {}))
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
        shared by threads, and more of them run as plain Python.
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
        return self.__qualname__

    def for_rows(self, n_rows, row_cost=None):
        """`plain` for few rows, until plain calls have taken the time to start numba; `compiled`.

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
        cache = _cache()
        try:
            dispatcher = self._dispatcher or self._dispatch(cache)
            # machine code by tuple of argument types; missing under NUMBA_DISABLE_JIT
            compiled = getattr(dispatcher, "overloads", ())
            known = len(compiled)
            result = dispatcher(*arguments)
        except OSError as error:  # the cache cannot be written; kernels do not raise OSError
            _warn_that_nothing_is_cached(error)
            self._dispatcher = None
            return self._dispatch(None)(*arguments)
        if cache is not None and len(compiled) > known:
            cache.record(self.name)
        return result

    __call__ = compiled

    def _dispatch(self, cache):
        """The dispatcher of numba, which the first thread makes that calls this."""
        import numba

        with _lock:
            if self._dispatcher is not None:
                pass
            elif numba.config.DISABLE_JIT:
                self._dispatcher = np.errstate(all="ignore")(self._function)
            else:
                _register_subroutines()
                if cache is None or self.name not in cache.kernels:
                    _announce()
                self._dispatcher = _njit(self._function, self._options, cache)
            return self._dispatcher


def _register_subroutines():
    """Pass `_subroutines` to numba, which calls their compiled functions from then on."""
    from numba.extending import overload

    while _subroutines:
        plain, compiled, options = _subroutines[-1]
        overload(plain, jit_options=options, strict=False)(compiled)
        _subroutines.pop()  # after `overload`, so that an interrupt loses no subroutine


def _njit(function, options, cache):
    import numba

    if cache is None:
        return numba.njit(**options)(function)
    cache.check()  # else numba would choose another folder
    configured = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(cache.folder)
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = configured


class _Cache:
    """A folder of machine code. Files whose checksum is not recorded are deleted at the start.

    Processes share the folder. They replace whole files and append whole lines to `checksums`; at
    worst they compile a kernel once more than needed. `kernels` has the names of intact kernels.
    """

    def __init__(self, folder):
        """Raises OSError if files cannot be written to the folder, or deleted from it."""
        self.folder = folder
        self.check()
        self._seen = {}  # time and size of each file when its checksum was computed
        recorded = self._recorded()
        for path in self._files():
            if self._checksum(path) not in recorded:
                path.unlink(missing_ok=True)
        names = {self._name(path) for path in self._files()}
        lost = {kernel for line, kernel in recorded.items() if line.partition(" ")[2] not in names}
        self.kernels = set(recorded.values()) - lost
        if lost:
            self._forget(lost, recorded)

    def _forget(self, lost, recorded):
        """Delete the files and the records of kernels that lack a file: they are compiled anew."""
        for path in self._files():
            if recorded.get(self._checksum(path)) in lost:
                path.unlink(missing_ok=True)
        kept = [f"{line} {kernel}" for line, kernel in recorded.items() if kernel not in lost]
        new = self.folder / f"checksums-{os.getpid()}"
        new.write_text("\n".join(kept))
        new.replace(self._checksums)

    def _recorded(self):
        """Mapping from "checksum file", such as "0f3a99c1 sub/f.nbc", to the kernel of the file."""
        if not self._checksums.exists():
            return {}
        lines = self._checksums.read_text(errors="replace").splitlines()
        return dict(line.rpartition(" ")[::2] for line in lines)

    def check(self):
        """Raises OSError if files cannot be written to the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=self.folder).close()

    def record(self, kernel):
        """Record the checksums of the files of `kernel`: all that are new or changed."""
        try:
            new = [path for path in self._files() if self._seen.get(path) != self._state(path)]
            with self._checksums.open("a") as file:
                # the line break comes first, to end a line that was cut off
                file.write("".join(f"\n{self._checksum(path)} {kernel}" for path in new))
        except OSError:  # the next process deletes files without a checksum, and compiles again
            return

    @property
    def _checksums(self):
        return self.folder / "checksums"

    def _files(self):
        """numba's files: an index (nbi) per function, machine code (nbc) per tuple of types."""
        return [path for kind in ("nbi", "nbc") for path in self.folder.rglob(f"*.{kind}")]

    @staticmethod
    def _state(path):
        found = path.stat()
        return found.st_mtime_ns, found.st_size

    def _checksum(self, path):
        """Text "checksum file" of a file."""
        self._seen[path] = self._state(path)
        return f"{zlib.crc32(path.read_bytes()):08x} {self._name(path)}"

    def _name(self, path):
        return path.relative_to(self.folder).as_posix()


@lru_cache(maxsize=1)
def _cache():
    """The cache of this process; None, with a warning, if no folder can be written."""
    digest = hashlib.sha256()
    for path in _SOURCES:
        digest.update(path.read_bytes())
    name = f"skrank-{digest.hexdigest()[:16]}"
    for parent in _parents():
        try:
            if parent == _BESIDE and not (parent / name).exists():
                for old in parent.glob("skrank-*"):  # caches of other versions of the sources
                    shutil.rmtree(old, ignore_errors=True)
            return _Cache(parent / name)
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
