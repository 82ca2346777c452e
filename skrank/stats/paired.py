"""Tests of the difference between two systems on the same queries, for all pairs at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._printed import Printed
from skrank._typing import Weights
from skrank.stats import _pairs, _resampling

if TYPE_CHECKING:
    import pandas as pd

_MOST_EXACT = 13  # most queries of which `wilcoxon` visits all sign flips, as scipy for ties


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PairedTest(Printed):
    """A two-sided test of pairs of systems.

    Attributes
    ----------
    name : str
    systems : list
        Names of the columns of a frame; of an array, their numbers.
    pairs : int64 ndarray of shape (n_pairs, 2)
        Columns of the two systems: first < second where all pairs are compared.
    difference : ndarray of shape (n_pairs,)
        Mean score of the first system minus that of the second.
    statistic, p_value : ndarray of shape (n_pairs,)
        P-values of `max_t` and `tukey_hsd` are corrected for the number of pairs.
    n_queries, n_dropped : int64 ndarray of shape (n_pairs,)
        Numbers of queries that the pair is compared on, and of other queries.
    low, high : ndarray of shape (n_pairs,), optional
        Confidence intervals of the differences, by `paired_t` and `max_t`.
    confidence : float, optional
        Level of the intervals and of `critical_value`.
    critical_value : float, optional
        By `max_t` and `tukey_hsd`: the p-value of a pair is below 1 - confidence if its absolute
        statistic exceeds this value, which is infinite if queries are too few for such a p-value.
    caption : str
    """

    name: str
    systems: Sequence[Hashable]
    pairs: np.ndarray
    difference: np.ndarray
    statistic: np.ndarray
    p_value: np.ndarray
    n_queries: np.ndarray
    n_dropped: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    confidence: float | None = None
    critical_value: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """One row per pair.

        Returns
        -------
        DataFrame with columns "system", "other", "difference", "statistic", "low", "high",
        "p_corrected" or "p_uncorrected", and "queries"
            "low" and "high" are missing for tests without intervals.
        """
        import pandas as pd

        first, second = ([self.systems[i] for i in column] for column in self.pairs.T)
        columns = {
            "system": first, "other": second, "difference": self.difference,
            "statistic": self.statistic, "low": self.low, "high": self.high,
            f"p_{'' if self._corrected else 'un'}corrected": self.p_value,
            "queries": self.n_queries,
        }  # fmt: skip
        return pd.DataFrame({name: array for name, array in columns.items() if array is not None})

    @property
    def _corrected(self) -> bool:
        return self.name in ("max-t test", "Tukey HSD test")

    @property
    def caption(self) -> str:
        """How many pairs were tested, by which test, and whether p-values are corrected."""
        low, high = int(self.n_queries.min()), int(self.n_queries.max())
        queries = check.counted(high, "query", "queries")
        queries = queries if low == high else f"{low} to {queries}"
        text = f"{self.name} of {check.counted(len(self.pairs), 'pair')} of systems on {queries}"
        if len(self.pairs) == 1:
            return text
        return f"{text}, p-values {'' if self._corrected else 'not '}corrected"

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"": self.to_frame()}


def run_test(
    name: str,
    pairs: _pairs.SystemPairs,
    function: _pairs.PairFunction,
    width: int = 256,
    fields: Sequence[str] = ("difference", "statistic", "p_value"),
    progress: bool | None = False,
    confidence: float | None = None,
) -> PairedTest:
    """Test all pairs; `function` returns the `fields` of the result for up to `width` pairs."""
    values = pairs.apply(function, len(fields), width, progress)
    by_field = dict(zip(fields, values, strict=True))
    return PairedTest(name=name, **pairs.described, **by_field, confidence=confidence)


@check.of_one_matrix
def paired_t(
    scores: ArrayLike,
    *,
    confidence: float = 0.95,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
) -> PairedTest:
    """Student's paired t-test.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_systems)
        Value of a metric on each query; NaN where it has none.
    confidence : float
        Level of each interval, which excludes 0 if the p-value is below 1 - confidence.
    pairs : int or array-like of shape (n_pairs, 2), optional
        Columns to compare; an int c compares every other column with column c. Default: all pairs.
    nan : {"drop", "raise"}
        "drop": a pair is tested on the queries where both systems have a value.
    weights : array-like of shape (n_queries,), optional
        Weight of each query in the means, at least 0, such as the number of times that users sent
        the query. Default: equal weights.

    Returns
    -------
    PairedTest
        `statistic` is t, and `low` and `high` are Student's intervals. If all differences are
        equal, t is 0 (p 1) for differences of 0, and infinite (p 0) for others.

    Raises
    ------
    ValueError
        If there are fewer than 2 queries or systems, or a score is infinite.

    Notes
    -----
    With weights, t is the weighted mean over its standard error. The variance of the differences is
    the mean of two estimates: the leverage-corrected estimate HC2 (MacKinnon and White 1985), in
    which squared deviations have squared weights, and the unweighted variance. Both are unbiased if
    all differences have the same variance. If the variance increases with the weight, the test
    rejects too often: use `randomisation_test` or `max_t` instead.

    Examples
    --------
    >>> from skrank import stats
    >>> test = stats.paired_t([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]])
    >>> test.difference.round(3), test.p_value.round(3)
    (array([0.2]), array([0.041]))
    """

    def test_block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        mean, error, t, freedom = _pairs.student_t(z, w)
        return (
            mean,
            t,
            _pairs.t_p_value(t, freedom),
            *_pairs.t_bounds(mean, error, freedom, confidence),
        )

    confidence = check.check_share("confidence", confidence)
    system_pairs = _pairs.SystemPairs(scores, pairs, nan, weights=weights)
    fields = ("difference", "statistic", "p_value", "low", "high")
    return run_test("paired t-test", system_pairs, test_block, fields=fields, confidence=confidence)


@check.of_one_matrix
def wilcoxon(
    scores: ArrayLike, *, pairs: int | ArrayLike | None = None, nan: str = "drop"
) -> PairedTest:
    """Wilcoxon's signed-rank test.

    Parameters
    ----------
    scores, pairs, nan
        As in `paired_t`.

    Returns
    -------
    PairedTest
        `statistic` is the smaller of the two sums of ranks. Differences of 0 are dropped; systems
        that never differ have p 1. The p-value is exact for up to 13 queries; for more, it is that
        of `scipy.stats.wilcoxon`.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.wilcoxon([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """
    system_pairs = _pairs.SystemPairs(scores, pairs, nan, grid=True)
    return run_test("Wilcoxon signed-rank test", system_pairs, _signed_rank_test)


@check.of_one_matrix
def sign_test(
    scores: ArrayLike, *, pairs: int | ArrayLike | None = None, nan: str = "drop"
) -> PairedTest:
    """Sign test of the numbers of queries on which each system is better.

    Parameters
    ----------
    scores, pairs, nan
        As in `paired_t`.

    Returns
    -------
    PairedTest
        `statistic` is the number of queries on which the first system is better. The p-value is
        that of the binomial distribution without ties. Systems that never differ have p 1.

    References
    ----------
    W. J. Conover, Practical Nonparametric Statistics, 3rd edition, 1999, section 3.4.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.sign_test([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """

    def test_block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        wins, losses = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
        tail = scipy.stats.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5)
        return _pairs.moments(z)[0], wins, np.minimum(2 * tail, 1)

    return run_test("sign test", _pairs.SystemPairs(scores, pairs, nan), test_block)


@check.of_one_matrix
def randomisation_test(
    scores: ArrayLike,
    *,
    n_resamples: int = 10_000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
    progress: bool | None = None,
) -> PairedTest:
    """Fisher's randomisation test: the scores of the two systems are swapped on random queries.

    Parameters
    ----------
    scores, pairs, nan, weights
        As in `paired_t`.
    n_resamples : int
        Number of random assignments, the same for all pairs. If at most this many are possible
        (2**n_queries), all are visited once and the p-value is exact.
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        Show a bar on standard error. Default: after two seconds, if standard error is a terminal.

    Returns
    -------
    PairedTest
        `statistic` is the mean difference. The p-value of random assignments is
        ``(1 + b) / (1 + n_resamples)``, where b assignments have a mean difference at least as far
        from 0. The data count as one assignment, so no p-value is 0 (Phipson and Smyth 2010).

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette, A Comparison of Statistical Significance Tests for
    Information Retrieval Evaluation, CIKM 2007.
    B. Phipson, G. K. Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in
    Genetics and Molecular Biology 9(1), 2010.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.randomisation_test([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value
    array([0.125])
    """
    n_resamples, seed = check.check_draws(n_resamples, random_state)

    def test_block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        mean = _pairs.moments(z, w)[0]
        return mean, mean, _flip_p_value(z if w is None else z * w, n_resamples, seed)

    system_pairs = _pairs.SystemPairs(scores, pairs, nan, weights=weights)
    return run_test("randomisation test", system_pairs, test_block, progress=progress)


def _flip_p_value(z: np.ndarray, n_resamples: int, seed: int = 0) -> np.ndarray:
    """P-value of each row: the share of sign flips that give a sum at least as far from 0.

    If at most `n_resamples` flips are possible, all are visited.
    """
    n_queries = z.shape[1]
    every = n_queries <= math.log2(n_resamples)
    total = z.sum(axis=1, keepdims=True)
    bound = np.abs(total) - _pairs.ROUNDING * np.abs(z).sum(axis=1, keepdims=True)
    # if the flipped values sum to f, the sum becomes total - 2 f
    low, high = (total - bound) / 2, (total + bound) / 2
    reached, n_flips = np.zeros(len(z), np.int64), 0
    with _resampling.one_thread():
        for flips in _resampling.sign_flips(n_queries, n_resamples, seed, every=every):
            flipped = z @ flips.T
            reached += np.count_nonzero((flipped <= low) | (flipped >= high), axis=1)
            n_flips += len(flips)
    return _resampling.share_reached(reached, n_flips, every=every)


@check.of_one_matrix
def paired_bootstrap(
    scores: ArrayLike,
    *,
    n_resamples: int = 10_000,
    pairs: int | ArrayLike | None = None,
    nan: str = "drop",
    weights: ArrayLike | None = None,
    random_state: check.RandomState = 0,
    progress: bool | None = None,
) -> PairedTest:
    """Sakai's paired bootstrap test: achieved significance levels (ASL).

    Queries are drawn with replacement, the same draws for all pairs. The ASL is the share of draws
    in which Student's t of the differences, shifted to mean 0, is at least as far from 0 as the
    observed t.

    Parameters
    ----------
    scores, pairs, nan, weights
        As in `paired_t`.
    n_resamples : int
        Number of random draws. If at most this many draws are possible (n**n = 256 for 4 queries),
        all are visited.
    random_state : int, Generator, RandomState or None
    progress : bool, optional
        Show a bar on standard error. Default: after two seconds, if standard error is a terminal.

    Returns
    -------
    PairedTest
        `statistic` is Student's t; with weights, HC2 alone estimates the variance, of the data and
        of each draw. `p_value` is the ASL, which may be 0. A draw of equal differences has t 0 if
        they are 0, and infinite t otherwise.

    References
    ----------
    T. Sakai, Evaluating Evaluation Metrics based on the Bootstrap, SIGIR 2006.

    Examples
    --------
    >>> from skrank import stats
    >>> stats.paired_bootstrap([[0.5, 0.4], [0.7, 0.4], [0.6, 0.5], [0.9, 0.6]]).p_value.round(2)
    array([0.12])
    """
    n_resamples, seed = check.check_draws(n_resamples, random_state)

    def test_block(z: np.ndarray, w: Weights) -> tuple[np.ndarray, ...]:
        t, squares, _ = _resampling.centred_draws(z, w, n_resamples, seed)
        return _pairs.moments(z, w)[0], t, achieved_level(t, squares)

    system_pairs = _pairs.SystemPairs(scores, pairs, nan, weights=weights)
    width = block_width(n_resamples)
    return run_test("paired bootstrap test", system_pairs, test_block, width, progress=progress)


def achieved_level(t: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Share of draws whose squared t, in `squares`, is at least ``t**2``."""
    return (squares >= _pairs.EQUAL * t[:, None] ** 2).mean(axis=1)


def block_width(n_resamples: int) -> int:
    """Number of pairs whose resamples are in memory at a time."""
    return max(1, 2**18 // n_resamples)


def _signed_rank_test(z: np.ndarray, _: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, smaller sum of ranks, and p-value of each row of differences `z`."""
    # zeros have the lowest ranks: dropping them lowers all other ranks by the number of zeros
    ranks = scipy.stats.rankdata(np.abs(z), axis=1) - (z == 0).sum(axis=1, keepdims=True)
    signed = np.sign(z) * ranks
    statistic = np.minimum(*(np.maximum(sign * signed, 0).sum(axis=1) for sign in (1, -1)))
    if z.shape[1] <= _MOST_EXACT:  # older versions of scipy approximate if there are ties
        return _pairs.moments(z)[0], statistic, _flip_p_value(signed, 2**_MOST_EXACT)
    # scipy chooses one method, exact or approximate, for all rows of a call: rows with ties are
    # tested in a separate call
    sizes, p_value = np.sort(np.abs(z), axis=1), np.ones(len(z))
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    for rows in (~tied, tied & (sizes[:, -1] > 0)):
        if rows.any():
            p_value[rows] = scipy.stats.wilcoxon(z[rows], axis=1).pvalue
    return _pairs.moments(z)[0], statistic, p_value
