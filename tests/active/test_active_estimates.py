"""The sampling distribution, means of drawn queries, their intervals, cautions and decisions."""

import dataclasses
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

import skrank
from skrank.active import Moments, simulate
from skrank.active._evaluators import decide
from skrank.active._intervals import bootstrap_interval, certainty
from skrank.active._means import Mean, mean_of
from skrank.active._sampling import drawing_order, sampling_distribution
from skrank.datasets import make_ranking
from tests.helpers.campaigns import (
    COSTS,
    SCORES,
    answer,
    comparator,
    contest,
    data,
    distribution,
    evaluator,
    label_moments,
    run,
)  # fmt: skip

# the sampling distribution and draws


@pytest.fixture(scope="module")
def world():
    """Moments of one ranker and of two under a noisy label model, and costs of the queries."""
    data = make_ranking(600, n_docs=(5, 60), random_state=0)
    belief = 0.6 * np.eye(5)[data.relevance] + 0.4 * np.random.default_rng(0).dirichlet(
        [1.0] * 5, len(data.qid)
    )
    one, two = (
        label_moments("dcg", data.X[:, 0], data.qid, other=other, label_model=belief)
        for other in (None, data.X[:, 1])
    )
    return {"one": one, "two": two, "costs": np.bincount(data.qid).astype(float)}


def predicted_variance(q, moments, costs, p):
    """Variance times cost, which the optimal distribution minimises, up to a factor."""
    a = p**2 * moments.squared_error(moments.center(p))
    return (a / q).sum() * (costs @ q)


@pytest.mark.parametrize("which", ["one", "two"])
def test_no_perturbation_of_q_lowers_the_predicted_variance(world, which):
    random = np.random.default_rng(1)
    moments, costs = world[which], world["costs"]
    p = random.dirichlet(np.full(len(costs), 5.0))
    q = sampling_distribution(moments, costs, p, mixing=0)
    best = predicted_variance(q, moments, costs, p)
    for size in np.repeat([1e-3, 1e-2, 0.1, 1.0], 100):
        other = q * np.exp(size * random.standard_normal(len(q)))
        other /= other.sum()
        assert predicted_variance(other, moments, costs, p) >= best * (1 - 1e-12)
    for other in (p, np.full(len(q), 1 / len(q))):
        assert predicted_variance(other, moments, costs, p) > best


@pytest.mark.parametrize("mixing", [0.02, 0.5, 1.0])
def test_mixing_bounds_the_weights(world, mixing):
    q = distribution(world["two"], world["costs"], mixing=mixing)
    assert q.sum() == pytest.approx(1)
    assert (1 / len(q) / q).max() <= 1 / mixing * (1 + 1e-12)


def test_no_mixing_is_refused_where_the_model_is_certain():
    certain = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    moments = label_moments("dcg", [1, 1, 1], ["a", "b", "c"], label_model=certain)
    with pytest.raises(ValueError, match="mixing=0"):
        distribution(moments, [1, 1, 1], mixing=0, center=1.0)


def chances(q):
    """Probability of each draw among the queries not yet drawn, by its definition."""
    return np.array([q[m] / (1 - q[:m].sum()) for m in range(len(q))])


def test_draws_are_successive_draws_from_q():
    q = np.array([0.5, 0.3, 0.0, 0.2])
    orders = np.array([drawing_order(q, seed) for seed in range(6000)])
    found = [np.all(orders == order, axis=1).sum() for order in permutations([0, 1, 3])]
    expected = [np.prod(chances(q[list(order)])) for order in permutations([0, 1, 3])]
    assert stats.chisquare(found, 6000 * np.array(expected)).pvalue > 1e-3


# means


def drawn(values, draws, p, q, **options):
    return mean_of(values, np.asarray(draws), p, q, **options)


