"""Compile, and keep machine code for the next process where it can be kept.

numba keeps it beside the source files, in the user's cache, or in the folder that NUMBA_CACHE_DIR
names. It raises where none of them can be written, as in containers, and where what it finds there
is damaged. Here neither stops anything: what is not found whole is compiled.
"""

import hashlib
import os
import pickle
import warnings
from functools import lru_cache

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from skrank._kernels import compiling as compiling  # it follows what is compiled

_LAST_KNOWN_INSIDE = (0, 68)  # version of numba


@lru_cache(maxsize=1)
def _state_of_kernels():
    """Names, times and sizes of all source files of this room."""
    try:
        with os.scandir(os.path.dirname(__file__)) as found:
            files = [(one.name, one.stat()) for one in found if one.name.endswith(".py")]
    except OSError:  # in an archive, which is one file
        return ()
    return tuple(sorted((name, stat.st_mtime, stat.st_size) for name, stat in files))


class _Sealed(CompileResultCacheImpl):
    """Machine code with its checksum: a damaged file must not run.

    numba takes it for new as long as the file of the function itself is. But a kernel takes in its
    parts from other files, and room that Python makes as they ask for.
    """

    def __init__(self, function):
        super().__init__(function)
        stamp = self.locator.get_source_stamp()
        self.locator.get_source_stamp = lambda: (stamp, _state_of_kernels())

    def reduce(self, compiled):
        data = dumps(super().reduce(compiled))
        return hashlib.sha256(data).digest(), data

    def rebuild(self, target_context, sealed):
        seal, data = sealed
        if seal != hashlib.sha256(data).digest():
            raise ValueError("not what was written")
        return super().rebuild(target_context, pickle.loads(data))


class _Cache(FunctionCache):
    """What numba keeps of one function; reading and writing never fail.

    Before numba reads machine code, it imports all that its compiler may need, SciPy included:
    several times what reading takes. Here it waits until there is something to compile.
    """

    _impl_class = _Sealed

    def load_overload(self, sig, target_context):
        try:
            rtsys.initialize(target_context)  # allocates the arrays that are made in loops
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # of unpickling what is damaged, which may be anything
            self._forget()
            return None

    def _forget(self):
        """Start an index anew: a damaged one could not be added to."""
        try:
            self.flush()
        except OSError as error:
            _warn(error)
            self.disable()

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn(error)
            self.disable()


_warned = False


def _warn(reason):
    """Say once what it costs that machine code cannot be kept."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled code cannot be kept ({reason}): every process compiles anew, for some "
            "seconds. Let the environment variable NUMBA_CACHE_DIR name a folder that can be "
            "written.",
            RuntimeWarning,
            stacklevel=2,
        )


def _cache_of(function):
    try:
        return _Cache(function)
    except (RuntimeError, OSError) as error:  # numba finds no folder
        _warn(error)
        return NullCache()


def compiled(function, **options):
    """`numba.njit` of a function, with a cache."""
    if numba.config.DISABLE_JIT:  # compiled arithmetic wraps around, and is silent about it
        return np.errstate(all="ignore")(function)
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._cache = _cache_of(function)
    return dispatcher


def linked(function, *, optimised, **options):
    """`numba.njit` of a function that only compiled functions call, and that is not kept.

    What a later version of numba may do otherwise inside is left to it, which takes longer.
    """
    if numba.version_info.short <= _LAST_KNOWN_INSIDE:
        from skrank._kernels.linking import compiler_of

        options = {"pipeline_class": compiler_of(optimised=optimised)} | options
    return numba.njit(no_cfunc_wrapper=True, no_cpython_wrapper=True, **options)(function)
