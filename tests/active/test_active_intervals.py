"""Intervals of weighted means: the bootstrap of Student's t."""

import numpy as np
import pytest
from scipy import stats

from skrank.active import estimate
from skrank.active._intervals import _counts, bootstrap_interval, certainty
from skrank.active._weighing import repeated_mean

RANDOM = np.random.default_rng(1)


def draws(n):
    """Skewed values and weights of n draws."""
    return RANDOM.exponential(size=n) - 0.7, RANDOM.random(n) + 0.1


def of_resample(losses, w):
    """Weighted mean of some draws and its standard error, from their definitions."""
    mean = np.average(losses, weights=w)
    k = len(losses)
    return mean, np.sqrt(k / (k - 1) * np.sum(w**2 * (losses - mean) ** 2)) / w.sum()


@pytest.mark.parametrize("n", [5, 12, 40])
def test_intervals_are_those_of_resampled_draws(n):
    losses, w = draws(n)
    mean, error = of_resample(losses, w)
    ratios = []
    for times in _counts(n).astype(int):
        again, its_error = of_resample(np.repeat(losses, times), np.repeat(w, times))
        ratios.append((again - mean) / max(its_error, min(0.5, n**0.5 / 16) * error))
    low, high = np.quantile(ratios, [0.025, 0.975], method="weibull")
    room = 1 + np.sqrt(np.sum(w**2)) / w.sum() / 4
    found = estimate(losses, w).interval
    assert found == pytest.approx((mean - room * error * high, mean - room * error * low), rel=1e-3)


def test_few_draws_have_intervals_of_students_t():
    found = estimate([0.1, 0.4, 0.5]).interval
    mean, error = 1 / 3, np.std([0.1, 0.4, 0.5], ddof=1) / np.sqrt(3)
    margin = (1 + 1 / (4 * np.sqrt(3))) * stats.t.ppf(0.975, 2) * error
    assert found == pytest.approx((mean - margin, mean + margin))


@pytest.mark.parametrize("n", [3, 6, 30, 150, 700])
@pytest.mark.parametrize("shift", [-0.4, 0.0, 0.3])
def test_certainty_is_where_the_interval_reaches_zero(n, shift):
    losses, w = draws(n)
    mean = repeated_mean(losses - np.average(losses, weights=w) + shift / n**0.5, w)
    sure = certainty(mean)
    if shift == 0:
        assert sure < 0.2
        return
    low, high = bootstrap_interval(mean, sure)
    assert min(abs(low), abs(high)) < 1e-6
    assert bootstrap_interval(mean, sure * 0.99)[mean.value < 0] * mean.value > 0
    low, high = bootstrap_interval(mean, sure + 0.5 * (1 - sure))
    assert low < 0 < high


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_intervals_widen_with_confidence_and_turn_with_the_sign(confidence):
    losses, w = draws(30)
    low, high = estimate(losses, w, confidence=confidence).interval
    wider = estimate(losses, w, confidence=(1 + confidence) / 2).interval
    assert wider[0] < low < high < wider[1]
    assert estimate(-losses, w, confidence=confidence).interval == pytest.approx((-high, -low))
    moved = estimate(3 * losses + 1, 7 * w, confidence=confidence).interval
    assert moved == pytest.approx((3 * low + 1, 3 * high + 1))


@pytest.mark.parametrize(("weights", "least"), [("equal", 0.938), ("unequal", 0.93)])
def test_intervals_of_skewed_values_cover(weights, least):
    """Student's covers .91 and .90 of 20 draws with these tails."""
    random, hits = np.random.default_rng(5), 0
    for _ in range(2000):
        x = random.random(20)
        w = np.ones(20) if weights == "equal" else 1 / (0.25 + 1.5 * x)  # drawn where x is high
        losses = random.exponential(size=20) * (0.25 + 1.5 * x if weights == "unequal" else 1.0)
        truth = 1.0 if weights == "equal" else 6 / np.log(7) / 4
        low, high = bootstrap_interval(repeated_mean(losses, w), 0.95)
        hits += low <= truth <= high
    assert least < hits / 2000 < 0.97
