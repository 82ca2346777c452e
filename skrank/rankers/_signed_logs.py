"""Signed logarithms of features with heavy tails, in units of the feature."""

from __future__ import annotations

import numpy as np

_HEAVY = 5.0  # kurtosis of heavy tails; the normal distribution has 3, the exponential has 9
_LOWER = 0.9  # a log is used if (kurtosis of logs) / (kurtosis of values) is below
_DENSEST = 0.1  # the center is the middle of the shortest interval with this share of the values
_NEAR = 0.06  # the scale is this quantile of the distances from the center that are above 0
_LARGEST = np.finfo(np.float64).max


def signed_log(values: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """sign(x) log(1 + abs(x)) of x = (values - center) / scale."""
    with np.errstate(over="ignore"):
        away = (values - center) / scale
    np.clip(away, -_LARGEST, _LARGEST, out=away)
    return np.copysign(np.log1p(np.abs(away)), away)


def log_of(values: np.ndarray, *, always: bool) -> tuple[float, float]:
    """Center and scale of the signed log of values; the scale is NaN if no log is used.

    Both are proportional to the values, so that the log does not depend on the unit of a column.
    The center is where values are densest, such as 0 for counts that are often 0.
    """
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.sort(np.ldexp(values, -exponent))  # at most 1: no square overflows
    before = _kurtosis(values)
    if values[0] < values[-1] and (always or before > _HEAVY):
        width = max(1, int(_DENSEST * len(values)))
        first = int(np.argmin(values[width:] - values[:-width]))
        center = values[first + width // 2]
        away = np.abs(values - center)
        away = np.sort(away[away > 0])
        scale = away[int(_NEAR * len(away))]
        after = _kurtosis(signed_log(values, center, scale))
        center, scale = (float(np.ldexp(one, exponent)) for one in (center, scale))
        if (always or after < _LOWER * before) and scale >= np.finfo(np.float64).tiny:
            return center, scale
    return 0.0, np.nan


def _kurtosis(values: np.ndarray) -> float:
    """Mean fourth power of standardised values; 0 if they are constant."""
    squares = (values - values.mean()) ** 2
    variance = squares.mean()
    return float((squares**2).mean() / variance**2) if variance > 0 else 0.0
