"""Cautions of estimates."""

import numpy as np
import pandas as pd
import pytest

from skrank.active import ActiveEvaluator, estimate, simulate

N = 80
ESTIMATORS = ("assisted", "importance", "lure")
RELEVANCE = np.random.default_rng(0).integers(0, 3, size=2 * N)
QUERIES = np.repeat(np.arange(N), 2)


def campaign_of(n, costs, seed):
    """A campaign of uniform draws, with labels of n queries."""
    scores = np.tile([2.0, 1.0], N)
    campaign = ActiveEvaluator(
        scores, QUERIES, metric="dcg", grades=range(3), costs=dict(enumerate(costs)), mixing=1,
        cost_aware=False, random_state=seed,
    )  # fmt: skip
    for request in campaign.ask(n):
        campaign.tell(request, RELEVANCE[request.rows])
    return campaign


def with_expensive_query(n, *, drawn):
    """A campaign of n queries in which query 0, of cost 500, is drawn or not; others cost 1."""
    costs = np.where(np.arange(N) == 0, 500.0, 1.0)
    for seed in range(100):
        campaign = campaign_of(n, costs, seed)
        if (campaign.cost > 500) == drawn:
            return campaign
    raise AssertionError("no such campaign")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_many_cheap_queries_have_a_caution(estimator):
    campaign = with_expensive_query(35, drawn=False)
    found = campaign.estimate(estimator=estimator)
    assert (found.n_queries, found.n_distinct) == (35, 35)
    assert found.n_typical == pytest.approx(35 / (579 / 80))
    assert "only 35 queries count, at the cost of 4 average queries: too few" in found.caution
    assert campaign.estimate(estimator=estimator, anytime=True).caution is None


def test_an_expensive_query_counts_as_several_but_twenty_must_be_distinct():
    assert with_expensive_query(25, drawn=True).estimate().caution is None
    found = with_expensive_query(12, drawn=True).estimate()
    assert found.n_typical > 30
    assert "only 12 queries count" in found.caution


@pytest.mark.parametrize("cost", [0.1, 1e6])
def test_with_equal_costs_the_number_of_queries_counts(cost):
    enough, few = (campaign_of(n, np.full(N, cost), 1).estimate() for n in (30, 29))
    assert (enough.n_typical, few.n_typical) == (30, 29)
    assert enough.caution is None
    assert "only 29 queries count: too few" in few.caution


def test_draws_that_do_not_count_have_a_share_in_the_cost():
    """`n_typical` assigns the average cost of all drawn queries to each query that counts."""
    sampling = pd.DataFrame({"probability": 0.01, "cost": [2.0] * 50 + [8.0] * 50})
    losses = pd.Series(np.where(np.arange(100) % 2, np.nan, np.arange(100.0)))
    drawn = pd.Series(1.0, index=[*range(40, 60), 40])
    found = estimate(losses, drawn, sampling=sampling)
    assert (found.n_queries, found.n_distinct, found.n_typical) == (20, 10, 10)
    assert found.cost == 100
    cheap = estimate(losses, drawn[drawn.index < 50], sampling=sampling)
    assert cheap.n_typical == 5 * 2 / 5


def test_a_batch_has_the_estimate_and_the_caution_of_its_campaign():
    campaign = with_expensive_query(35, drawn=False)
    found = campaign.estimate(estimator="importance")
    weights = campaign.draws(found.n_draws)
    options = {"metric": "dcg(empty=0)", "scores": np.tile([2.0, 1.0], N), "groups": QUERIES}
    batch = estimate(RELEVANCE, weights, sampling=campaign.sampling, **options)
    assert (batch.n_typical, batch.caution, batch.cost) == (
        found.n_typical, found.caution, found.cost,
    )  # fmt: skip
    for name in ("value", "standard_error", "interval"):
        assert getattr(batch, name) == pytest.approx(getattr(found, name), rel=1e-12)
    unknown = estimate(RELEVANCE, weights, **options)
    assert (unknown.n_typical, unknown.caution, unknown.cost) == (35, None, None)


@pytest.mark.parametrize(
    ("drawn", "sampling", "message"),
    [
        (None, {}, "make weights a Series by query"),
        ("ab", {"id": ["b", "b"]}, "rows for query 'b'"),
        ("ac", {}, "query 'c' was drawn and has no"),
        ("ab", {"probability": [1, 0], "cost": [1, 0]}, "query 'b' was drawn and has no"),
        ("ab", {"cost": [1, 0]}, r"sampling.cost\[1\]=0"),
        ("ab", {"probability": [1, -1]}, r"sampling.probability\[1\]=-1"),
    ],
)
def test_bad_costs_are_refused(drawn, sampling, message):
    losses = pd.Series([0.1, 0.2, 0.3], index=["a", "b", "c"])
    weights = np.ones(3) if drawn is None else pd.Series(1.0, index=list(drawn))
    columns = {"id": ["a", "b"], "probability": [1, 1], "cost": [1, 1]} | sampling
    table = pd.DataFrame(columns).set_index("id")
    with pytest.raises(ValueError, match=message):
        estimate(losses, weights, sampling=table)
    with pytest.raises(ValueError, match=r"lacks \['cost'\]"):
        estimate(losses, weights, sampling=table[["probability"]])


def test_simulated_campaigns_of_equal_values_have_infinite_intervals():
    values = np.r_[np.full(95, 0.5), np.linspace(0, 1, 5)]
    runs = simulate(values, np.ones(100), [3, 100], n_campaigns=60)
    alike = (runs.standard_errors[:, 0] == 0) & (runs.values[:, 0] == 0.5)
    assert 0.5 < alike.mean() < 1
    intervals = runs.intervals()
    assert (np.abs(intervals[alike, 0]) == np.inf).all()
    assert runs.told().tolist() == [(~alike).mean(), 1]
    assert (intervals[:, 1] == runs.truth).all()  # the whole pool
    assert runs.cautious().tolist() == [[True, False]] * 60
