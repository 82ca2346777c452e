"""Loops in two forms: plain Python, and compiled once that pays.

numba costs half a second at the start of a process, and what it compiles several seconds at the
first use of an installation; a few thousand rows take plain Python some hundredths. So a kernel
that gives the same bits in both forms is run as it stands until it has seen many rows.
``SKRANK_COMPILE=1`` in the environment has everything compiled at once. This file imports nothing
compiled.
"""

import os
from functools import cached_property, update_wrapper

import numpy as np

# Rows worth compiling a kernel, of one call and of all calls that a process has made so far. Plain
# Python takes some microseconds for each; further metrics of the same rows take less.
_ROWS_OF_A_CALL, _ROWS_IN_ALL = 10_000, 30_000


class Part:
    """A loop that kernels call: plain among plain ones, compiled among compiled ones.

    Parameters
    ----------
    function : function
    options : dict
        Of `numba.njit`.
    plain : function, optional
        What plain kernels call instead.
    """

    def __init__(self, function, options, plain=None):
        update_wrapper(self, function)
        self.py_func, self.targetoptions = function, options  # where numba looks for what to inline
        self.plain = plain or function

    def __call__(self, *arguments):
        return self.plain(*arguments)

    @cached_property
    def compiled(self):
        """The compiled form, of which kernels take a copy."""
        from skrank._kernels.cache import linked

        return linked(self.py_func, **self.targetoptions)

    def __reduce__(self):
        return self.__qualname__

    @property
    def _numba_type_(self):  # by which numba knows what the name of a global stands for
        return self.compiled._numba_type_


class Kernel(Part):
    """A loop that Python calls.

    Parameters
    ----------
    function : function
    options : dict
        Of `numba.njit`.
    exact : bool
        Whether both forms give the same bits: nothing is added up in another order, no number of
        less than 64 bits wraps around, and no function is called whose last digit differs.
    """

    def __init__(self, function, options, exact):
        super().__init__(function, options)
        self.plain = np.errstate(all="ignore")(function) if exact else None
        self._rows = 0

    @cached_property
    def compiled(self):
        """The compiled form, which is kept."""
        from skrank._kernels.cache import compiled

        return compiled(self.py_func, **self.targetoptions)

    def __call__(self, *arguments):
        return self.compiled(*arguments)

    def form(self, n_rows):
        """What to call on so many rows: the plain form as long as there have been few."""
        known = "compiled" in vars(self) or self.plain is None
        if known or os.environ.get("SKRANK_COMPILE", "0") not in ("", "0"):
            return self.compiled
        self._rows += n_rows
        few = n_rows <= _ROWS_OF_A_CALL and self._rows <= _ROWS_IN_ALL
        return self.plain if few else self.compiled


def njit(*, exact=False, allocates=False, **options):
    """`numba.njit` with a cache, for what Python calls: see `Kernel`.

    Unless it says that it allocates arrays, it counts no references to those that it is given: it
    compiles and runs faster, and must not return them.
    """
    return lambda function: Kernel(function, {"_nrt": allocates} | options, exact)


def part(*, allocates=False, optimised=False, plain=None, **options):
    """The same for what kernels alone call, which is not kept: see `linking`.

    What is `optimised` by itself is not inlined as easily, and takes longer to compile.
    """
    options = {"_nrt": allocates, "optimised": optimised} | options
    return lambda function: Part(function, options, plain)
