"""Functions of `math` for arrays.

NumPy computes log2, exp and powers by vector instructions, whose last bits differ between
processors. Tables of metrics are short, so that calls of `math` take little time.
"""

from collections.abc import Callable

import numpy as np


def elementwise(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """A function of `math`, such as `math.log2`, of each value.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from skrank._engine.elementwise import elementwise
    >>> elementwise(math.log2, np.array([1.0, 8.0]))
    array([0., 3.])
    """
    results = np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size)
    return results.reshape(values.shape)


def powers(base: float, exponents: np.ndarray) -> np.ndarray:
    """``base ** exponent`` for a base from 0 to 1. Above 1, an overflow would raise an error."""
    return elementwise(base.__pow__, exponents)
