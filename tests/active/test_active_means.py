"""Means from drawn queries: weights, errors, known labels, and correction by a label model."""

import numpy as np
import pandas as pd
import pytest

from skrank.active import Moments, estimate, simulate
from skrank.active._evaluators import decide
from skrank.active._intervals import certainty
from skrank.active._means import Known, _slope, importance_mean, mean_of

ONCE = ("assisted", "lure")


def drawn_once(values, draws, p, q, **options):
    """The mean of draws without replacement."""
    return mean_of(values, np.asarray(draws), p, q, **{"estimator": "lure"} | options)


@pytest.mark.parametrize("n_draws", [1, 4, 8, 9])
def test_lure_is_that_of_the_paper(n_draws, random):
    """Farquhar, Gal and Rainforth 2021, equation 8, with losses weighted by frequencies."""
    loss, q, p = random.random(9), *random.dirichlet(np.ones(9), 2)
    order = random.permutation(9)[:n_draws]
    n, m = 9, np.arange(1, n_draws + 1)
    chances = q[order] / (1 - np.cumsum(q[order]) + q[order])  # among the queries not drawn yet
    v = np.ones(n_draws)
    if n_draws < n:
        v += (n - n_draws) / (n - m) * (1 / ((n - m + 1) * chances) - 1)
    found = drawn_once(loss, order, p, q, all_count=True)
    assert found.value == pytest.approx(np.mean(v * 9 * p[order] * loss[order]), rel=1e-12)


def test_lure_is_normalised_where_queries_may_not_count(random):
    loss, q = random.random(9), random.dirichlet(np.ones(9))
    order, uniform = random.permutation(9)[:5], np.full(9, 1 / 9)
    some = np.where(np.arange(9) % 3 == 0, np.nan, loss)
    sums = drawn_once(np.nan_to_num(some), order, uniform, q, all_count=True).value
    mass = drawn_once(np.where(np.isnan(some), 0.0, 1.0), order, uniform, q, all_count=True).value
    assert drawn_once(some, order, uniform, q).value == pytest.approx(sums / mass)


@pytest.mark.parametrize("estimator", ONCE)
def test_drawing_all_without_replacement_is_exact(estimator, random):
    q, p, loss = random.dirichlet(np.ones(6)), random.dirichlet(np.ones(6)), random.random(6)
    order, expected = random.permutation(6), random.random(6)
    found = drawn_once(loss, order, p, q, estimator=estimator, deviation=expected - p @ expected)
    assert found.value == pytest.approx(p @ loss, rel=1e-12)


def test_draws_that_do_not_count_change_nothing(random):
    loss, w = random.random(6), random.random(6) + 0.1
    padded = np.concatenate([loss, np.full(20, np.nan)])
    found = estimate(padded, np.concatenate([w, np.full(20, 3.0)]))
    alone = estimate(loss, w)
    assert (found.value, found.standard_error) == pytest.approx((alone.value, alone.standard_error))
    assert found.interval == pytest.approx(alone.interval)
    assert (found.n_draws, found.n_counted) == (26, 6)


@pytest.mark.parametrize(
    ("losses", "caution"),
    [
        ([0.5, 0.5], "values of all draws are equal, so the error is unknown"),
        ([0.5, np.nan, 0.5], "error is unknown"),
        ([0.3, np.nan], "a single draw counts, so the error is unknown"),
        ([np.nan, np.nan], "no drawn query has a relevant document"),
        ([0.1, 0.2, np.nan, 0.4, 0.3, 0.9], "only 5 queries count"),
    ],
)
def test_estimates_without_an_error_or_of_few_draws_have_a_caution(losses, caution):
    found = estimate(losses)
    assert caution in found.caution
    assert found.caution in str(found)
    assert (found.interval == (-np.inf, np.inf)) == ("only" not in caution)
    assert np.isnan(found.standard_error) == (found.n_counted < 2)
    assert np.isnan(found.value) == (found.n_counted == 0)


