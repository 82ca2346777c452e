"""Confidence sequences hold simultaneously after every draw, and for every metric."""

import numpy as np
import pytest

import skrank
from skrank.active._anytime import Game, certainty_so_far, log_capital, sequence
from skrank.active._graded_metric import difference_bounds, value_bounds
from skrank.active._moments import random_labels
from skrank.extending import Judgments
from skrank.metrics import registered
from tests.helpers.campaigns import SCORES, answer, comparator, data

N = 60
POOLS = ("equal chances", "unequal chances", "a third counts")


def pool_named(name):
    """Probabilities, values, bounds of values, and True if some queries do not count."""
    random = np.random.default_rng(1)
    q, share = np.full(N, 1 / N), 1.0
    if name == "unequal chances":
        q = random.dirichlet(np.full(N, 0.8)) * 0.9 + 0.1 / N
    elif name == "a third counts":
        q, share = random.dirichlet(np.full(N, 2.0)) * 0.9 + 0.1 / N, 0.35
    bounds = random.random(N) * 0.5, 0.5 + random.random(N) * 0.5
    values = np.where(random.random(N) < 0.3, *bounds)  # extreme values are the hardest case
    if share < 1:
        values[random.random(N) > share] = np.nan
    return q, values, bounds, share < 1


def game_of(pool, draws, with_replacement):
    q, values, bounds, may_not_count = pool
    return Game(
        values, draws, np.full(N, 1 / N), q, bounds, with_replacement=with_replacement,
        may_not_count=may_not_count,
    )  # fmt: skip


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("with_replacement", [True, False])
def test_sequences_hold_under_optional_stopping(name, with_replacement):
    """At most 5 % of 2,000 campaigns exclude the truth after any of their draws."""
    pool = pool_named(name)
    q, truth = pool[0], np.nanmean(pool[1])
    random, limit, misled = np.random.default_rng(2), np.log(2 / 0.05), 0
    for _ in range(2000):
        if with_replacement:
            draws = random.choice(N, size=80, p=q)
        else:
            draws = np.argsort(random.exponential(size=N) / q)[:50]
        game = game_of(pool, draws, with_replacement)
        capitals = (
            log_capital(one, np.array([mean]))
            for one, mean in ((game, truth), (game.mirrored(), -truth))
        )
        misled += max(capitals) >= limit
    assert misled / 2000 <= 0.05


@pytest.mark.parametrize("with_replacement", [True, False])
def test_the_mean_payment_is_zero_at_the_truth(with_replacement):
    """The expectation is computed as a sum over all first and second draws."""
    pool = pool_named("a third counts")
    q, truth = pool[0], np.nanmean(pool[1])
    mean = np.zeros(2)
    for first in range(0, N, 7):
        for second in range(N):
            game = game_of(pool, np.array([first, second]), with_replacement)
            pays = game.weight * np.nan_to_num(game.value - truth) + game.total - truth * game.mass
            chance = q[second]
            if not with_replacement:
                chance = 0.0 if second == first else q[second] / (1 - q[first])
            mean += chance * np.array([pays[1], game.weight[1] - game.left[1]])
    np.testing.assert_allclose(mean, 0, atol=1e-12)


def test_sequences_shrink_and_never_grow():
    pool = pool_named("unequal chances")
    draws = np.random.default_rng(3).choice(N, size=3000, p=pool[0])
    ends = [sequence(game_of(pool, draws[:n], True), 0.95) for n in (*range(1, 100), 3000)]
    low, high = np.transpose(ends)
    assert (np.diff(low) >= -1e-4).all()
    assert (np.diff(high) <= 1e-4).all()
    assert low[-1] <= np.nanmean(pool[1]) <= high[-1]
    assert high[-1] - low[-1] < 0.12


