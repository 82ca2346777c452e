"""Confidence sequences by betting hold after every draw."""

import numpy as np
import pytest

from skrank.stats import Bets

SIZE = 60


def pool_named(name):
    """Probabilities, values, bounds of values, and True if some queries do not count."""
    random = np.random.default_rng(1)
    q, share = np.full(SIZE, 1 / SIZE), 1.0
    if name == "unequal chances":
        q = random.dirichlet(np.full(SIZE, 0.8)) * 0.9 + 0.1 / SIZE
    elif name == "a third counts":
        q, share = random.dirichlet(np.full(SIZE, 2.0)) * 0.9 + 0.1 / SIZE, 0.35
    bounds = random.random(SIZE) * 0.5, 0.5 + random.random(SIZE) * 0.5
    values = np.where(random.random(SIZE) < 0.3, *bounds)  # extreme values are the hardest case
    if share < 1:
        values[random.random(SIZE) > share] = np.nan
    return q, values, bounds, share < 1


def bets_of(pool, draws, with_replacement):
    q, values, bounds, may_not_count = pool
    return Bets(
        values, np.full(SIZE, 1 / SIZE), q, draws, bounds, with_replacement=with_replacement,
        may_not_count=may_not_count,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["equal chances", "unequal chances", "a third counts"])
@pytest.mark.parametrize("with_replacement", [True, False])
def test_sequences_hold_under_optional_stopping(name, with_replacement):
    """At most 5 % of 1,000 campaigns exclude the truth after any of their draws."""
    pool = pool_named(name)
    q, truth = pool[0], np.nanmean(pool[1])
    random, limit, misled = np.random.default_rng(2), np.log(2 / 0.05), 0
    for _ in range(1000):
        if with_replacement:
            draws = random.choice(SIZE, size=80, p=q)
        else:
            draws = np.argsort(random.exponential(size=SIZE) / q)[:50]
        bets = bets_of(pool, draws, with_replacement)
        capitals = (
            one.log_capital(np.array([mean]))
            for one, mean in ((bets, truth), (bets._mirrored(), -truth))
        )
        misled += max(capitals) >= limit
    assert misled / 1000 <= 0.05


@pytest.mark.parametrize("with_replacement", [True, False])
def test_the_mean_payment_is_zero_at_the_truth(with_replacement):
    """The expectation is computed as a sum over all first and second draws."""
    pool = pool_named("a third counts")
    q, truth = pool[0], np.nanmean(pool[1])
    mean = np.zeros(2)
    for first in range(0, SIZE, 7):
        for second in range(SIZE):
            bets = bets_of(pool, np.array([first, second]), with_replacement)
            pays = bets._weight * np.nan_to_num(bets._value - truth)
            pays += bets._total - truth * bets._mass
            chance = q[second]
            if not with_replacement:
                chance = 0.0 if second == first else q[second] / (1 - q[first])
            mean += chance * np.array([pays[1], bets._weight[1] - bets._left[1]])
    np.testing.assert_allclose(mean, 0, atol=1e-12)


def test_sequences_shrink_and_never_grow():
    pool = pool_named("unequal chances")
    draws = np.random.default_rng(3).choice(SIZE, size=3000, p=pool[0])
    ends = [bets_of(pool, draws[:n], True).interval(0.95) for n in (*range(1, 100), 3000)]
    low, high = np.transpose(ends)
    assert (np.diff(low) >= -1e-4).all()
    assert (np.diff(high) <= 1e-4).all()
    assert low[-1] <= np.nanmean(pool[1]) <= high[-1]
    assert high[-1] - low[-1] < 0.12


def test_certainty_is_that_of_the_interval():
    q, values, bounds, _ = pool_named("equal chances")
    draws = np.random.default_rng(4).choice(SIZE, size=60, p=q)
    bets = bets_of((q, values - 0.8, np.subtract(bounds, 0.8), False), draws, True)
    sure = bets.certainty()
    assert 0.5 < sure < 1
    for confidence, decided in ((sure - 1e-3, True), (sure + (1 - sure) / 2, False)):
        low, high = bets.interval(confidence)
        assert (low > 0 or high < 0) == decided
