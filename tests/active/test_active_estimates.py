"""The distribution of draws, means of drawn queries, their intervals, cautions and decisions."""

import numpy as np
import pytest

import skrank
from skrank.active import ActiveEvaluator, Design, Moments, simulate
from tests.helpers.campaigns import (
    COSTS,
    SCORES,
    answer,
    both,
    comparator,
    contest,
    data,
    evaluator,
    run,
)

P = np.random.default_rng(1).dirichlet(np.full(60, 5.0))  # frequencies of the queries
NOISY = 0.6 * np.eye(5)[data.relevance] + 0.4 * np.random.default_rng(0).dirichlet(
    np.ones(5), len(data.qid)
)
LOSS = skrank.metric("dcg", empty=0).per_query(data.relevance, SCORES["old"], groups=data.qid)


def frequencies():
    return dict(enumerate(P))


@both
def test_no_perturbation_of_the_distribution_lowers_the_predicted_variance(make):
    random = np.random.default_rng(1)
    start = make(label_model=NOISY, frequencies=frequencies(), mixing=0)
    q = start.sampling.probability.to_numpy()
    error = P**2 * start.moments.squared_error(start.moments.center(P))

    def variance(q):
        """Variance times cost, up to a factor."""
        return (error / q).sum() * (COSTS @ q)

    for size in np.repeat([1e-3, 1e-2, 0.1, 1.0], 100):
        other = q * np.exp(size * random.standard_normal(len(q)))
        assert variance(other / other.sum()) >= variance(q) * (1 - 1e-12)
    for other in (P, np.full(len(q), 1 / len(q))):
        assert variance(other) > variance(q)


@pytest.mark.parametrize("mixing", [0.02, 0.5, 1.0])
def test_mixing_bounds_the_weights(mixing):
    start = evaluator(label_model=NOISY, frequencies=frequencies(), mixing=mixing)
    q = start.sampling.probability.to_numpy()
    assert q.sum() == pytest.approx(1)
    assert (P / q).max() <= 1 / mixing * (1 + 1e-12)


@pytest.mark.parametrize("n_draws", [4, 20, 59, 60])
def test_lure_is_that_of_the_paper(n_draws):
    """Farquhar, Gal and Rainforth 2021, equation 8, with losses weighted by frequencies."""
    campaign = evaluator(frequencies=frequencies())
    requests = campaign.ask(n_draws)
    answer(campaign, requests)
    order, n, m = [request.query for request in requests], 60, np.arange(1, n_draws + 1)
    q = campaign.sampling.probability.to_numpy()[order]
    chances = q / (1 - np.append(0, np.cumsum(q)[:-1]))  # of each draw among those left
    v = np.ones(n_draws)
    if n_draws < n:
        v += (n - n_draws) / (n - m) * (1 / ((n - m + 1) * chances) - 1)
    found = campaign.estimate(estimator="lure").value
    assert found == pytest.approx(np.mean(v * n * P[order] * LOSS.to_numpy()[order]), rel=1e-9)


# simulated campaigns


@pytest.mark.filterwarnings("ignore:budget")
def test_simulation_runs_campaigns_as_the_evaluator_does():
    budgets, start = [30.0, 150.0, 1e6], evaluator()
    runs = simulate(
        LOSS, start.sampling.probability, budgets, costs=COSTS, moments=start.moments,
        n_campaigns=5, random_state=4,
    )  # fmt: skip
    seeds = np.random.SeedSequence(4).generate_state(5).tolist()
    for place in np.ndindex(5, 3):
        campaign = evaluator(budget=budgets[place[1]], random_state=seeds[place[0]])
        found = run(campaign)
        assert runs.values[place] == pytest.approx(found.value, rel=1e-9)
        assert runs.standard_errors[place] == pytest.approx(found.standard_error, rel=1e-6)
        assert runs.cautious()[place] == (found.caution is not None)
        assert found.complete or runs.n_typical[place] == found.n_typical
    assert runs.error()[0][-1] < 1e-12  # the whole pool


def test_simulated_campaigns_draw_no_query_of_frequency_zero():
    used = np.arange(30) >= 20
    runs = simulate(np.arange(30.0), np.ones(30), [5, 10], frequencies=used, n_campaigns=50)
    assert (np.isfinite(runs.values) & (runs.complete == [False, True])).all()


def coverage(intervals, truth, chosen=True):
    low, high = np.moveaxis(intervals, 2, 0)
    kept = np.isfinite(low) & chosen
    holds = (low <= truth) & (truth <= high) & kept
    return holds.sum(axis=0) / np.maximum(kept.sum(axis=0), 1)


@pytest.mark.parametrize("estimator", ["assisted", "lure"])
def test_estimators_cover(estimator, random):
    told, untold = random.standard_normal((2, 100))
    moments = Moments(np.arange(100), np.ones(100), told, told**2, "exact")
    options = {"n_campaigns": 400, "moments": moments, "estimator": estimator}
    runs = simulate(told + 0.7 * untold, np.full(100, 0.01), [60], **options)
    assert 0.93 < coverage(runs.intervals(), runs.truth)[0] < 0.975


