"""Intervals of means of bounded values."""

import numpy as np
import pytest
import scipy.stats

from skrank import stats


@pytest.mark.parametrize("n_ones", [0, 1, 4, 10])
def test_for_values_0_and_1_it_is_the_interval_of_clopper_and_pearson(n_ones):
    values = np.repeat([1.0, 0.0], [n_ones, 10 - n_ones])
    found = stats.bounded_interval(values, n_resamples=200_000)
    exact = scipy.stats.binomtest(n_ones, 10).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=4e-3)
    assert found.mean == n_ones / 10


def test_it_holds_where_most_values_are_zero(random):
    """For comparison, t intervals cover .79 here, and bootstrap-t intervals .83."""
    values = np.where(random.random((10, 1000)) < 0.8, 0.0, random.random((10, 1000)))
    found = stats.bounded_interval(values, n_resamples=1000)
    assert np.mean((found.low <= 0.1) & (found.high >= 0.1)) > 0.97
    longer = stats.bootstrap_interval(values[:, :200], method="bootstrap-t", n_resamples=500)
    assert np.mean(found.high - found.low) < 0.9 * np.mean(longer.high - longer.low)


def test_it_is_equivariant_and_widens_with_its_bounds(random):
    values = random.random(15)
    found = stats.bounded_interval(values)
    reflected = stats.bounded_interval(1 - values)
    assert (reflected.low, reflected.high) == pytest.approx((1 - found.high, 1 - found.low))
    scaled = stats.bounded_interval(6 * values - 2, bounds=(-2, 4))
    assert (scaled.low, scaled.high) == pytest.approx((6 * found.low - 2, 6 * found.high - 2))
    wider = stats.bounded_interval(values, bounds=(-1, 2))
    assert wider.low < found.low < found.mean < found.high < wider.high
    assert 0 <= found.low < found.high <= 1


def test_missing_values_are_left_out_by_column(random):
    values = random.random((12, 3))
    values[:4, 1] = np.nan
    found = stats.bounded_interval(values)
    alone = stats.bounded_interval(values[4:, 1])
    assert (found.low[1], found.high[1]) == (alone.low, alone.high)
    assert found.n_dropped.tolist() == [0, 4, 0]


def test_two_queries_suffice_and_a_single_query_is_refused():
    found = stats.bounded_interval([0.5, 0.5])
    assert 0 < found.low < 0.2
    assert 0.8 < found.high < 1
    with pytest.raises(ValueError, match="at least 2"):
        stats.bounded_interval([0.5])


@pytest.mark.parametrize(
    ("values", "bounds", "message"),
    [
        ([0.1, 1.2], (0, 1), "the value of row 1 lies outside"),
        ([-0.1, 0.2], (0, 1), "the value of row 0 lies outside"),
        ([0.1, 0.2], (1, 0), "must be the least and the largest"),
        ([0.1, 0.2], (0, np.inf), "bounds"),
    ],
)
def test_values_beyond_their_bounds_are_refused(values, bounds, message):
    with pytest.raises(ValueError, match=message):
        stats.bounded_interval(values, bounds=bounds)
