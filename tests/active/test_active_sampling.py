"""The sampling distribution, estimates from draws with replacement, and simulated campaigns."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skrank
from skrank.active import (
    ActiveEvaluator,
    estimate,
    label_moments,
    sampling_distribution,
    simulate,
)
from skrank.datasets import make_ranking
from tests.helpers.campaigns import COSTS, comparator, contest, evaluator


@pytest.fixture(scope="module")
def world():
    """Values of two rankers, moments under a noisy label model, and costs of a pool of queries."""
    data = make_ranking(600, n_docs=(5, 60), random_state=0)
    random = np.random.default_rng(0)
    # The rankers differ much on a few queries, and little on most.
    change = np.exp(1.5 * random.standard_normal(600) - 1.5)[data.qid]
    scores = [data.X[:, :4].sum(axis=1)]
    scores.append(scores[0] + change * random.standard_normal(len(data.qid)))
    belief = 0.6 * np.eye(5)[data.relevance] + 0.4 * random.dirichlet([1.0] * 5, len(data.qid))
    values = [
        skrank.metric("dcg", empty=0).per_query(data.relevance, s, groups=data.qid).to_numpy()
        for s in scores
    ]
    options = {"label_model": belief}
    return {
        "one": label_moments("dcg", scores[0], data.qid, **options),
        "two": label_moments("dcg", scores[0], data.qid, other=scores[1], **options),
        "values": values[0],
        "differences": values[0] - values[1],
        "costs": np.bincount(data.qid).astype(float),
    }


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


def test_estimate_is_the_formula():
    random = np.random.default_rng(3)
    loss, w = random.random(20), random.random(20) + 0.1
    found = estimate(loss, w, confidence=0.9)
    mean = np.average(loss, weights=w)
    error = np.sqrt(20 / 19 * np.sum(w**2 * (loss - mean) ** 2)) / w.sum()
    assert found.value == pytest.approx(mean)
    assert found.standard_error == pytest.approx(error)
    assert found.effective_sample_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert (found.n_draws, found.n_counted, found.n_queries) == (20, 20, 20)


def test_series_are_matched_by_query_and_repeats_count_again():
    weights = pd.Series([1.0, 3.0, 1.0], index=["b", "a", "b"])
    losses = pd.Series([0.4, 0.2, 9.0], index=["a", "b", "never drawn"])
    found = estimate(losses, weights)
    assert found.value == pytest.approx((2 * 0.2 + 3 * 0.4) / 5)
    assert (found.n_draws, found.n_queries) == (3, 2)
    with pytest.raises(ValueError, match="query 'a' was drawn and has no value"):
        estimate(losses.drop("a"), weights)
    with pytest.raises(ValueError, match="several values for query 'a'"):
        estimate(pd.concat([losses, losses[:1]]), weights)
    with pytest.raises(ValueError, match="weights is a Series by query"):
        estimate([1.0, 2.0, 3.0], weights)


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        ([0.1, 0.2, 0.3], {"weights": [1.0, 2.0]}, "2 weights for 3 losses"),
        ([0.1, 0.2, 0.3], {"weights": [1.0, 0.0, 1.0]}, "weight of draw 1 is 0.0"),
        ([0.1, 0.2, 0.3], {"weights": [1.0, np.nan, 1.0]}, "weight of draw 1 is nan"),
        ([0.1, 0.2, 0.3], {"weights": [1, 1e-200, 1]}, r"from 1e-200 to 1\.0.*Leave out the draws"),
        ([0.1, -1e200, 0.3], {}, r"value of draw 1 is -1e\+200.*Scale"),
        ([1, 0], {"metric": "err"}, "needs scores"),
        ([1, 0], {"metric": "err", "scores": []}, "scores is empty"),
    ],
)
def test_bad_input_of_estimates_is_refused(losses, options, message):
    with pytest.raises(ValueError, match=message):
        estimate(losses, **options)


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


@pytest.mark.parametrize("losses", [[0.2], [0.2, 0.2, 0.2], [0.0, 0.0]])
def test_no_decision_from_an_unknown_error(losses):
    found = concluded(losses, 0.95)
    assert (found.better, found.confidence) == (None, 0.0)
    assert found.candidates == ("old", "new")


def test_no_decision_where_no_query_counts():
    campaign = comparator(metric="ap")
    for request in campaign.ask(2):
        campaign.tell(request, np.zeros(len(request)))
    found = campaign.decision()
    assert (found.better, found.leader, found.confidence) == (None, None, 0.0)


# simulated campaigns


def design(world, which):
    q = sampling_distribution(world["one" if which == "values" else "two"], costs=world["costs"])
    return world[which], q


def test_estimator_is_consistent(world):
    """Error and bias decrease like ``budget ** -0.5``."""
    loss, q = design(world, "differences")
    budgets = world["costs"].mean() * np.array([100, 400, 1600])
    # copies of the pool, so that queries are hardly drawn twice
    copies = [np.tile(part, 40) for part in (loss, q / 40, world["costs"])]
    runs = simulate(copies[0], copies[1], budgets, costs=copies[2], n_campaigns=2000)
    error, _ = runs.error()
    np.testing.assert_allclose(error[:-1] / error[1:], 2, rtol=0.1)
    bias = np.abs(np.mean(runs.values - runs.truth, axis=0))
    assert (bias < 0.08 * error).all()  # three standard errors of the mean are 0.067


def test_active_campaigns_beat_passive_ones_as_predicted(world):
    costs = world["costs"]
    p = np.full(len(costs), 1 / len(costs))
    loss, q = design(world, "differences")
    budget = costs.mean() * 60
    active, passive = (
        simulate(loss, way, budget, costs=costs, n_campaigns=1500).error()[0][0] for way in (q, p)
    )
    ratio = np.divide(*(predicted_variance(way, world["two"], costs, p) for way in (q, p)))
    assert ratio < 0.7
    assert (active / passive) ** 2 == pytest.approx(ratio, rel=0.35)


@pytest.mark.filterwarnings("ignore::skrank.active.BudgetWarning")
def test_simulation_runs_campaigns_as_the_evaluator_does():
    data = make_ranking(60, n_docs=(2, 12), random_state=2)
    scores = data.X[:, 0]
    loss = skrank.metric("dcg", empty=0).per_query(data.relevance, scores, groups=data.qid)
    costs = np.bincount(data.qid).astype(float)
    budgets = [30.0, 150.0, 1e6]
    options = {"metric": "dcg", "grades": range(5)}
    start = ActiveEvaluator(scores, data.qid, random_state=0, **options)
    runs = simulate(
        loss, start.sampling.probability, budgets, costs=costs, moments=start.moments,
        n_campaigns=5, random_state=4,
    )  # fmt: skip
    seeds = np.random.SeedSequence(4).generate_state(5)
    for number, seed in enumerate(seeds.tolist()):
        for column, budget in enumerate(budgets):
            campaign = ActiveEvaluator(
                scores, data.qid, budget=budget, random_state=seed, **options
            )
            for request in campaign.ask(1000):
                campaign.tell(request, data.relevance[request.rows])
            found = campaign.estimate()
            assert runs.values[number, column] == pytest.approx(found.value, rel=1e-9)
            assert runs.standard_errors[number, column] == pytest.approx(
                found.standard_error, rel=1e-6
            )
            assert runs.cautious()[number, column] == (found.caution is not None)
            assert found.complete or runs.n_typical[number, column] == found.n_typical
    assert runs.error()[0][-1] < 1e-12  # the whole pool


def test_wrong_signs_are_counted():
    runs = simulate([1.0, 1.0, -1.0], [0.2, 0.2, 0.6], 1, n_campaigns=4000)
    share, error = runs.wrong_sign()
    assert share[0] == pytest.approx(0.6, abs=4 * error[0])


# invalid frequencies, costs and budgets


@pytest.fixture
def moments():
    return label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])


def test_counts_as_frequencies_are_made_shares(moments):
    for mixing in (0.05, 1.0):
        shares = sampling_distribution(moments, frequencies=[0.9, 0.1], mixing=mixing)
        counts = sampling_distribution(moments, frequencies=[900, 100], mixing=mixing)
        np.testing.assert_allclose(counts, shares, rtol=1e-14)
    assert sampling_distribution(moments, frequencies=[1e308, 1e308]).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": [1.0, 0.0]}, r"costs\[1\]=0.0"),
        ({"costs": [-1.0, 1.0]}, r"costs\[0\]=-1.0"),
        ({"costs": [np.nan, 1.0]}, r"costs\[0\]=nan"),
        ({"costs": [1.0]}, "one entry per query"),
        ({"frequencies": [1.0, -1.0]}, r"frequencies\[1\]=-1.0"),
        ({"frequencies": [0.0, 0.0]}, "all frequencies are 0"),
        ({"frequencies": [np.inf, 1.0]}, r"frequencies\[0\]=inf"),
        ({"center": np.nan}, "center=nan"),
        ({"center": np.inf}, "center=inf"),
    ],
)
def test_bad_costs_frequencies_and_centres_are_refused(moments, options, message):
    with pytest.raises(ValueError, match=message):
        sampling_distribution(moments, **options)
    if "center" not in options:
        with pytest.raises(ValueError, match=message):
            simulate([1.0, 2.0], [0.5, 0.5], 5, **options)


def test_simulations_take_counts_as_shares():
    counts, shares = (
        simulate([0.0, 1.0, 0.5], q, 2, frequencies=p, n_campaigns=20)
        for q, p in (([30, 30, 30], [2, 1, 1]), (np.full(3, 1 / 3), [0.5, 0.25, 0.25]))
    )
    np.testing.assert_allclose(counts.values, shares.values)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1.0, 2.0], [1.0, 0.0], 5), {}, "q is 0 for query 1"),
        (([1.0, 2.0], [1.0], 5), {}, "one entry per query"),
        (([0.5, 1e200], [0.5, 0.5], 1), {}, r"values\[1\]=.*Scale the values down"),
        (([0.5, np.inf], [0.5, 0.5], 1), {}, r"values\[1\]=.*Scale the values down"),
        (([0.0, 1.0], [0.5, 0.5], 0), {}, "must be positive numbers"),
        (([0.0, 1.0], [0.5, 0.5], np.nan), {}, "must be positive numbers"),
        (([0.0, 1.0], [0.5, 0.5], 1), {"n_campaigns": 0}, "n_campaigns=0"),
    ],
)
def test_bad_input_of_simulations_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        simulate(*arguments, **options)


@pytest.mark.parametrize("budgets", [3, [1, 1e9]])
def test_queries_that_are_hardly_ever_drawn(budgets):
    with pytest.raises(ValueError, match="16777216 draws, some queries are not drawn yet"):
        simulate([0.0, 1.0, 0.5], [1, 1, 1e-14], budgets, n_campaigns=1)
