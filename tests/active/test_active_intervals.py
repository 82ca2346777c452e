"""Intervals of estimates and their cautions; sequences that hold after every draw."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skrank
from skrank.active import ActiveEvaluator, estimate, simulate
from skrank.active._graded_metric import difference_bounds, value_bounds
from skrank.active._moments import random_labels
from skrank.extending import Judgments
from skrank.metrics import registered
from tests.helpers.campaigns import SCORES, answer, comparator, contest, data


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
def test_estimates_and_ends_equal_their_definitions(n, side, random):
    losses, w = draws(random, n)
    mean, error = of_resample(losses, w)
    estimated = estimate(losses, w)
    assert (estimated.value, estimated.standard_error) == pytest.approx((mean, error))
    assert estimated.effective_sample_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert (estimated.n_draws, estimated.n_counted, estimated.n_queries) == (n, n, n)
    end = estimated.interval[side]
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


@pytest.fixture(scope="module")
def rising():
    """Queries whose value increases with the cost, and a q that prefers cheap queries."""
    random = np.random.default_rng(8)
    costs = np.exp(random.standard_normal(600))
    values = np.log(costs) + 0.5 * random.standard_normal(600)
    q = 1 / np.sqrt(costs)
    return values, q / q.sum(), costs


def test_campaigns_that_drew_cheap_queries_have_a_caution(rising):
    """With a budget of 20 average draws, intervals of campaigns of 30 queries cover .43."""
    values, q, costs = rising
    budgets = np.array([20, 34]) * (q @ costs)
    runs = simulate(values, q, budgets, costs=costs, n_campaigns=1500)
    low, high = np.moveaxis(runs.intervals(), 2, 0)
    holds = (low <= runs.truth) & (runs.truth <= high)
    many, told = runs.n_distinct[:, 0] >= 30, ~runs.cautious()
    assert many.mean() > 0.02
    assert holds[many, 0].mean() < 0.6
    assert not told[:, 0].any()
    assert told[:, 1].mean() > 0.9
    assert 0.93 < holds[told[:, 1], 1].mean() < 0.97


# cautions

N = 80
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


@pytest.mark.parametrize("estimator", ["assisted", "importance", "lure"])
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


@pytest.mark.parametrize("truth", [0.0, 0.2])
def test_intervals_cover_where_rankers_agree_on_many_queries(truth):
    """On a third of the pool the rankers are known to agree: 1 of 40 draws, of weight 13.

    Without the shift of values, intervals cover .93 if the truth is not 0.
    """
    random, hits = np.random.default_rng(3), 0
    for _ in range(1000):
        ties = random.random(40) < 1 / 40
        w = np.where(ties, 40 / 3, 2 / 3 / (1 - 1 / 40))
        losses = np.where(ties, 0.0, truth * 1.5 + random.standard_t(5, 40))
        low, high = estimate(losses, w).interval
        hits += low <= truth <= high
    assert 0.94 < hits / 1000 < 0.97


@pytest.mark.parametrize(("weights", "least"), [("equal", 0.938), ("unequal", 0.93)])
def test_intervals_of_skewed_values_cover(weights, least):
    """For comparison, Student's intervals of 20 draws cover .91 and .90 here."""
    random, hits = np.random.default_rng(5), 0
    for _ in range(2000):
        x = random.random(20)
        w = np.ones(20) if weights == "equal" else 1 / (0.25 + 1.5 * x)
        losses = random.exponential(size=20) * (0.25 + 1.5 * x if weights == "unequal" else 1.0)
        truth = 1.0 if weights == "equal" else 6 / np.log(7) / 4
        low, high = estimate(losses, w).interval
        hits += low <= truth <= high
    assert least < hits / 2000 < 0.97


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