def test_campaigns_that_drew_cheap_queries_have_a_caution():
    """Values rise with the cost, and q prefers cheap queries: 30 queries for 20 draws cover .43."""
    random = np.random.default_rng(8)
    costs = np.exp(random.standard_normal(600))
    values = np.log(costs) + 0.5 * random.standard_normal(600)
    q = 1 / np.sqrt(costs)
    q /= q.sum()
    runs = simulate(values, q, np.array([20, 34]) * (q @ costs), costs=costs, n_campaigns=400)
    many, told, intervals = runs.n_counted >= 30, ~runs.cautious(), runs.intervals()
    assert many[:, 0].mean() > 0.02
    assert coverage(intervals, runs.truth, many)[0] < 0.6
    assert not told[:, 0].any()
    assert told[:, 1].mean() > 0.7
    assert 0.93 < coverage(intervals, runs.truth, told)[1] < 0.97


# cautions and decisions


@pytest.mark.parametrize(
    ("differences", "caution"),
    [
        ([0.5, 0.5], "values"),
        ([0.3], "single draw"),
        ([0.1, 0.2, 0.4, 0.3, 0.9], "only 5 queries"),
        (np.r_[np.full(27, 0.2), 0.1, 0.3, 0.4], "only 3 of 30 queries"),
        (np.r_[np.linspace(0, 0.1, 29), 4], "one query makes up"),
    ],
)
def test_estimates_without_an_error_or_of_few_draws_have_a_caution(differences, caution):
    found = contest(differences).estimate()
    assert caution in found.caution
    assert (found.interval == (-np.inf, np.inf)) == (len(set(differences)) == 1)
    assert np.isnan(found.standard_error) == (found.n_counted < 2)


@pytest.mark.parametrize("n", [6, 30, 150])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_confidence_of_a_decision_is_where_the_interval_reaches_zero(n, sign, random):
    losses = random.exponential(size=n)
    losses += sign * 2.5 * losses.std() / n**0.5 - losses.mean()
    campaign = contest(losses)
    p_value = (1 - campaign.decision().confidence) / 1.4  # as the documentation of Decision says

    def ends(p):
        return np.array(campaign.estimate(1 - p).interval)

    assert np.abs(ends(p_value)).min() < 1e-6
    assert (sign * ends(1.05 * p_value) > 0).all()
    low, high = ends(0.7 * p_value)
    assert low < 0 < high


def test_no_decision_under_a_caution_or_from_an_unknown_error():
    few = contest(np.linspace(0.9, 1.1, 24)).decision()
    assert few.confidence > 0.999
    assert (few.better, few.leader, few.candidates) == (None, "old", ("old", "new"))
    assert contest(np.linspace(0.9, 1.1, 25)).decision().better == "old"
    for losses in ([0.2], [0.2, 0.2, 0.2], [0.0, 0.0]):
        found = contest(losses).decision()
        assert (found.better, found.confidence) == (None, 0.0)
        assert found.candidates == ("old", "new")
    campaign = comparator(metric="ap", n_label_draws=20)
    for request in campaign.ask(2):
        campaign.tell(request, np.zeros(len(request)))
    found = campaign.decision()
    assert (found.better, found.leader, found.confidence) == (None, None, 0.0)


def test_progress_ends_with_the_estimate():
    campaign = comparator()
    answer(campaign, campaign.ask(20))
    for options in ({}, {"estimator": "lure"}):
        table = campaign.progress(**options)
        last, found = table.iloc[-1], campaign.estimate(**options)
        assert (len(table), last.cost) == (found.n_queries, campaign.cost)
        assert (last.value, last.low, last.high) == pytest.approx((found.value, *found.interval))


PAIR = ([0.0, 1.0], [0.5, 0.5])
CERTAIN = np.eye(5)[data.relevance]
FOUR = [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1]


class Weighted(skrank.metrics.DCG):
    """DCG whose mean weights queries by their numbers of relevant documents."""

    def values(self, sums, shown, relevant, total):
        return sums, relevant


def dcg(**given):
    return lambda: ActiveEvaluator(*FOUR, **{"metric": "dcg"} | given)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: simulate(*PAIR, 5, costs=[1.0, 0.0]), r"costs\[1\]=0.0"),
        (lambda: simulate([1.0, 2.0], [1.0, 0.0], 5), "query 1"),
        (lambda: simulate(*PAIR, np.nan), "budgets="),
        (lambda: evaluator(label_model=CERTAIN, mixing=0, center=1.0), "mixing=0"),
        (dcg(label_model=np.full((4, 2), 0.4), design=Design(grades=[0, 1])), "row 0"),
        (dcg(design=Design(grades=[0, 2, 1])), "grades"),
        (dcg(label_model=np.full((4, 3), 1 / 3), design=Design(grades=[0, 1])), "grade 2"),
        (dcg(metric="ap(average=geometric)", design=Design(grades=[0, 1])), "geometric"),
        (dcg(metric=Weighted(), design=Design(grades=[0, 1])), "mean"),
        (lambda: simulate(*PAIR, 5, moments=evaluator().moments), "moments has 60 queries"),
        (lambda: comparator(scores={1: SCORES["old"], "1": SCORES["new"]}), "different names"),
    ],
)
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
