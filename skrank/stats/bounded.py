"""How sure is a mean of values that lie between known bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._resampling import uniform_orders
from skrank.stats.intervals import Interval, intervals_by_column


def bounded_interval(
    values: ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: check.RandomState = 0,
) -> Interval:
    r"""Confidence intervals of means of bounded values, for any number of queries.

    They hold at least what they say whatever the distribution, also where it is mostly 0 and
    the queries that were drawn happen to show nothing else. The upper end is the quantile of

    .. math:: z_{n+1} - \sum_{i=1}^n U_{(i)} (z_{(i+1)} - z_{(i)})

    where z are the values in ascending order, :math:`z_{n+1}` is the upper bound and U are n
    ordered uniform random numbers; the lower end is that of the values turned round. Of values that
    are 0 or 1, this is the interval of Clopper and Pearson.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_columns)
        NaN = no value: the query is left out of its column.
    bounds : (float, float)
        Least and highest value possible, as of the metric: not those that were found.
    confidence : float
    n_resamples : int
        Random draws of U.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If a column has fewer than 2 queries with a value, or a value lies outside the bounds.

    See Also
    --------
    bootstrap_interval : shorter, for twenty or more queries.

    References
    ----------
    E. Learned-Miller, P. S. Thomas, A New Confidence Interval for the Mean of a Bounded Random
    Variable, 2019. M. Phan, P. S. Thomas, E. Learned-Miller, Towards Practical Mean Bounds for
    Small Samples, ICML 2021.

    Examples
    --------
    >>> from skrank import stats
    >>> interval = stats.bounded_interval([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    >>> interval.low, round(interval.high, 1)
    (0.0, 0.3)
    """
    confidence = check.check_share("confidence", confidence)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ValueError(f"bounds={bounds!r} must be a pair: the least and the highest value.")
    least, most = (check.check_number("bounds", bound, -1e300, 1e300) for bound in bounds)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    numbers = check.as_numbers("values", values, "one per query")
    outside = np.argwhere((numbers < least) | (numbers > most))
    if least >= most or len(outside):
        where = f"; the value of row {outside[0][0]} is not between them" if len(outside) else ""
        raise ValueError(
            f"bounds={bounds!r} must be the least and the highest value possible{where}."
        )
    level = (1 + confidence) / 2

    def interval(z: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
        mean = z.mean(axis=1)
        high = _upper(z, most, level, n_resamples, seed)
        low = least + most - _upper(least + most - z, most, level, n_resamples, seed)
        return mean, np.clip(low, least, mean), np.clip(high, mean, most)

    return intervals_by_column(values, None, confidence, interval)


def _upper(z: np.ndarray, most: float, level: float, n_resamples: int, seed: int) -> np.ndarray:
    """Upper ends of rows of values."""
    steps = np.diff(np.sort(z, axis=1), axis=1, append=most)
    above = np.empty((len(z), n_resamples))
    for drawn, uniform in uniform_orders(z.shape[1], n_resamples, seed):
        above[:, drawn] = steps @ uniform.T
    return most - np.quantile(above, 1 - level, axis=1)
