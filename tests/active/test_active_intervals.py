"""Intervals of weighted means: the bootstrap of Student's t."""

import numpy as np
import pytest
from scipy import stats

from skrank.active import estimate, simulate
from tests.helpers.campaigns import contest


def draws(random, n):
    """Skewed values and weights of n draws."""
    return random.exponential(size=n) - 0.7, random.random(n) + 0.1


def of_resample(losses, w):
    """Weighted mean of draws and its standard error, by their definitions."""
    mean = np.average(losses, weights=w)
    k = len(losses)
    return mean, np.sqrt(k / (k - 1) * np.sum(w**2 * (losses - mean) ** 2)) / w.sum()


@pytest.mark.parametrize("n", [5, 12, 40])
@pytest.mark.parametrize("side", [0, 1])
def test_ends_are_quantiles_under_their_own_candidate(n, side, random):
    losses, w = draws(random, n)
    mean, error = of_resample(losses, w)
    end = estimate(losses, w).interval[side]
    moved = losses + (end - mean) * w.sum() / n / w
    assert np.average(moved, weights=w) == pytest.approx(end)
    least = min(0.5, n**0.5 / 16) * of_resample(moved, w)[1]
    ratios = []
    for times in np.random.RandomState(n).multinomial(n, np.full(n, 1 / n), size=999):
        again, its_error = of_resample(np.repeat(moved, times), np.repeat(w, times))
        ratios.append((again - end) / max(its_error, least))
    level = 0.025 if side else 0.975
    pull = w * (losses - mean)
    kurtosis = stats.kurtosis(np.r_[pull, -pull]) + 6 / (n + 1)  # minus that of normal values
    skewness = np.mean(pull**3) / np.mean(pull**2) ** 1.5
    if (skewness > 0) == (side == 1):  # the end on the side of the long tail
        kurtosis -= 1.5 * (skewness**2 - 6 * (n - 2) / ((n + 1) * (n + 3)))
    room = 1 + (2 * stats.norm.ppf(level) ** 2 + 1) / 6 * max(kurtosis, 0) / n
    found = room * np.quantile(ratios, level, method="weibull")
    assert (mean - end) / error == pytest.approx(found, rel=1e-3)


def test_few_draws_have_intervals_of_students_t():
    losses = np.array([0.1, 0.4, 0.5])
    expected = stats.t.interval(0.95, 2, losses.mean(), stats.sem(losses))
    assert estimate(losses).interval == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_draws_in_proportion_to_their_values(scale, random):
    """For one candidate, the mean of weight times value, all pulls are equal."""
    w = random.random(30) + 0.1
    low, high = estimate(scale / w, w).interval
    value = scale / w.mean()
    assert 0 < low < value < high < 3 * value


@pytest.mark.parametrize("n", [3, 6, 30, 150])
@pytest.mark.parametrize("shift", [-2.5, 0.0, 2.5])
def test_the_confidence_of_a_decision_is_where_the_interval_reaches_zero(n, shift, random):
    """1 - confidence is 1.4 times the two-sided p-value."""
    losses = random.exponential(size=n)
    losses += shift * losses.std() / n**0.5 - losses.mean()
    campaign = contest(losses)
    reserved = 1 - campaign.decision(estimator="importance").confidence
    if shift == 0:
        assert reserved == 1
        return

    def interval(p_value):
        return campaign.estimate(1 - p_value, estimator="importance").interval

    p_value = reserved / 1.4
    assert min(map(abs, interval(p_value))) < 1e-6
    low, high = interval(p_value * 1.05)
    assert (low > 0) == (shift > 0)
    assert (high < 0) == (shift < 0)
    low, high = interval(0.7 * p_value)
    assert low < 0 < high


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_intervals_widen_with_confidence_and_turn_with_the_sign(confidence, random):
    losses, w = draws(random, 30)
    low, high = estimate(losses, w, confidence=confidence).interval
    wider = estimate(losses, w, confidence=(1 + confidence) / 2).interval
    assert wider[0] < low < high < wider[1]
    assert estimate(-losses, w, confidence=confidence).interval == pytest.approx((-high, -low))
    moved = estimate(3 * losses + 1, 7 * w, confidence=confidence).interval
    assert moved == pytest.approx((3 * low + 1, 3 * high + 1))


@pytest.mark.parametrize(("estimator", "most"), [("importance", 0.97), ("assisted", 0.98)])
def test_campaigns_without_a_caution_cover(estimator, most):
    random = np.random.default_rng(8)
    n = 600
    deviation = np.where(random.random(n) < 1 / 3, 0.0, np.exp(random.standard_normal(n)))
    values = deviation * (0.2 + random.standard_normal(n))
    values[random.random(n) < 0.2] = np.nan
    costs = np.exp(random.standard_normal(n))
    wanted = deviation / np.sqrt(costs)
    q = 0.95 * wanted / wanted.sum() + 0.05 / n
    budgets = np.array([30, 60]) * costs.mean()
    runs = simulate(values, q, budgets, costs=costs, estimator=estimator)
    low, high = np.moveaxis(runs.intervals(), 2, 0)
    told = ~runs.cautious()
    assert (told.mean(axis=0) > (0.5, 0.99)).all()
    covers = np.sum((low <= runs.truth) & (runs.truth <= high) & told, axis=0) / told.sum(axis=0)
    assert ((covers > 0.93) & (covers < most)).all()
