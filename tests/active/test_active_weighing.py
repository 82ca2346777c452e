"""Weights without replacement, errors by leaving out, and what is counted."""

import itertools

import numpy as np
import pandas as pd
import pytest

from skrank.active import estimate, simulate
from skrank.active._intervals import certainty
from skrank.active._moments import Moments
from skrank.active._weighing import Known, chances, lure, parts, repeated_mean, single_mean


def orders(q, n_draws):
    """All orders of draws without replacement, with their probabilities."""
    for order in itertools.permutations(range(len(q)), n_draws):
        drawn = q[list(order)]
        yield np.array(order), np.prod(chances(drawn))


@pytest.mark.parametrize("n_draws", [1, 2, 3, 5])
def test_lure_weights_are_exactly_unbiased(n_draws, random):
    """The mean over all orders of five queries, with unequal chances and frequencies."""
    q, p = random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5))
    loss = random.random(5)
    total = weight = chance = 0.0
    for order, probability in orders(q, n_draws):
        w = p[order] * lure(chances(q[order]), 5)
        total += probability * (w @ loss[order])
        weight += probability * w.sum()
        chance += probability
    assert chance == pytest.approx(1)
    assert total == pytest.approx(p @ loss, rel=1e-12)
    assert weight == pytest.approx(1, rel=1e-12)


def test_lure_weights_are_those_of_the_paper(random):
    """Farquhar, Gal and Rainforth 2021, equation 8, for a uniform mean."""
    q = random.dirichlet(np.ones(9))[:4]
    chance = chances(q)
    n, m = 9, np.arange(1, 5)
    v = 1 + (n - 4) / (n - m) * (1 / ((n - m + 1) * chance) - 1)
    np.testing.assert_allclose(lure(chance, n) / n, v / 4, rtol=1e-12)
    assert parts(4, 9).sum() == pytest.approx(1)


def test_drawing_all_without_replacement_is_exact(random):
    q, p, loss = random.dirichlet(np.ones(6)), random.dirichlet(np.ones(6)), random.random(6)
    order = random.permutation(6)
    found = single_mean(loss[order], p[order], chances(q[order]), 6)
    assert found.value == pytest.approx(p @ loss, rel=1e-12)


def test_equal_chances_without_replacement_shrink_the_error_of_a_finite_pool(random):
    loss = random.standard_normal(200)
    uniform = np.full(200, 1 / 200)
    errors, values = [], []
    for _ in range(2000):
        order = random.permutation(200)[:120]
        found = single_mean(loss[order], uniform[order], chances(uniform[order]), 200)
        errors.append(found.standard_error)
        values.append(found.value)
    classical = loss.std(ddof=1) * np.sqrt((1 - 120 / 200) / 120)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(values), rel=0.08)
    assert np.std(values) == pytest.approx(classical, rel=0.15)  # later draws weigh more
    np.testing.assert_allclose(np.mean(values), loss.mean(), atol=4 * classical / np.sqrt(2000))


@pytest.mark.parametrize("known", [Known(), Known(share=0.4, mass=0.3, total=0.2)])
def test_pulls_and_shares_tell_the_mean_of_any_draws(known, random):
    """Of draws that come as often as one likes, without computing it anew."""
    loss, w = random.random(9), random.random(9) + 0.05
    loss[[2, 5]] = np.nan
    found = repeated_mean(loss, w, known)
    matter = np.arange(9) if known.share else np.flatnonzero(~np.isnan(loss))
    assert (found.n_counted, len(found.pull)) == (7, len(matter))
    assert found.pull.sum() == pytest.approx(0, abs=1e-15)
    assert found.share.sum() == pytest.approx(1)
    for _ in range(20):
        times = random.multinomial(len(matter), np.full(len(matter), 1 / len(matter)))
        again = repeated_mean(np.repeat(loss[matter], times), np.repeat(w[matter], times), known)
        shift = (times @ found.pull) / (times @ found.share)
        assert again.value == pytest.approx(found.value + shift)


def test_pulls_without_replacement_are_those_of_the_mean(random):
    loss, p, q = random.random(6), random.dirichlet(np.ones(9))[:6], random.dirichlet(np.ones(9))
    found = single_mean(loss, p, chances(q[:6]), 9)
    assert found.pull.sum() == pytest.approx(0, abs=1e-15)
    assert found.share.sum() == pytest.approx(1)
    moved = single_mean(loss - 0.3, p, chances(q[:6]), 9)
    np.testing.assert_allclose(moved.pull, found.pull, atol=1e-15)


def test_draws_that_do_not_count_change_nothing(random):
    loss, w = random.random(6), random.random(6) + 0.1
    padded = np.concatenate([loss, np.full(20, np.nan)])
    found = estimate(padded, np.concatenate([w, np.full(20, 3.0)]))
    alone = estimate(loss, w)
    assert (found.value, found.standard_error) == pytest.approx((alone.value, alone.standard_error))
    assert found.interval == pytest.approx(alone.interval)
    assert (found.n_draws, found.n_counted) == (26, 6)


def test_two_equal_values_say_nothing():
    for losses in ([0.5, 0.5], [0.5, np.nan, 0.5, 0.5], [0.0, 0.0, 0.0], [0.3, np.nan]):
        found = estimate(losses)
        assert found.interval == (-np.inf, np.inf)
        assert "says nothing" in found.caution
        assert found.caution in str(found)
    assert "no query that was drawn counts" in estimate([np.nan, np.nan]).caution


