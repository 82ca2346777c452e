"""Campaigns: asking, telling, known labels, budgets, decisions and errors of use."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank.active import ActiveComparator, ActiveEvaluator, Design
from tests.helpers.campaigns import COSTS, SCORES, answer, both, comparator, data, evaluator, run


@both
def test_the_budget_is_never_exceeded_and_ends_at_the_draw_that_does_not_fit(make):
    for seed in range(4):
        campaign = make(budget=100, random_state=seed)
        run(campaign)
        cost = campaign.cost
        assert cost <= 100
        campaign.budget = None
        asked = [*campaign.progress()["qid"], *(request.query for request in campaign.ask(60))]
        paid = np.cumsum([COSTS[query] for query in asked])
        assert len(asked) == 60
        assert cost == paid[paid <= 100][-1]  # in the order of the draws, without skips


@both
def test_the_number_of_queries_is_a_limit_that_can_be_raised(make):
    campaign = make(n_queries=30)
    found = run(campaign)
    assert found.n_queries == 30
    assert found.n_typical == found.n_counted  # costs do not limit the draws
    loaded = pickle.loads(pickle.dumps(campaign))
    assert loaded.next_query() is None
    loaded.n_queries = 31
    assert loaded.next_query() is not None
    assert len(make(n_queries=30, budget=100).ask(60)) < 30


def test_grades_follow_known_labels_or_are_0_to_4_with_a_warning():
    scores, query = [2.0, 1, 2, 1], [0, 0, 1, 1]
    with pytest.warns(UserWarning, match="grades 0 to 4 are assumed"):
        campaign = ActiveEvaluator(scores, query, metric="dcg")
    campaign.tell(campaign.next_query(), [4, 0])
    design = Design(labels=[3, 0, np.nan, np.nan])
    campaign = ActiveEvaluator(scores, query, metric="dcg", design=design)
    with pytest.raises(ValueError, match="4 is not"):
        campaign.tell(campaign.next_query(), [4, 0])
    campaign.tell(campaign.next_query(), [2, 0])


def test_asking_again_gives_the_same_queries_until_they_are_labelled():
    campaign = evaluator()
    first = campaign.next_query()
    assert campaign.next_query().query == first.query
    three = campaign.ask(3)
    assert three[0].query == first.query
    assert len({request.query for request in three}) == 3
    answer(campaign, three[1:2])
    assert [r.query for r in campaign.ask(2)] == [three[0].query, three[2].query]


@pytest.mark.parametrize(
    "name",
    ["dcg", "dcg@3", "ap", "ap(empty=0)", "gap", "ndcg@5", "q", "rbp(p=0.5)", "recall@3", "judged"],
)
def test_the_value_of_a_pool_that_is_labelled_is_exact(name):
    """Metrics that are not normalised (DCG, RBP) count queries without a relevant document."""
    campaign = evaluator(metric=name, n_label_draws=20)
    metric = skrank.metric(name, max_grade=4) if name == "gap" else skrank.metric(name)
    if name.startswith(("dcg", "rbp")):
        metric = dataclasses.replace(metric, empty=0)
    assert str(campaign.metric) == str(metric).replace("gap(max_grade=4)", "gap")
    found = run(campaign)
    exact = metric(data.relevance, SCORES["old"], groups=data.qid)
    assert found.value == pytest.approx(exact, rel=1e-12)
    assert (found.standard_error, found.interval) == (0, (found.value, found.value))
    assert found.complete
    assert found.n_queries == 60
    assert campaign.cost == found.cost <= len(data.qid)
    assert (campaign.cost < len(data.qid)) == name.startswith("dcg@")


@pytest.mark.parametrize(
    ("scores", "metric", "rows"),
    [
        ([[3.0, 2, 1, 0], [0.0, 1, 3, 2]], "dcg@1", [0, 2]),
        ([[1.0, 1, 0, 2]], "dcg@2", [0, 1, 3]),  # two documents are tied at rank 2
        ([[1.0, -np.inf]], "dcg", [0]),
        ([[1.0, -np.inf]], "ap@1", [0, 1]),  # AP counts all relevant documents
    ],
)
def test_only_documents_that_can_change_the_value_are_asked(scores, metric, rows):
    kind, scores = (ActiveComparator, scores) if len(scores) > 1 else (ActiveEvaluator, scores[0])
    query, design = np.zeros(np.shape(scores)[-1]), Design(grades=[0, 1])
    campaign = kind(scores, query, metric=metric, design=design)
    assert campaign.next_query().rows.tolist() == rows


def test_frequencies_weight_the_mean():
    asked = {query: float(query % 3) for query in range(60)}
    campaign = evaluator(frequencies=asked, budget=400)
    drawn = {request.query for request in campaign.ask(1000)}
    assert not any(query % 3 == 0 for query in drawn)
    found = run(evaluator(frequencies=asked))
    metric = skrank.metric("dcg", empty=0)
    per_query = metric.per_query(data.relevance, SCORES["old"], groups=data.qid)
    weights = [asked[query] for query in per_query.index]
    assert found.value == pytest.approx(np.average(per_query, weights=weights))


def test_labels_out_of_order_wait_for_the_draws_before_them():
    campaign, straight = evaluator(), evaluator()
    requests = campaign.ask(6)
    answer(campaign, requests[1:])
    with pytest.raises(ValueError, match=f"query {requests[0].query} .*5"):
        campaign.estimate()
    answer(campaign, requests[:1])
    answer(straight, straight.ask(6))
    assert campaign.estimate() == straight.estimate()
    more = campaign.ask(3)
    answer(campaign, more[1:])
    assert campaign.estimate().n_waiting == 2
    assert campaign.estimate().value == straight.estimate().value


THREE = SCORES | {"truth": data.relevance + 0.0}


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


def test_equal_rankers_of_a_labelled_pool_have_no_leader():
    scores = {"worst": -THREE["truth"], "one": THREE["truth"], "other": THREE["truth"]}
    campaign = comparator(scores=scores, metric="dcg@5", n_queries=100)
    assert "of 60 queries" in repr(campaign)
    run(campaign)
    found = campaign.decision()
    assert (found.better, found.leader, found.confidence) == (None, None, 0)
    assert found.candidates == ("one", "other")


@pytest.mark.parametrize("estimator", ["assisted", "lure"])
def test_known_labels_are_not_asked_and_are_in_the_estimate(estimator):
    labels = np.where(data.qid < 20, data.relevance, np.nan)
    campaign = evaluator(metric="ndcg", labels=labels, n_label_draws=30)
    assert (campaign.sampling.probability[:20] == 0).all()
    assert (campaign.sampling.cost[:20] == 0).all()
    requests = campaign.ask(100)
    assert {request.query for request in requests} == set(range(20, 60))
    answer(campaign, requests[:12])
    part = campaign.estimate(estimator=estimator)
    low, high = campaign.estimate(0.999, estimator=estimator).interval
    truth = skrank.metric("ndcg")(data.relevance, SCORES["old"], groups=data.qid)
    assert low <= truth <= high
    assert abs(part.value - truth) < 4 * part.standard_error
    answer(campaign, requests[12:])
    assert campaign.estimate(estimator=estimator).value == pytest.approx(truth)


def test_known_labels_alone_may_make_the_mean():
    design = Design(grades=[0, 1], labels=[1, 0, np.nan, np.nan])
    campaign = ActiveEvaluator([2.0, 1, 2, 1], [0, 0, 1, 1], metric="ap", design=design)
    campaign.tell(campaign.next_query(), [0, 0])
    found = campaign.estimate()
    assert (found.value, found.complete, found.caution) == (1, True, None)


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


def test_a_budget_below_typical_costs_warns_before_labels_are_bought():
    with pytest.warns(UserWarning, match="budget=4"):
        campaigns = [evaluator(budget=4, random_state=seed) for seed in range(20)]
    campaign = next(campaign for campaign in campaigns if campaign.next_query() is None)
    with pytest.raises(ValueError, match="budget"):
        campaign.estimate()
    campaign.budget = 100
    assert campaign.next_query() is not None


# errors

BACKWARDS = range(len(data.qid))[::-1]


def test_wrong_labels_raise_and_leave_the_campaign_unchanged():
    campaign = evaluator(items=[f"d{i}" for i in range(len(data.qid))])
    first, second, third = campaign.ask(3)
    answer(campaign, [first, third])
    before = campaign.estimate()
    labels = data.relevance[second.rows].astype(float)
    named = dict(zip(second.items.tolist(), labels, strict=True))
    wrong = [
        ("no such query", labels, "'no such query'"),
        (str(second.query), labels, f"but {second.query} was"),
        (second.query, pd.Series(labels, index=second.items[0] + second.items), "not its items"),
        (second.query, labels[:-1], "labels of query"),
        (second.query, [*labels[:-1], 7], "labels of query .* 7 "),
        (second.query, [*labels[:-1], np.nan], "labels of query .* nan"),
        (second.query, named | {"d-1": 0}, "item 'd-1'"),
        (second.query, {k: v for k, v in named.items() if k != second.items[0]}, "has no label"),
        (first.query, 4 - data.relevance[first.rows], "replace=True"),
    ]
    for query, bad, message in wrong:
        with pytest.raises(ValueError, match=message):
            campaign.tell(query, bad)
        assert campaign.estimate() == before
        assert [r.query for r in campaign.waiting] == [second.query]
    unasked = next(q for q in range(60) if q not in {first.query, second.query, third.query})
    with pytest.raises(ValueError, match=f"query {unasked} was not asked"):
        campaign.tell(unasked, np.zeros(int(COSTS[unasked])))
    campaign.tell(first.query, data.relevance[first.rows])  # the same labels again are accepted
    by_item = pd.Series(data.relevance[first.rows], index=first.items)
    campaign.tell(first.query, by_item[::-1])  # a Series is read by its index
    assert campaign.estimate() == before
    campaign.tell(second, named)
    straight = evaluator()
    answer(straight, straight.ask(3))
    assert campaign.estimate() == straight.estimate()
    campaign.tell(first.query, 4 - data.relevance[first.rows], replace=True)
    assert campaign.estimate() != straight.estimate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget=0"),
        ({"n_queries": 0}, "n_queries=0"),
        ({"costs": np.zeros(len(data.qid))}, r"costs\[0\]"),
        ({"costs": 1.0}, "costs"),
        ({"scores": {"q": {"d": 1.0}}}, "scores"),
        ({"items": np.zeros(len(data.qid))}, "item 0.0 .* query 0"),
        ({"scores": np.full(len(data.qid), -np.inf)}, "query"),
        ({"labels": np.full(len(data.qid), 7.0)}, "label 7 of row 0"),
        ({"labels": data.relevance}, "label"),
        ({"center": 1e200}, "center="),
        ({"n_label_draws": 0}, "n_label_draws=0"),
        *(
            (
                {"scores": pd.Series(SCORES["old"]), name: pd.Series(BACKWARDS, BACKWARDS)},
                f" {name} ",
            )
            for name in ("labels", "items", "costs")
        ),
    ],
)
def test_a_campaign_cannot_start_wrongly(options, message):
    with pytest.raises(ValueError, match=message):
        evaluator(**options)


@pytest.mark.parametrize("ids", ["int", "str"])
@both
def test_a_pickled_campaign_continues_bit_for_bit(make, ids, monkeypatch):
    options = {"budget": 230.0, "random_state": 5}
    if ids == "str":
        options["items"] = np.array([f"doc {i}" for i in range(len(data.qid))])
        monkeypatch.setitem(data, "qid", np.array([f"q{q}" for q in data.qid], dtype=object))
    straight, campaign = make(**options), make(**options)
    expected, step = run(straight), 0
    while requests := campaign.ask(2):
        now = requests.pop(step % len(requests))  # the other requests keep waiting
        answer(campaign, [now])
        campaign = pickle.loads(pickle.dumps(campaign))
        assert [r.query for r in campaign.waiting] == [r.query for r in requests]
        step += 1
    assert campaign.estimate() == expected
    assert campaign.sampling.equals(straight.sampling)
