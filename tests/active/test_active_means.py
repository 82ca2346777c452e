"""Means from drawn queries: weights, errors, known labels, and correction by a label model."""

import itertools

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank.active import Moments, estimate, label_moments, sampling_distribution, simulate
from skrank.active._evaluators import decide
from skrank.active._intervals import certainty
from skrank.active._means import Known, _slope, importance_mean, mean_of
from skrank.datasets import make_ranking

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


def chances(q):
    """Probability of each draw among the queries not yet drawn, by its definition."""
    return np.array([q[m] / (1 - q[:m].sum()) for m in range(len(q))])


@pytest.mark.parametrize("n_draws", [1, 2, 3, 5])
def test_lure_is_exactly_unbiased(n_draws, random):
    """The expectation over all orders of five queries, with unequal probabilities and p."""
    q, p = random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5))
    loss = random.random(5)
    total = sum(
        np.prod(chances(q[list(order)])) * drawn_once(loss, order, p, q, all_count=True).value
        for order in itertools.permutations(range(5), n_draws)
    )
    assert total == pytest.approx(p @ loss, rel=1e-12)


@pytest.mark.parametrize("beliefs", ["uniform", "noisy"])
@pytest.mark.parametrize("task", ["evaluate", "compare"])
def test_the_default_is_not_behind_uniform_draws_without_replacement(task, beliefs, random):
    data = make_ranking(300, n_docs=(5, 40), random_state=1)
    costs = np.bincount(data.qid).astype(float)
    scores = [data.X[:, :4].sum(axis=1), data.X[:, 1:6].sum(axis=1)]
    guess = random.dirichlet(np.ones(5), len(data.qid))
    model = {"uniform": "uniform", "noisy": 0.3 * np.eye(5)[data.relevance] + 0.7 * guess}[beliefs]
    moments = label_moments(
        "dcg", scores[0], data.qid, other=scores[1] if task == "compare" else None,
        label_model=model, grades=range(5),
    )  # fmt: skip
    metric = skrank.metric("dcg", empty=0)
    values = [metric.per_query(data.relevance, s, groups=data.qid).to_numpy() for s in scores]
    loss = values[0] - values[1] if task == "compare" else values[0]
    q = sampling_distribution(moments, costs=costs)
    budgets = costs.mean() * np.array([10, 20, 60])
    options = {"costs": costs, "n_campaigns": 3000}
    active = simulate(loss, q, budgets, moments=moments, **options).error()[0]
    uniform = simulate(loss, np.ones(300), budgets, estimator="lure", **options).error()[0]
    assert (active < 1.04 * uniform).all()


@pytest.mark.parametrize("n_draws", [5, 10, 20])
def test_intervals_with_a_quarter_counted_cover(n_draws, random):
    """Student's intervals with the number of all draws as n cover .34, .58 and .81."""
    loss = np.where(random.random(4000) < 0.25, random.standard_normal(4000), np.nan)
    runs = simulate(
        loss, np.ones(4000), [n_draws], estimator="importance", n_campaigns=3000, random_state=1
    )
    assert 0.93 < runs.covered()[0] < 0.97
    unknown = np.mean(runs.n_counted < 2)
    assert runs.told()[0] == pytest.approx(1 - unknown, abs=2e-3)  # or one query was drawn twice
