"""P-values adjusted for many tests."""

from __future__ import annotations

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted by Holm's step-down method.

    Calling significant what stays below alpha keeps the chance of any false finding at alpha,
    however the tests depend on each other.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = check.check_p_values(p_values)
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    factors = np.arange(len(flat), 0, -1)
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * factors), 1)
    return adjusted.reshape(p.shape)


def benjamini_hochberg(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted by Benjamini and Hochberg's step-up method.

    Calling significant what stays below alpha keeps the expected share of false findings among the
    findings at alpha, if the tests are independent or positively dependent.

    Parameters
    ----------
    p_values : array-like
        Of all tests made, in any shape.

    Returns
    -------
    ndarray of the same shape

    References
    ----------
    Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal
    Statistical Society B 57(1), 1995.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    p = check.check_p_values(p_values)
    if p.size == 0:
        return p.copy()
    return scipy.stats.false_discovery_control(p.ravel()).reshape(p.shape)
