"""More than two rankers, known labels, and small budgets."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import skrank
from skrank.active import ActiveEvaluator, BudgetWarning
from skrank.plotting import CampaignDisplay
from tests.helpers.campaigns import SCORES, answer, comparator, data, evaluator, run

THREE = SCORES | {"truth": data.relevance + 0.0}

# more than two


def test_the_best_of_three_is_found_and_named():
    campaign = comparator(scores=THREE, metric="ndcg", n_label_draws=20)
    answer(campaign, campaign.ask(20))
    assert campaign.decision().better is None  # too few queries: estimates have a caution
    answer(campaign, campaign.ask(20))
    found = campaign.decision()
    assert (found.better, found.leader, found.candidates) == ("truth", "truth", ("truth",))
    assert found.difference.interval[0] > 0
    rivals = [campaign.estimate(between=("truth", name)) for name in SCORES]
    assert found.difference in rivals
    complete = run(campaign)
    means = [skrank.metric("ndcg")(data.relevance, s, groups=data.qid) for s in THREE.values()]
    assert complete.value == pytest.approx(means[0] - means[1])
    assert campaign.estimate(between=("new", "truth")).value == pytest.approx(means[1] - means[2])
    assert campaign.decision().confidence == 1
    assert [e.value for e in campaign.values().values()] == pytest.approx(means)


def test_pairs_are_named_and_must_exist():
    campaign = comparator(scores=list(THREE.values()))
    assert campaign.names == ("ranker 1", "ranker 2", "ranker 3")
    assert comparator(scores=list(SCORES.values())).names == ("first", "second")
    with pytest.raises(ValueError, match="did you mean 'ranker "):
        campaign.estimate(between=("ranker", "ranker 2"))
    with pytest.raises(ValueError, match="must be two different names"):
        campaign.estimate(between=("ranker 2", "ranker 2"))


def test_queries_where_any_two_rankers_differ_are_drawn():
    """The first two rankers are equal, so q depends on the third ranker."""
    twice = {"a": SCORES["old"], "b": SCORES["old"] + 0.0, "c": SCORES["new"]}
    pair = comparator(scores={"a": SCORES["old"], "c": SCORES["new"]}, center=0.0)
    np.testing.assert_allclose(
        comparator(scores=twice, center=0.0).sampling.probability, pair.sampling.probability
    )
    assert 0 < comparator(scores=THREE).predicted_cost_ratio < 1


# labels that exist


def known_labels(queries):
    return np.where(np.isin(data.qid, queries), data.relevance, np.nan)


@pytest.mark.parametrize("estimator", ["importance", "assisted", "lure"])
def test_known_labels_are_not_asked_and_are_in_the_estimate(estimator):
    labels = known_labels(np.arange(20))
    campaign = evaluator(metric="ndcg", labels=labels, n_label_draws=30)
    assert (campaign.sampling.probability[:20] == 0).all()
    assert (campaign.sampling.cost[:20] == 0).all()
    requests = campaign.ask(100)
    assert {request.query for request in requests} == set(range(20, 60))
    answer(campaign, requests[:12])
    part = campaign.estimate(estimator=estimator)
    low, high = campaign.estimate(estimator=estimator, anytime=True).interval
    truth = skrank.metric("ndcg")(data.relevance, SCORES["old"], groups=data.qid)
    assert low <= truth <= high
    assert abs(part.value - truth) < 4 * part.standard_error
    answer(campaign, requests[12:])
    assert campaign.estimate(estimator=estimator).value == pytest.approx(truth)


def test_known_labels_of_single_documents_are_not_asked():
    labels = np.where(np.arange(len(data.qid)) % 2, data.relevance, np.nan)
    campaign = evaluator(labels=labels, costs=np.full(len(data.qid), 2.0))
    requests = campaign.ask(100)
    assert all((request.rows % 2 == 0).all() for request in requests)
    assert all(request.cost == 2 * len(request) for request in requests)
    answer(campaign, requests)
    exact = skrank.metric("dcg", empty=0)(data.relevance, SCORES["old"], groups=data.qid)
    assert campaign.estimate().value == pytest.approx(exact)
    np.testing.assert_array_equal(campaign.labels, data.relevance)


def test_a_campaign_starts_from_the_labels_of_another(tmp_path):
    first = evaluator(budget=150)
    run(first)
    labels = first.labels
    labels[::7] = data.relevance[::7]
    second = ActiveEvaluator(
        SCORES["new"], data.qid, metric="err", grades=range(5), labels=labels, random_state=1
    )
    told = [query for query in range(60) if not np.isnan(first.labels[data.qid == query]).any()]
    assert not second.sampling.probability[told].any()
    answer(second, second.ask(5))
    second.save(tmp_path / "second.npz")
    again = ActiveEvaluator.load(tmp_path / "second.npz")
    assert again.estimate() == second.estimate()
    np.testing.assert_array_equal(again.labels, second.labels)


# small budgets


def test_a_budget_below_typical_costs_warns_before_labels_are_bought():
    with pytest.warns(BudgetWarning, match=r"budget=12 is small: a draw costs .* on average"):
        evaluator(budget=12)
    dear = dict.fromkeys(range(60), 1.0) | dict.fromkeys(range(20), 50.0)
    with pytest.warns(BudgetWarning, match="of draws cost more than the whole budget"):
        evaluator(budget=40, costs=dear, cost_aware=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluator(budget=60)


@pytest.mark.filterwarnings("ignore::skrank.active.BudgetWarning")
def test_estimate_reports_a_budget_below_the_first_draw():
    seeds = (evaluator(budget=4, random_state=seed) for seed in range(50))
    campaign = next(one for one in seeds if one.next_query() is None)
    with pytest.raises(ValueError, match=r"budget of 4 does not pay for query .* Raise campaign"):
        campaign.estimate()
    campaign.budget = 100
    assert campaign.next_query() is not None


def test_display_shows_the_campaign():
    campaign = comparator(budget=200)
    answer(campaign, campaign.ask(15))
    display, found = CampaignDisplay.from_campaign(campaign, color="red"), campaign.estimate()
    assert display.line_.get_xydata()[-1].tolist() == [campaign.cost, found.value]
    assert display.line_.get_color() == "red"
    assert display.ax_.get_ylabel() == "err(empty=0): old less new"
    low, high = display.ax_.get_ylim()
    assert low < found.interval[0] < found.interval[1] < high
    assert display.plot(display.ax_).ax_ is display.ax_
    plt.close(display.figure_)
    with pytest.raises(ValueError, match="no labels to estimate from yet"):
        CampaignDisplay.from_campaign(evaluator())