@pytest.mark.parametrize("n_draws", [1, 4, 8, 9])
def test_lure_is_that_of_the_paper(n_draws, random):
    """Farquhar, Gal and Rainforth 2021, equation 8, with losses weighted by frequencies."""
    loss, q, p = random.random(9), *random.dirichlet(np.ones(9), 2)
    order = random.permutation(9)[:n_draws]
    n, m = 9, np.arange(1, n_draws + 1)
    v = np.ones(n_draws)
    if n_draws < n:
        v += (n - n_draws) / (n - m) * (1 / ((n - m + 1) * chances(q[order])) - 1)
    found = drawn(loss, order, p, q, all_count=True)
    assert found.value == pytest.approx(np.mean(v * 9 * p[order] * loss[order]), rel=1e-12)


@pytest.mark.parametrize("n_draws", [1, 2, 3, 5])
def test_lure_is_exactly_unbiased(n_draws, random):
    """The expectation over all orders of five queries, with unequal probabilities and p."""
    q, p = random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5))
    loss = random.random(5)
    total = sum(
        np.prod(chances(q[list(order)])) * drawn(loss, order, p, q, all_count=True).value
        for order in permutations(range(5), n_draws)
    )
    assert total == pytest.approx(p @ loss, rel=1e-12)


# simulated campaigns


@pytest.mark.filterwarnings("ignore:budget")
def test_simulation_runs_campaigns_as_the_evaluator_does():
    metric = skrank.metric("dcg", empty=0)
    loss = metric.per_query(data.relevance, SCORES["old"], groups=data.qid)
    budgets = [30.0, 150.0, 1e6]
    start = evaluator()
    runs = simulate(
        loss, start.sampling.probability, budgets, costs=COSTS, moments=start.moments,
        n_campaigns=5, random_state=4,
    )  # fmt: skip
    seeds = np.random.SeedSequence(4).generate_state(5)
    for (number, seed), (column, budget) in product(enumerate(seeds.tolist()), enumerate(budgets)):
        found, place = run(evaluator(budget=budget, random_state=seed)), (number, column)
        assert runs.values[place] == pytest.approx(found.value, rel=1e-9)
        assert runs.standard_errors[place] == pytest.approx(found.standard_error, rel=1e-6)
        assert runs.cautious()[place] == (found.caution is not None)
        assert found.complete or runs.n_typical[place] == found.n_typical
    assert runs.error()[0][-1] < 1e-12  # the whole pool
    assert len(repr(runs)) < 200 < len(runs._repr_html_()) < 1500


def coverage(runs, chosen=True):
    low, high = np.moveaxis(runs.intervals(), 2, 0)
    kept = np.isfinite(low) & chosen
    holds = (low <= runs.truth) & (runs.truth <= high) & kept
    return holds.sum(axis=0) / np.maximum(kept.sum(axis=0), 1)


def uncovered(runs):
    """Share of the campaigns whose interval lacks the mean, without a caution."""
    low, high = np.moveaxis(runs.intervals(), 2, 0)
    misses = (runs.truth < low) | (runs.truth > high)
    return (misses & ~runs.cautious()).mean(axis=0)


@pytest.mark.parametrize("estimator", ["assisted", "lure"])
def test_estimators_cover(estimator, random):
    told, untold = random.standard_normal((2, 100))
    moments = Moments(np.arange(100), np.ones(100), told, told**2, "exact")
    options = {"n_campaigns": 1500, "moments": moments, "estimator": estimator}
    runs = simulate(told + 0.7 * untold, np.full(100, 0.01), [60], **options)
    assert 0.93 < coverage(runs)[0] < 0.975


def test_campaigns_without_a_caution_cover():
    random = np.random.default_rng(8)
    n = 600
    deviation = np.where(random.random(n) < 1 / 3, 0.0, np.exp(random.standard_normal(n)))
    values = deviation * (0.2 + random.standard_normal(n))
    values[random.random(n) < 0.2] = np.nan
    costs = np.exp(random.standard_normal(n))
    wanted = deviation / np.sqrt(costs)
    q = 0.95 * wanted / wanted.sum() + 0.05 / n
    runs = simulate(values, q, np.array([30, 60]) * costs.mean(), costs=costs)
    told = ~runs.cautious()
    assert (told.mean(axis=0) > (0.5, 0.99)).all()
    assert ((coverage(runs, told) > 0.93) & (coverage(runs, told) < 0.98)).all()