def test_certainty_so_far_is_that_of_the_interval():
    q, values, bounds, _ = pool_named("equal chances")
    draws = np.random.default_rng(4).choice(N, size=60, p=q)
    game = game_of((q, values - 0.8, np.subtract(bounds, 0.8), False), draws, True)
    sure = certainty_so_far(game)
    assert 0.5 < sure < 1
    for confidence, decided in ((sure - 1e-3, True), (sure + (1 - sure) / 2, False)):
        low, high = sequence(game, confidence)
        assert (low > 0 or high < 0) == decided


def lists(metric, scores, groups, n_grades):
    """A GradedMetric, and the pool of documents that need labels."""
    found = random_labels(metric, scores, groups, "uniform", None, range(n_grades), 0, who="it")
    return found.graded, found.pool


def scores_of(metric):
    """Scores of three rankers, with ties and documents that are not retrieved."""
    random = np.random.default_rng(5)
    ties = not metric.strict  # strict metrics refuse ties
    scores = [random.integers(0, 6 if ties else 10**9, 60).astype(float), random.random(60)]
    scores.append(np.where(random.random(60) < 0.2, -np.inf, scores[1]))
    if ties:
        scores[2][::6] = 0.5
    return scores


def is_inside(value, bounds):
    low, high = bounds
    return (np.isnan(value) | ((value >= low - 1e-12) & (value <= high + 1e-12))).all()


@pytest.mark.parametrize("name", sorted(registered()))
def test_values_and_differences_lie_within_their_bounds(name):
    for text in (name, f"{name}@3"):
        try:
            metric = skrank.metric(text)
            graded, pool = lists(metric, scores_of(metric), np.repeat(np.arange(10), 6), 4)
        except ValueError:
            continue  # not a mean over queries, or without a cut-off
        if "inf" in graded.metric.value_range and not graded.is_local:
            with pytest.raises(ValueError, match="have no bounds before"):
                value_bounds(graded, pool)
            continue
        single = value_bounds(graded, pool)
        double = {pair: difference_bounds(graded, pool, *pair) for pair in [(0, 1), (1, 2), (2, 0)]}
        for labels in np.random.default_rng(6).integers(0, 4, (40, pool.queries.n_rows)):
            values = graded.values(Judgments(labels.astype(float), pool.queries), pool.scores)
            assert is_inside(values, single)
            for (a, b), bounds in double.items():
                assert is_inside(values[a] - values[b], bounds)


def test_equal_lists_have_bounds_of_0():
    graded, pool = lists("ndcg", [SCORES["old"], SCORES["old"] * 2], data.qid, 5)
    low, high = difference_bounds(graded, pool, 0, 1)
    assert not low.any()
    assert not high.any()


@pytest.mark.parametrize("estimator", ["importance", "assisted", "lure"])
def test_a_campaign_can_be_watched(estimator):
    scores = {"good": data.relevance + 0.0, "bad": np.random.default_rng(6).random(len(data.qid))}
    campaign = comparator(scores=scores, metric="ndcg", n_label_draws=20)
    for request in campaign.ask(1000):
        answer(campaign, [request])
        decision = campaign.decision(0.95, estimator=estimator, anytime=True)
        if decision.better is not None:
            break
    assert decision.better == "good"
    assert decision.difference.anytime
    assert decision.difference.interval[0] > 0
    assert not decision.difference.complete  # the campaign stopped before the pool was labelled


def test_progress_ends_with_the_estimate():
    campaign = comparator()
    answer(campaign, campaign.ask(20))
    for options in ({}, {"anytime": True}, {"estimator": "lure"}):
        table = campaign.progress(**options)
        last, found = table.iloc[-1], campaign.estimate(**options)
        assert len(table) == found.n_queries
        assert (last.value, last.low, last.high) == pytest.approx((found.value, *found.interval))
        assert last.cost == campaign.cost
    answer(campaign, campaign.ask(1000))
    table, found = campaign.progress(), campaign.estimate()
    last = table.iloc[-1]
    assert (len(table), last.cost) == (found.n_queries, campaign.cost)
    assert last.low == last.high == found.value
