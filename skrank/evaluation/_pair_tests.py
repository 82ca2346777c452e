"""Tests of pairs of systems for `compare`: p-values, and the intervals that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank._typing import Options
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

_TEXTS = {
    "resampled-t": "t-test by resampling",
    "t": "paired t-test",
    "randomisation": "randomisation test",
    "anytime": "test by betting, for any number of looks",
}
TEST_CHOICES = tuple(_TEXTS)
Bounds = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class PairTest:
    """A test of pairs of columns of values.

    Attributes
    ----------
    text : str
        Name of the test in the first line of a report.
    unit : str
        What the rows of the values are: "queries" or "folds".
    run : callable
        Takes pairs of columns, and 1 minus the level of each interval. Returns p-values and bounds.
    """

    text: str
    unit: str
    run: Callable[[np.ndarray, float], tuple[np.ndarray, Bounds]]


def seed_test(by_seed: Sequence[np.ndarray], weights: np.ndarray | None) -> PairTest:
    """t-test of means over seeds, in which queries and seeds vary.

    The variance of a mean difference is that over queries, plus that over the seeds of both
    systems. Systems with one column of scores are regarded as fixed.

    Parameters
    ----------
    by_seed : sequence of ndarray of shape (n_queries, n_seeds)
        Values of each column; NaN where the metric is not defined.
    weights : ndarray of shape (n_queries,) or None
    """

    def run(pairs: np.ndarray, alpha: float) -> tuple[np.ndarray, Bounds]:
        found = [_over_seeds(by_seed[a], by_seed[b], weights) for a, b in pairs]
        mean, error, freedom = np.array(found).T
        return _by_t(mean, error, freedom, alpha)

    return PairTest("t-test over queries and seeds", "queries", run)


def _over_seeds(
    first: np.ndarray, second: np.ndarray, weights: np.ndarray | None
) -> tuple[float, float, float]:
    """Mean difference, its standard error, and Satterthwaite's degrees of freedom."""
    from skrank.stats._moments import student_t

    kept = ~np.isnan(np.hstack([first, second])).any(axis=1)
    if weights is not None:
        kept &= weights > 0
        weights = weights[kept]
    first, second = first[kept], second[kept]
    z = first.mean(axis=1) - second.mean(axis=1)
    mean, error, _, freedom = student_t(z[None], weights)
    variance, squares = error[0] ** 2, error[0] ** 4 / freedom
    for values in (first, second):
        between, total = _variance_of_seeds(values, weights)
        variance += between
        squares += total**2 / max(1, values.shape[1] - 1)
    # at least 1, as for two queries; squares is 0 only where nothing varies
    freedom = max(1.0, variance**2 / squares) if squares else freedom
    return mean[0], np.sqrt(variance), freedom


def _variance_of_seeds(values: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Variance of the mean over seeds, without and with the part that is due to the queries.

    A seed may suit some queries more than others. The variance over queries contains that
    interaction, so it is subtracted here (Dorfman, Berbaum and Metz 1992, with seeds as readers).
    """
    n_queries, n_seeds = values.shape
    if n_seeds == 1:
        return 0.0, 0.0
    share = np.full(n_queries, 1 / n_queries) if weights is None else weights / weights.sum()
    total = (share @ values).var(ddof=1) / n_seeds
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    interaction = (rest**2).sum() / ((n_queries - 1) * (n_seeds - 1)) * (share**2).sum() / n_seeds
    return max(0.0, total - interaction), total


def fold_test(values: pd.DataFrame, test_share: float) -> PairTest:
    """Corrected resampled t-test of values of folds (Nadeau and Bengio 2003).

    Models of different folds share training queries, so the variance of the mean over k folds is
    (1 / k + n_test / n_train) times that of the values.
    """

    def run(pairs: np.ndarray, alpha: float) -> tuple[np.ndarray, Bounds]:
        matrix = values.to_numpy()
        z = matrix[:, pairs[:, 0]] - matrix[:, pairs[:, 1]]
        n_folds = (~np.isnan(z)).sum(axis=0)
        variance = np.nanvar(z, axis=0, ddof=1) * (1 / n_folds + test_share / (1 - test_share))
        return _by_t(np.nanmean(z, axis=0), np.sqrt(variance), n_folds - 1, alpha)

    return PairTest("corrected resampled t-test", "folds", run)


def _by_t(
    mean: np.ndarray, error: np.ndarray, freedom: np.ndarray, alpha: float
) -> tuple[np.ndarray, Bounds]:
    """P-values and bounds by Student's t."""
    import scipy.stats

    from skrank.stats._moments import ratio

    half = scipy.stats.t.isf(alpha / 2, freedom) * error
    p_value = 2 * scipy.stats.t.sf(np.abs(ratio(mean, error)), freedom)
    return p_value, (mean - half, mean + half)


def pair_test(
    name: str,
    values: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    weights: np.ndarray | None,
    *,
    adjust: bool,
    resampled: Options,
) -> PairTest:
    """One of `TEST_CHOICES` for values of queries; `adjust` and `resampled` are for `max_t`."""
    if name == "anytime":
        if weights is not None:
            raise ValueError('test="anytime" takes no sample_weight: choose another test.')
        return _anytime_test(values, metric_of)

    def run(pairs: np.ndarray, alpha: float) -> tuple[np.ndarray, Bounds]:
        from skrank import stats

        how: Options = {"pairs": pairs, "weights": weights}
        if name == "resampled-t":
            largest = stats.max_t(values, adjust=adjust, alpha=alpha, **how, **resampled)
            return largest.p_value, (largest.low, largest.high)
        if name == "t":
            found = stats.paired_t(values, **how)
        else:
            found = stats.randomisation_test(values, **how, **resampled)
        effects = stats.paired_effects(values, confidence=1 - alpha, **how)
        return found.p_value, (effects.low, effects.high)

    return PairTest(_TEXTS[name], "queries", run)


def _anytime_test(values: pd.DataFrame, metric_of: Mapping[str, Metric]) -> PairTest:
    """A test by bets on the sign of the mean difference, valid at any number of looks.

    The p-value is one over the highest wealth so far, and the interval is the confidence sequence
    of `skrank.active` for draws with replacement, in the order of the rows.
    """
    from skrank.active._anytime import certainty_so_far, game_of, sequence

    for name, one in metric_of.items():
        if one.value_range not in ("[0, 1]", "[0, 1)"):
            raise ValueError(
                f'test="anytime" needs values between 0 and 1, and those of {name} have the range '
                f"{one.value_range}: leave the metric out, or choose another test."
            )

    def run(pairs: np.ndarray, alpha: float) -> tuple[np.ndarray, Bounds]:
        matrix, out = values.to_numpy(), np.empty((3, len(pairs)))
        for row, (first, second) in enumerate(pairs):
            z = matrix[:, first] - matrix[:, second]
            z = z[~np.isnan(z)]
            one, even = np.ones(len(z)), np.full(len(z), 1 / len(z))
            game = game_of(z, np.arange(len(z)), even, even, (-one, one), with_replacement=True)
            out[:, row] = 1 - certainty_so_far(game), *sequence(game, 1 - alpha)
        return out[0], (out[1], out[2])

    return PairTest(_TEXTS["anytime"], "queries", run)