def test_repeated_draws_of_a_query_do_not_lift_a_caution(random):
    twice = pd.Series(1.0, index=[*range(29), 0])
    assert "only 29 queries count" in estimate(pd.Series(random.random(29)), twice).caution
    assert estimate(random.random(30)).caution is None


# queries that are known


def test_known_queries_are_a_stratum_of_their_own(random):
    loss, p = random.random(40), np.full(40, 1 / 40)
    known = Known(share=0.5, mass=0.5, total=float(loss[:20].sum() / 40))
    q = np.where(np.arange(40) < 20, 0, 1 / 20)
    draws = np.arange(20, 26)
    found = mean_of(loss, draws, p, q, estimator="importance", known=known)
    rest = loss[draws]
    assert found.value == pytest.approx((loss[:20].mean() + rest.mean()) / 2)
    assert found.standard_error == pytest.approx(rest.std(ddof=1) / np.sqrt(6) / 2)
    for estimator in ONCE:
        once = drawn_once(loss, draws, p, q, estimator=estimator, known=known)
        assert once.value == pytest.approx(found.value)


# correction by the label model


def test_a_perfect_label_model_leaves_no_error(random):
    loss, uniform = random.random(50), np.full(50, 0.02)
    draws = random.permutation(50)[:12]
    found = drawn_once(
        loss, draws, uniform, random.dirichlet(np.ones(50)), estimator="assisted",
        deviation=loss - loss.mean(),
    )  # fmt: skip
    assert found.value == pytest.approx(loss.mean(), rel=1e-12)
    assert found.standard_error == pytest.approx(0, abs=1e-12)


def test_the_slope_is_that_of_least_squares_with_a_prior(random):
    x, noise = random.normal(size=(2, 12))
    y = 0.8 * x + 0.3 * noise
    plain = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
    # the prior is an observation of the slope 0.5, with standard deviation 0.5
    deviation = np.sqrt(np.sum((y - plain * x) ** 2) / (len(x) - 2))
    rows = np.append(x, deviation / 0.5)
    slope = np.linalg.lstsq(rows[:, None], np.append(y, 0.5 * rows[-1]), rcond=None)[0][0]
    found, leverage = _slope(x, y)
    assert found == pytest.approx(slope)
    assert 0.5 < found < plain < 1
    np.testing.assert_allclose(leverage, x**2 / (rows @ rows))
    assert _slope(x, -y)[0] == 0
    assert _slope(x, 3 * x)[0] == 1


@pytest.mark.parametrize("estimator", ONCE)
def test_estimators_without_replacement_cover_and_err_less(estimator, random):
    told, untold = random.standard_normal((2, 100))
    loss = told + 0.7 * untold
    moments = Moments(np.arange(100), np.ones(100), told, told**2, "exact")
    options = {"n_campaigns": 1500, "moments": moments}
    plain, other = (
        simulate(loss, np.full(100, 0.01), [60], estimator=name, **options)
        for name in ("importance", estimator)
    )
    assert other.error()[0][0] < 0.85 * plain.error()[0][0]
    assert 0.93 < other.covered()[0] < 0.975


# coverage


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-3, 2.0**900, 2.0**1020])
def test_a_factor_of_all_weights_changes_nothing(factor, random):
    losses, weights = random.random(30), 0.5 + random.random(30)
    assert estimate(losses, factor * weights) == estimate(losses, weights)


# decisions


@pytest.mark.parametrize("n_rankers", [2, 3, 5])
def test_a_winner_among_equals_is_named_at_most_as_often_as_allowed(n_rankers):
    random = np.random.default_rng(n_rankers)
    named = 0

    def compare(a, b):
        difference = loss[a] - loss[b]
        return estimate(difference), certainty(importance_mean(difference, np.ones(30)))

    for _ in range(800):
        loss = random.standard_normal((n_rankers, 30))
        means = loss.mean(axis=1).tolist()
        found = decide(tuple("abcde"[:n_rankers]), means, compare, 0.95)
        named += found.better is not None
        if found.better is not None:
            assert found.confidence >= 0.95 - 1e-12
            assert found.candidates == (found.better,)
    assert named / 800 < 0.073  # three standard errors above 0.05
