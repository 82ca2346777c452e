"""The sampling distribution, means of drawn queries, and simulated campaigns."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skrank
from skrank.active import Moments, estimate, label_moments, sampling_distribution, simulate
from skrank.active._evaluators import decide
from skrank.active._intervals import certainty
from skrank.active._means import Known, _slope, importance_mean, mean_of
from skrank.datasets import make_ranking
from tests.helpers.campaigns import COSTS, SCORES, comparator, contest, data, evaluator, run


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
    q = sampling_distribution(moments, costs=costs, frequencies=p, mixing=0)
    best = predicted_variance(q, moments, costs, p)
    for size in np.repeat([1e-3, 1e-2, 0.1, 1.0], 250):
        other = q * np.exp(size * random.standard_normal(len(q)))
        other /= other.sum()
        assert predicted_variance(other, moments, costs, p) >= best * (1 - 1e-12)
    for other in (p, np.full(len(q), 1 / len(q))):
        assert predicted_variance(other, moments, costs, p) > best


def test_the_predicted_cost_ratio_is_that_of_predicted_variances():
    campaign = comparator()
    q, p, costs = (campaign.sampling[name] for name in ("probability", "frequency", "cost"))
    active, uniform = (predicted_variance(x, campaign.moments, costs, p) for x in (q, p))
    assert campaign.predicted_cost_ratio == pytest.approx(active / uniform)


@pytest.mark.parametrize("mixing", [0.02, 0.05, 0.5, 1.0])
def test_mixing_bounds_the_weights(world, mixing):
    q = sampling_distribution(world["two"], costs=world["costs"], mixing=mixing)
    weights = 1 / len(q) / q
    assert q.sum() == pytest.approx(1)
    assert weights.max() <= 1 / mixing * (1 + 1e-12)


@pytest.mark.parametrize(("n_drawn", "mixing"), [(99, 0.8), (100, 0.3)])
def test_small_pools_trust_the_label_model_less(world, n_drawn, mixing):
    frequencies = np.where(np.arange(600) < n_drawn, 1.0, 0.0)
    default, same = (
        sampling_distribution(world["two"], frequencies=frequencies, mixing=mixing)
        for mixing in (None, mixing)
    )
    np.testing.assert_array_equal(default, same)


def test_no_mixing_is_refused_where_the_model_is_certain():
    certain = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    moments = label_moments("dcg", [1, 1, 1], ["a", "b", "c"], label_model=certain)
    sampling_distribution(moments, mixing=0)  # every query differs from the mean
    constant = label_moments("dcg", [1, 1, 1], ["a", "b", "c"], label_model=certain[[0, 0, 0]])
    np.testing.assert_allclose(sampling_distribution(constant, mixing=0), 1 / 3)
    with pytest.raises(ValueError, match=r"leaves out query a and 1 more.*Use mixing"):
        sampling_distribution(moments, mixing=0, center=1.0)


def test_draws_follow_q_and_are_the_same_whatever_the_steps():
    asked = {query: float(query != 4) for query in range(60)}
    one, other = evaluator(frequencies=asked), evaluator(frequencies=asked)
    for n in (1, 5, 3000):
        other.draws(n)
    drawn = one.draws(40_000)
    assert drawn.equals(other.draws(40_000))
    q, counts = one.sampling.probability, drawn.groupby(level="qid").size()
    assert 4 not in counts
    assert stats.chisquare(counts, 40_000 * q[q > 0]).pvalue > 1e-3
    np.testing.assert_allclose(drawn, (one.sampling.frequency / q)[drawn.index])


def test_repeated_queries_are_free():
    campaign = evaluator(budget=200)
    weights = campaign.draws()
    assert weights.index.has_duplicates
    assert COSTS[weights.index.unique()].sum() <= 200
    assert COSTS[campaign.draws(len(weights) + 1).index.unique()].sum() > 200


# the estimator


def test_series_are_matched_by_query_and_repeats_count_again(random):
    weights = pd.Series([1.0, 3.0, 1.0], index=["b", "a", "b"])
    losses = pd.Series([0.4, 0.2, 9.0], index=["a", "b", "never drawn"])
    found = estimate(losses, weights)
    assert found.value == pytest.approx((2 * 0.2 + 3 * 0.4) / 5)
    assert (found.n_draws, found.n_queries) == (3, 2)
    twice = pd.Series(1.0, index=[*range(29), 0])
    assert "only 29 queries count" in estimate(pd.Series(random.random(29)), twice).caution
    with pytest.raises(ValueError, match="query 'a' was drawn and has no value"):
        estimate(losses.drop("a"), weights)
    with pytest.raises(ValueError, match="several values for query 'a'"):
        estimate(pd.concat([losses, losses[:1]]), weights)
    with pytest.raises(ValueError, match="weights is a Series by query"):
        estimate([1.0, 2.0, 3.0], weights)


def concluded(losses, confidence):
    return contest(losses).decision(confidence, estimator="importance")


def test_decision_is_a_two_sided_test():
    loss = np.array([0.3, -0.1, 0.4, 0.2, 0.1, -0.05, 0.35, 0.15, 0.25, 0.0])
    loss = np.concatenate([loss, 0.8 * loss, 0.9 * loss])
    loss = np.concatenate([loss, 2 * loss.mean() - loss])
    found = concluded(loss, 0.95)
    pvalue = 1 - found.confidence
    assert 1.4 * stats.ttest_1samp(loss, 0).pvalue < pvalue < 0.01
    assert (found.leader, found.better, found.candidates) == ("old", "old", ("old",))
    assert concluded(-loss, 0.95).better == "new"
    unsure = concluded(loss, 1 - pvalue * 0.99)
    assert (unsure.better, unsure.candidates) == (None, ("old", "new"))
    assert concluded(loss, 1 - pvalue * 1.01).better == "old"


def test_no_decision_under_a_caution():
    few = concluded(np.r_[0.9, np.full(27, 1.0), 1.1], 0.95)
    assert few.confidence > 0.999
    assert "only 29 queries" in few.difference.caution
    assert (few.better, few.leader, few.candidates) == (None, "old", ("old", "new"))
    assert concluded(np.r_[0.9, np.full(28, 1.0), 1.1], 0.95).better == "old"


def test_no_decision_from_an_unknown_error_or_where_no_query_counts():
    for losses in ([0.2], [0.2, 0.2, 0.2], [0.0, 0.0]):
        found = concluded(losses, 0.95)
        assert (found.better, found.confidence) == (None, 0.0)
        assert found.candidates == ("old", "new")
    campaign = comparator(metric="ap")
    for request in campaign.ask(2):
        campaign.tell(request, np.zeros(len(request)))
    found = campaign.decision()
    assert (found.better, found.leader, found.confidence) == (None, None, 0.0)


@pytest.mark.filterwarnings("ignore::skrank.active.BudgetWarning")
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
    signs = simulate([1.0, 1.0, -1.0], [0.2, 0.2, 0.6], 1, n_campaigns=4000)
    share, error = signs.wrong_sign()
    assert share[0] == pytest.approx(0.6, abs=4 * error[0])


# means of draws without replacement

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
        for order in permutations(range(5), n_draws)
    )
    assert total == pytest.approx(p @ loss, rel=1e-12)


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


@pytest.mark.parametrize("factor", [2.0**-1000, 2.0**-3, 2.0**900, 2.0**1020])
def test_a_factor_of_all_weights_changes_nothing(factor, random):
    losses, weights = random.random(30), 0.5 + random.random(30)
    assert estimate(losses, factor * weights) == estimate(losses, weights)


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


@pytest.mark.parametrize("mixing", [0.05, 1.0])
def test_counts_as_frequencies_are_made_shares(mixing):
    for shares, counts in (([0.9, 0.1], [900, 100]), ([0.5, 0.5], [1e308, 1e308])):
        q, same = (
            sampling_distribution(MOMENTS, frequencies=p, mixing=mixing) for p in (shares, counts)
        )
        np.testing.assert_allclose(same, q, rtol=1e-14)
        runs, again = (
            simulate([0.0, 1.0], factor * q, 1, frequencies=p, n_campaigns=20)
            for factor, p in ((1, shares), (30, counts))
        )
        np.testing.assert_allclose(again.values, runs.values)


MOMENTS = label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])
RARE = "16777216 draws, some queries are not drawn yet"
LOSSES, PAIR = [0.1, 0.2, 0.3], ([0.0, 1.0], [0.5, 0.5])
REFUSED = [
    (estimate, [LOSSES, [1.0, 2.0]], {}, "2 weights for 3 losses"),
    (estimate, [LOSSES, [1.0, 0.0, 1.0]], {}, "weight of draw 1 is 0.0"),
    (estimate, [LOSSES, [1.0, np.nan, 1.0]], {}, "weight of draw 1 is nan"),
    (estimate, [LOSSES, [1, 1e-200, 1]], {}, r"from 1e-200 to 1\.0.*Leave out the draws"),
    (estimate, [[0.1, -1e200, 0.3]], {}, r"value of draw 1 is -1e\+200.*Scale"),
    (estimate, [[1, 0]], {"metric": "err"}, "needs scores"),
    (estimate, [[1, 0]], {"metric": "err", "scores": []}, "scores is empty"),
    (sampling_distribution, [MOMENTS], {"center": np.nan}, "center=nan"),
    (sampling_distribution, [MOMENTS], {"center": np.inf}, "center=inf"),
    (simulate, [[1.0, 2.0], [1.0, 0.0], 5], {}, "q is 0 for query 1"),
    (simulate, [[1.0, 2.0], [1.0], 5], {}, "one entry per query"),
    (simulate, [[0.5, np.inf], [0.5, 0.5], 1], {}, r"values\[1\]=.*Scale the values down"),
    (simulate, [*PAIR, 0], {}, "must be positive numbers"),
    (simulate, [*PAIR, np.nan], {}, "must be positive numbers"),
    (simulate, [*PAIR, 1], {"n_campaigns": 0}, "n_campaigns=0"),
    *[
        (simulate, [[0.0, 1.0, 0.5], [1, 1, 1e-14], budgets], {"n_campaigns": 1}, RARE)
        for budgets in (3, [1, 1e9])
    ],
    *[
        (function, arguments, options, message)
        for function, arguments in ((sampling_distribution, [MOMENTS]), (simulate, [*PAIR, 5]))
        for options, message in [
            ({"costs": [1.0, 0.0]}, r"costs\[1\]=0.0"),
            ({"costs": [np.nan, 1.0]}, r"costs\[0\]=nan"),
            ({"costs": [1.0]}, "one entry per query"),
            ({"frequencies": [1.0, -1.0]}, r"frequencies\[1\]=-1.0"),
            ({"frequencies": [0.0, 0.0]}, "all frequencies are 0"),
            ({"frequencies": [np.inf, 1.0]}, r"frequencies\[0\]=inf"),
        ]
    ],
]


@pytest.mark.parametrize(("function", "arguments", "options", "message"), REFUSED)
def test_bad_input_is_refused(function, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments, **options)
