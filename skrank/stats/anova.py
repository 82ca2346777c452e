"""Two-way analysis of variance: what of the scores is due to systems, and what to queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.stats._moments import ROUNDING, effective_size, moments, ratio, variance_shares


class AnovaRow(NamedTuple):
    """One line of an analysis of variance.

    Attributes
    ----------
    sum_of_squares, freedom, mean_square : float
    f, p_value : float
        NaN for the residual.
    """

    sum_of_squares: float
    freedom: float
    mean_square: float
    f: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Anova:
    """What `two_way_anova` found.

    Attributes
    ----------
    systems, queries, residual : AnovaRow
        Sum of squares, degrees of freedom, mean square, F and p-value.
    epsilon : float
        Greenhouse and Geisser's: 1 if the differences of all pairs of systems vary alike, down to
        1 / (n_systems - 1).
    p_corrected : float
        P-value of the systems with both degrees of freedom multiplied by `epsilon`.
    effect_size : float
        Partial eta squared: systems as a share of systems and residual.
    n_queries, n_dropped : int
        Queries on which all systems have a value, and the others.
    """

    systems: AnovaRow
    queries: AnovaRow
    residual: AnovaRow
    epsilon: float
    p_corrected: float
    effect_size: float
    n_queries: int
    n_dropped: int

    @property
    def variances(self) -> dict[str, float]:
        """Estimates of the variance of "systems", "queries" and "residual", at least 0.

        As in a model in which systems and queries are drawn at random: they add up to the variance
        of a single score, and plan how many queries are needed.
        """
        error = self.residual.mean_square
        n_systems, n_queries = self.systems.freedom + 1, self.queries.freedom + 1
        return {
            "systems": max(0.0, (self.systems.mean_square - error) / n_queries),
            "queries": max(0.0, (self.queries.mean_square - error) / n_systems),
            "residual": error,
        }


def two_way_anova(
    scores: ArrayLike, *, nan: str = "drop", weights: ArrayLike | None = None
) -> Anova:
    """Analysis of variance of systems and queries, without replication.

    Its F asks whether any systems differ at all: with two systems it is the square of the t of
    `paired_t`.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    nan : {"drop", "raise"}
        "drop": queries on which any system has no value are left out.
    weights : array-like of shape (n_queries,), optional
        How much each query counts in the means, as in `paired_t`. Default: all the same.

    Returns
    -------
    Anova
        With scores that systems and queries explain entirely, F is infinite where they vary (p 0)
        and 0 where they do not (p 1).

    Raises
    ------
    ValueError
        If fewer than 2 queries or systems are left.

    References
    ----------
    J. Tague-Sutcliffe, J. Blustein, A Statistical Analysis of the TREC-3 Data, TREC 1995.
    S. W. Greenhouse, S. Geisser, On Methods in the Analysis of Profile Data, Psychometrika 24(2),
    1959.

    Examples
    --------
    >>> from skrank import stats
    >>> scores = [[0.5, 0.4, 0.1], [0.7, 0.4, 0.2], [0.6, 0.5, 0.1], [0.9, 0.6, 0.4]]
    >>> anova = stats.two_way_anova(scores)
    >>> round(anova.systems.f, 2), round(anova.systems.p_value, 5)
    (54.6, 0.00014)
    """
    kept, weight, n_dropped = check.check_complete("the analysis", scores, nan, weights)
    n_queries, n_systems = kept.shape
    w = np.ones(n_queries) if weight is None else weight
    size, freedom = effective_size(n_queries, w), n_queries - 1
    negligible = ROUNDING * np.abs(kept).max()
    by_query = _flat(kept.mean(axis=1), negligible)
    deviation = kept - by_query[:, None]
    by_system = _flat(w @ deviation / w.sum(), negligible)
    rest = deviation - by_system
    rest[np.abs(rest) <= negligible] = 0
    alike = np.cov(rest, rowvar=False)
    covariance = (rest.T * variance_shares(w) @ rest + alike) / 2
    mean_squares = np.array(
        [
            size * (by_system**2).sum() / (n_systems - 1),
            n_systems * moments(by_query[None], w)[1][0] ** 2,
            np.trace(covariance) / (n_systems - 1),
        ]
    )
    freedoms = np.array([n_systems - 1.0, freedom, freedom * (n_systems - 1)])
    squares = mean_squares * freedoms
    f = ratio(mean_squares, np.broadcast_to(mean_squares[2], 3))
    p = scipy.stats.f.sf(f, freedoms, freedoms[2])
    f[2] = p[2] = np.nan
    lines = np.stack([squares, freedoms, mean_squares, f, p], axis=1).tolist()
    systems, queries, residual = (AnovaRow(*line) for line in lines)
    epsilon = _epsilon(alike)
    return Anova(
        systems=systems,
        queries=queries,
        residual=residual,
        epsilon=epsilon,
        p_corrected=float(scipy.stats.f.sf(f[0], epsilon * freedoms[0], epsilon * freedoms[2])),
        effect_size=float(squares[0] / (squares[0] + squares[2])) if squares[[0, 2]].any() else 0.0,
        n_queries=n_queries,
        n_dropped=n_dropped,
    )


def _flat(means: np.ndarray, negligible: float) -> np.ndarray:
    """Means that are all the same where they differ by rounding only, and 0 where they are that."""
    if np.ptp(means) <= negligible:
        means = np.full_like(means, means.mean())
    return np.where(np.abs(means) <= negligible, 0.0, means)


def _epsilon(covariance: np.ndarray) -> float:
    """Greenhouse and Geisser's epsilon, of a covariance whose rows and columns sum to 0."""
    squares = (covariance**2).sum()
    n_systems = len(covariance)
    return float(np.trace(covariance) ** 2 / ((n_systems - 1) * squares)) if squares else 1.0