def test_few_draws_are_said_to_be_few(random):
    assert "only 5 queries count" in estimate([0.1, 0.2, np.nan, 0.4, 0.3, 0.9]).caution
    assert "only 29 queries count" in estimate(random.random(29)).caution
    assert estimate(random.random(30)).caution is None
    queries = pd.Series(random.random(29))
    twice = pd.Series(1.0, index=[*range(29), 0])
    assert "only 29 queries count" in estimate(queries, twice).caution


# queries that are known


def test_known_queries_are_a_stratum_of_their_own(random):
    """The error is that of the rest, and the value is unbiased."""
    loss, p = random.random(40), np.full(40, 1 / 40)
    known = Known(share=0.5, mass=0.5, total=float(loss[:20].sum() / 40))
    values = []
    for _ in range(3000):
        draws = random.integers(20, 40, size=6)
        values.append(repeated_mean(loss[draws], np.ones(6), known).value)
    assert np.mean(values) == pytest.approx(loss.mean(), abs=4 * np.std(values) / 54)
    draws = np.arange(20, 26)
    found = repeated_mean(loss[draws], np.ones(6), known)
    rest = loss[draws]
    assert found.value == pytest.approx((loss[:20].mean() + rest.mean()) / 2)
    assert found.standard_error == pytest.approx(rest.std(ddof=1) / np.sqrt(6) / 2)
    once = single_mean(rest, p[draws], 1 / (20 - np.arange(6)), 20, known)
    assert once.value == pytest.approx(found.value, abs=0.2)


# the label model as an assistant


def test_an_assistant_that_knows_all_leaves_no_error(random):
    loss = random.random(50)
    draws = random.integers(0, 50, size=12)
    found = repeated_mean(loss[draws], np.ones(12), deviation=(loss - loss.mean())[draws])
    assert found.value == pytest.approx(loss.mean(), rel=1e-12)


def test_an_assistant_that_is_wrong_is_not_believed(random):
    loss = random.random(50)
    draws = random.integers(0, 50, size=12)
    plain = repeated_mean(loss[draws], np.ones(12))
    wrong = repeated_mean(loss[draws], np.ones(12), deviation=-(loss - loss.mean())[draws])
    assert wrong.value == pytest.approx(plain.value)
    few = repeated_mean(loss[:3], np.ones(3), deviation=loss[:3])
    assert few.value == repeated_mean(loss[:3], np.ones(3)).value


class Expected(Moments):
    """Moments that tell a part of the values."""

    def __init__(self, first):
        super().__init__(np.arange(len(first)), np.ones(len(first)), first, first**2, "exact")

    def deviation(self, p):
        return self.first - p @ self.first


@pytest.mark.parametrize("estimator", ["assisted", "lure"])
def test_estimators_beyond_the_paper_cover_and_err_less(estimator, random):
    told, untold = random.standard_normal((2, 100))
    loss = told + 0.7 * untold
    options = {"n_campaigns": 1500, "moments": Expected(told)}
    plain, other = (
        simulate(loss, np.full(100, 0.01), [60], estimator=name, **options)
        for name in ("importance", estimator)
    )
    assert other.error()[0][0] < 0.85 * plain.error()[0][0]
    assert 0.93 < other.covered()[0] < 0.975
    with pytest.raises(ValueError, match="needs moments="):
        simulate(loss, np.full(100, 0.01), [40], estimator="assisted")


# coverage


@pytest.mark.parametrize("n_draws", [5, 10, 20])
def test_intervals_with_a_quarter_counted_cover(n_draws, random):
    """Of t intervals that count all draws, and not those that count, .34, .58 and .81 do."""
    loss = np.where(random.random(4000) < 0.25, random.standard_normal(4000), np.nan)
    runs = simulate(loss, np.ones(4000), [n_draws], n_campaigns=3000, random_state=1)
    assert 0.93 < runs.covered()[0] < 0.97
    unknown = np.mean(runs.n_counted < 2)
    assert runs.told()[0] == pytest.approx(1 - unknown, abs=2e-3)  # or one query was drawn twice


def test_ties_are_decided_at_the_level_that_was_asked_for(random):
    """With the degrees of freedom of all draws, 18 % of them were decided."""
    decided = 0
    for _ in range(3000):
        loss = np.where(random.random(10) < 0.4, random.standard_normal(10), np.nan)
        decided += certainty(repeated_mean(loss, np.ones(10))) > 0.95
    assert decided / 3000 < 0.06


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-3, 2.0**900, 2.0**1020])
def test_a_factor_of_all_weights_changes_nothing(factor, random):
    losses, weights = random.random(30), 0.5 + random.random(30)
    assert estimate(losses, factor * weights) == estimate(losses, weights)


def test_values_and_weights_whose_squares_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"value of draw 1 is -1e\+200.*Scale"):
        estimate([0.1, -1e200, 0.3])
    with pytest.raises(ValueError, match=r"weights reach from 1e-200 to 1\.0.*leave it out"):
        estimate([0.1, 0.2, 0.3], [1, 1e-200, 1])