def test_campaigns_that_drew_cheap_queries_have_a_caution():
    """Values rise with the cost, and q prefers cheap queries: 30 queries for 20 draws cover .43."""
    random = np.random.default_rng(8)
    costs = np.exp(random.standard_normal(600))
    values = np.log(costs) + 0.5 * random.standard_normal(600)
    q = 1 / np.sqrt(costs)
    q /= q.sum()
    runs = simulate(values, q, np.array([20, 34]) * (q @ costs), costs=costs, n_campaigns=1500)
    many, told = runs.n_counted >= 30, ~runs.cautious()
    assert many[:, 0].mean() > 0.02
    assert coverage(runs, many)[0] < 0.6
    assert not told[:, 0].any()
    assert told[:, 1].mean() > 0.7
    assert 0.93 < coverage(runs, told)[1] < 0.97


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_few_labels_of_skewed_pools_cover_or_have_a_caution(seed):
    """DCG@10 of 60 queries, with a deviation above its mean."""
    random = np.random.default_rng(seed)
    values = random.lognormal(0, 1.2, 60)
    assert values.std() > values.mean()
    runs = simulate(values, np.ones(60), [8, 14, 20, 30], n_campaigns=400)
    assert ((coverage(runs) > 0.92) | (runs.cautious().mean(axis=0) >= [1, 1, 1, 0.6])).all()


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_pools_in_which_most_values_are_equal_have_a_caution(share):
    """Intervals of 30 queries cover .80 and .88 here."""
    random = np.random.default_rng(0)
    values = np.where(random.random(600) < share, random.exponential(size=600), 0.0)
    runs = simulate(values, np.ones(600), [25, 30], n_campaigns=400)
    assert runs.cautious().mean(axis=0).min() > 0.7
    assert uncovered(runs).max() < 0.07


@pytest.mark.parametrize("beliefs", ["uniform", "noisy"])
@pytest.mark.parametrize("task", ["evaluate", "compare"])
def test_the_default_is_not_behind_uniform_draws(task, beliefs, random):
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
    q = distribution(moments, costs)
    options = {"budgets": costs.mean() * np.array([10, 20, 60]), "costs": costs}
    active = simulate(loss, q, moments=moments, n_campaigns=2000, **options).error()[0]
    uniform = simulate(loss, np.ones(300), estimator="lure", n_campaigns=2000, **options).error()[0]
    assert (active < 1.05 * uniform).all()


# intervals, from draws with replacement, of which pulls and shares are known by definition


def weighted(losses, w):
    share = w / w.sum()
    value = share @ losses
    pull, k = share * (losses - value), len(losses)
    return Mean(value, np.sqrt(k / (k - 1) * pull @ pull), k, pull=pull, share=share)


def interval(losses, w=None, confidence=0.95):
    return bootstrap_interval(
        weighted(losses, np.ones(len(losses)) if w is None else w), confidence
    )


@pytest.mark.parametrize("n", [5, 12, 40])
@pytest.mark.parametrize("side", [0, 1])
def test_ends_equal_their_definition(n, side, random):
    losses, w = random.exponential(size=n) - 0.7, random.random(n) + 0.1
    whole = weighted(losses, w)
    end = interval(losses, w)[side]
    moved = losses + (end - whole.value) * w.sum() / n / w
    assert np.average(moved, weights=w) == pytest.approx(end)
    least = min(0.5, n**0.5 / 16) * weighted(moved, w).standard_error
    ratios = []
    for times in np.random.RandomState(n).multinomial(n, np.full(n, 1 / n), size=999):
        again = weighted(np.repeat(moved, times), np.repeat(w, times))
        ratios.append((again.value - end) / max(again.standard_error, least))
    level = 0.025 if side else 0.975
    pull = w * (losses - whole.value)
    kurtosis = stats.kurtosis(np.r_[pull, -pull]) + 6 / (n + 1)  # minus that of normal values
    skewness = np.mean(pull**3) / np.mean(pull**2) ** 1.5
    if (skewness > 0) == (side == 1):  # the end on the side of the long tail
        kurtosis -= 1.5 * (skewness**2 - 6 * (n - 2) / ((n + 1) * (n + 3)))
    factor = 1 + (2 * stats.norm.ppf(level) ** 2 + 1) / 6 * max(kurtosis, 0) / n
    found = factor * np.quantile(ratios, level, method="weibull")
    assert (whole.value - end) / whole.standard_error == pytest.approx(found, rel=1e-3)


@pytest.mark.parametrize(("weights", "least"), [("equal", 0.938), ("unequal", 0.93)])
def test_intervals_of_skewed_values_cover(weights, least):
    """For comparison, Student's intervals of 20 draws cover .91 and .90 here."""
    random, hits = np.random.default_rng(5), 0
    for _ in range(1500):
        x = random.random(20)
        w = np.ones(20) if weights == "equal" else 1 / (0.25 + 1.5 * x)
        losses = random.exponential(size=20) * (0.25 + 1.5 * x if weights == "unequal" else 1.0)
        truth = 1.0 if weights == "equal" else 6 / np.log(7) / 4
        low, high = interval(losses, w)
        hits += low <= truth <= high
    assert least - 0.005 < hits / 1500 < 0.97


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


@pytest.mark.parametrize("n", [3, 6, 30, 150])
@pytest.mark.parametrize("shift", [-2.5, 0.0, 2.5])
def test_the_confidence_is_where_the_interval_reaches_zero(n, shift, random):
    losses = random.exponential(size=n)
    losses += shift * losses.std() / n**0.5 - losses.mean()
    mean = weighted(losses, np.ones(n))
    p_value = 1 - certainty(mean)
    if shift == 0:
        assert p_value > 0.99
        return
    assert min(map(abs, bootstrap_interval(mean, 1 - p_value))) < 1e-6
    low, high = bootstrap_interval(mean, 1 - p_value * 1.05)
    assert (low > 0, high < 0) == (shift > 0, shift < 0)
    low, high = bootstrap_interval(mean, 1 - 0.7 * p_value)
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


@pytest.mark.parametrize("n_rankers", [2, 3, 5])
def test_a_winner_among_equals_is_named_at_most_as_often_as_allowed(n_rankers):
    random = np.random.default_rng(n_rankers)
    enough = contest(random.standard_normal(30)).estimate()  # an estimate without a caution

    def compare(a, b):
        mean = weighted(loss[a] - loss[b], np.ones(30))
        return dataclasses.replace(enough, value=mean.value), certainty(mean)

    named = 0
    for _ in range(600):
        loss = random.standard_normal((n_rankers, 30))
        means = loss.mean(axis=1).tolist()
        found = decide(tuple("abcde"[:n_rankers]), means, compare, 0.95)
        named += found.better is not None
    assert named / 600 < 0.077  # three standard errors above 0.05


def test_progress_ends_with_the_estimate():
    campaign = comparator()
    answer(campaign, campaign.ask(20))
    for options in ({}, {"estimator": "lure"}):
        table = campaign.progress(**options)
        last, found = table.iloc[-1], campaign.estimate(**options)
        assert (len(table), last.cost) == (found.n_queries, campaign.cost)
        assert (last.value, last.low, last.high) == pytest.approx((found.value, *found.interval))


PAIR = ([0.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("function", "arguments", "options", "message"),
    [
        (simulate, [*PAIR, 5], {"costs": [1.0, 0.0]}, r"costs\[1\]=0.0"),
        (simulate, [[1.0, 2.0], [1.0, 0.0], 5], {}, "query 1"),
        (simulate, [*PAIR, np.nan], {}, "budgets="),
    ],
)
def test_bad_input_is_refused(function, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments, **options)
