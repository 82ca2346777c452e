"""Means over queries, forms of input, threads, long lists and codes of labels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank.extending import Judgments
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, Lists, every_point, lists, literal_values
from tests.helpers.engine import judge, limit_threads, thread_count
from tests.helpers.metrics_cases import close, per_query

# ---------------------------------------------------------------------- empty queries

RELEVANCE = [3, 0, 0, 0, np.nan]
SCORES = [1, 2, 1, 2, 1]
GROUPS = ["a", "a", "b", "b", "c"]


@every_point
def test_queries_without_relevant_documents(point):
    metric = point.metric
    if not metric.needs_relevant:
        pytest.skip("defined for every query")
    value = metric(RELEVANCE[:2], SCORES[:2])
    expected = {
        "skip": (np.nan, value),
        "nan": (np.nan, np.nan),
        0: (0, value / 3),
        1: (1, (value + 2) / 3),
    }
    for empty, (each, mean) in expected.items():
        chosen = replace(metric, empty=empty)
        values = chosen.per_query(RELEVANCE, SCORES, groups=GROUPS)
        assert_array_equal(values[["b", "c"]], [each, each])
        assert chosen(RELEVANCE, SCORES, groups=GROUPS) == pytest.approx(mean, nan_ok=True)
    with pytest.raises(ValueError, match=r"query 'b' has no relevant document.*empty="):
        replace(metric, empty="raise")(RELEVANCE, SCORES, groups=GROUPS)


@pytest.mark.parametrize("name", ["judged", "rbp_residual"])
def test_metrics_defined_for_every_query_have_no_empty_queries(name):
    for empty in ("skip", "nan", 0, 1, "raise"):
        values = skrank.metric(name, empty=empty).per_query(RELEVANCE, SCORES, groups=GROUPS)
        assert_array_equal(values, skrank.metric(name).per_query(RELEVANCE, SCORES, groups=GROUPS))
        assert values.notna().all()


def test_a_query_without_gain_is_empty():
    labels, scores = [1, 1, 2, 0], [4, 3, 2, 1]
    groups = ["low", "low", "high", "high"]
    for name in ("gap(thresholds=[0,1])", "ap(rel=2)", "ndcg(gain=[0,0,1])", "rr(rel=2)"):
        values = skrank.metric(name).per_query(labels, scores, groups=groups)
        assert math.isnan(values["low"])
        assert values["high"] == 1


def test_the_mean_of_no_query_raises():
    for metric in ("gap", "err", "precision@1"):
        with pytest.warns(RuntimeWarning, match="no query has a relevant document"):
            assert math.isnan(skrank.metric(metric)([0, np.nan], [1, 2]))
        assert skrank.metric(metric, empty=0)([0, np.nan], [1, 2]) == 0


def test_relevant_documents_that_were_not_retrieved_are_misses():
    for metric in ("gap", "ap", "ndcg", "rr", "err", "dcg", "precision@3"):
        assert skrank.metric(metric)([2, 1], [-np.inf, -np.inf]) == 0
    assert skrank.metric("ap")([1, 1, 0], [1, -np.inf, 0]) == 0.5
    assert skrank.metric("gap@1", normalize="ideal")([1, 2, 0], [1, -np.inf, 0]) == 0.5


# ---------------------------------------------------------------------- weights, index, name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["gap", "precision@3", "err"])
def test_geometric_mean(name, weighted):
    data = lists(17, levels=4, n_queries=20)
    weights = np.array([1.0 + len(query) % 3 if weighted else 1.0 for query in data.groups])
    values = per_query(skrank.metric(name), data)
    first = [np.flatnonzero(data.groups == query)[0] for query in data.ids]
    kept = ~np.isnan(values)
    logs = np.log(np.maximum(values, 1e-5))[kept]
    expected = np.exp(np.average(logs, weights=weights[first][kept]))
    metric = skrank.metric(name, average="geometric")
    mean = metric(data.relevance, data.scores, groups=data.groups, sample_weight=weights)
    assert mean == pytest.approx(expected, rel=1e-12)
    assert_array_equal(per_query(metric, data), values)


@pytest.mark.parametrize(
    "name", ["precision", "precision@3", "recall@3", "f1@3", "accuracy@2", "error@2"]
)
def test_micro_average_counts_documents_of_all_queries_together(name):
    data = lists(18, n_queries=20, special=False, missing=0.2)
    metric = skrank.metric(name, average="micro")
    hits = shown = relevant = total = 0
    for scores, labels in data.queries():
        ranked = [labels[row] for row in ref.ranking(scores)]
        lost = ref.missing(scores, labels)
        if not ref.count_relevant(ranked + lost, 1):
            continue
        top = ref.top(ranked, metric.k)
        hits += ref.count_relevant(top, 1)
        shown += metric.k if metric.k and not name.startswith(("accuracy", "error")) else len(top)
        relevant += ref.count_relevant(ranked + lost, 1)
        total += len(ranked) + len(lost)
    right = 2 * hits + total - relevant - shown
    expected = {
        "precision": hits / shown,
        "recall": hits / relevant,
        "f1": 2 * hits / (shown + relevant),
        "accuracy": right / total,
        "error": 1 - right / total,
    }[name.split("@")[0]]
    assert metric(data.relevance, data.scores, groups=data.groups) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("empty", "value"), [("skip", (1 + 1) / (2 + 2)), (0, (1 + 1) / (2 + 2 + 2))]
)
def test_micro_average_leaves_out_queries_without_a_relevant_document(empty, value):
    """Two of the three lists of two documents have a relevant document."""
    metric = skrank.metric("precision(average=micro)@2", empty=empty)
    labels, groups = [1, 0, 0, 0, 0, 1], ["a", "a", "b", "b", "c", "c"]
    assert metric(labels, [2, 1, 2, 1, 2, 1], groups=groups) == pytest.approx(value)


def test_only_weightless_queries_have_relevant_documents():
    arguments = {"groups": ["a", "b"], "sample_weight": [0, 1]}
    with pytest.warns(RuntimeWarning, match="of weight above 0"):
        assert math.isnan(skrank.metric("gap")([1, 0], [1, 1], **arguments))


def test_per_query_is_indexed_by_query_in_order_of_first_row():
    values = skrank.metric("ndcg@2", gain="linear").per_query(
        [1, 0, 2, 1], [1, 2, 3, 4], groups=["b", "a", "b", "a"]
    )
    assert list(values.index) == ["b", "a"]
    assert values.index.name == "qid"
    assert values.name == "ndcg(gain=linear)@2"
    assert values.dtype == float


def test_mean_is_the_mean_of_the_queries():
    data = lists(16, levels=4, n_queries=30)
    for point in CATALOGUE:
        values = point.settled.per_query(data.relevance, data.scores, groups=data.groups)
        mean = point.settled(data.relevance, data.scores, groups=data.groups)
        assert isinstance(mean, float)
        expected = values.sum() if point.metric.average == "sum" else values.mean()
        assert mean == pytest.approx(expected, abs=1e-15, rel=1e-14)


def test_without_groups_all_rows_are_one_list():
    assert skrank.metric("ap")([0, 1], [2, 1]) == 0.5
    assert skrank.metric("ap").per_query([0, 1], [2, 1]).to_dict() == {0: 0.5}


# ---------------------------------------------------------------------- forms of input


FORMS = {  # more than those of the property "storage does not matter"
    "int64": lambda a: a.astype(np.int64),
    "int32": lambda a: a.astype(np.int32),
    "float16": lambda a: a.astype(np.float16),
    "big endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
    "reversed": lambda a: a[::-1].copy()[::-1],
    "column": lambda a: a[:, None],
    "fortran column": lambda a: np.asfortranarray(np.column_stack([a, a]))[:, :1],
    "tuple": lambda a: tuple(a.tolist()),
    "series": lambda a: pd.Series(a, index=np.arange(len(a))[::-1]),
    "nullable": lambda a: pd.Series(a).astype("Int64"),
    "polars": lambda a: pytest.importorskip("polars").Series(a),
}


NAMES = ("gap", "gap@2", "ap", "ndcg@3", "err", "rr", "precision@2")


@pytest.mark.parametrize("form", FORMS)
def test_the_container_of_labels_and_scores_does_not_change_values(form):
    data = lists(17, levels=4, unjudged=0, missing=0, special=False, n_queries=12)
    make = FORMS[form]
    for name in NAMES:
        metric = skrank.metric(name)
        expected = metric.per_query(data.relevance, data.scores, groups=data.groups)
        actual = metric.per_query(make(data.relevance), make(data.scores), groups=data.groups)
        pd.testing.assert_series_equal(actual, expected, check_exact=True)


@pytest.mark.parametrize("name", NAMES)
def test_boolean_labels(name):
    rng = np.random.default_rng(0)
    labels, scores, groups = rng.random(60) < 0.4, rng.random(60), np.repeat(np.arange(6), 10)
    for given in (labels, labels.tolist(), pd.Series(labels)):
        actual = skrank.metric(name)(given, scores, groups=groups)
        assert actual == skrank.metric(name)(labels.astype(float), scores, groups=groups)


def test_missing_values_of_pandas_and_polars_are_unjudged():
    pl = pytest.importorskip("polars")
    scores = [3, 2, 1]
    for labels in (
        pd.Series([None, 1, 0], dtype="Float64"),
        pd.Series([None, 1, 0], dtype="Int64"),
        pd.Series([None, True, False], dtype="boolean"),
        pl.Series([None, 1, 0]),
        [None, 1, 0],
    ):
        assert skrank.metric("ap")(labels, scores) == 0.5
        assert skrank.metric("ap", condensed=True)(labels, scores) == 1


def test_inputs_are_not_changed():
    data = lists(19, levels=3)
    copies = [array.copy() for array in data]
    for point in CATALOGUE:
        per_query(point.settled, data)
    for array, copy in zip(data, copies, strict=True):
        assert_array_equal(array, copy)


# ---------------------------------------------------------------------- threads, long lists


@pytest.mark.usefixtures("every_thread")
@pytest.mark.parametrize("name", ["gap", "gap(condensed=True)@5", "ndcg@10", "err", "ap", "rr"])
def test_the_number_of_threads_does_not_change_values(name, every_thread):
    data = big()
    for ties in ("average", "stable", "worst"):
        metric = skrank.metric(name, ties=ties)
        values = []
        for n_threads in (1, 2, 6):
            with limit_threads(n_threads):
                values.append(per_query(metric, data))
        assert_array_equal(values[1], values[0])
        assert_array_equal(values[2], values[0])


def big(n_queries=1200, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 200, n_queries)
    n = int(sizes.sum())
    relevance = rng.choice([0.0, 0, 0, 1, 2, 3, np.nan], n)
    return Lists(relevance, rng.normal(size=n).round(1), np.repeat(np.arange(n_queries), sizes))


def test_threads_reset_and_nest():
    before = thread_count()
    with limit_threads(3):
        with limit_threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    assert thread_count() == before


@pytest.mark.usefixtures("every_thread")
def test_errors_in_threads_are_raised():
    data = big()
    data.scores[70_000] = np.nan
    with limit_threads(4), pytest.raises(ValueError, match="score of row 70000 is nan"):
        per_query(skrank.metric("gap"), data)


LONG = [point for point in CATALOGUE if point.text in ("gap", "gap@3", "ap", "ndcg", "err", "rr")]


@pytest.mark.parametrize("point", LONG, ids=repr)
@pytest.mark.parametrize("n", [256, 300])
def test_long_lists_with_ties(point, n):
    rng = np.random.default_rng(n)
    labels = rng.choice([0, 0, 0, 1, 2, 3], n).astype(float)
    scores = rng.permutation(n).astype(float)
    labels[:6] = 3, 0, 1, 0, 2, 0
    scores[:3], scores[3:5] = n - 2.5, n / 2 + 0.5
    data = Lists(labels, scores, np.full(n, "q", object))
    close(per_query(point.metric, data), literal_values(ref.tie_expectation, point, data))


def test_one_long_block_of_ties_by_formula():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, 5000)
    discount = 1 / np.log2(np.arange(2, 5002))
    expected = (2.0**labels - 1).mean() * discount.sum()
    value = skrank.metric("dcg")(labels, np.zeros(5000))
    assert value == pytest.approx(expected, rel=1e-12)
    relevant, n = (labels > 0).sum(), 5000
    ranks = np.arange(1, n + 1)
    chance = (1 + (ranks - 1) * (relevant - 1) / (n - 1)) / ranks
    ap = skrank.metric("ap")(labels, np.zeros(n))
    assert ap == pytest.approx(chance.sum() / n, rel=1e-12)


# ---------------------------------------------------------------------- labels as codes


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], [2, 2], [np.nan, 3, 0], [0.5, 2, np.nan], [40, 0, np.nan, 1], [np.nan], [31, 32]],
)
def test_codes_stand_for_labels(labels):
    judgments = judge(labels)
    decoded = judgments.labels[judgments.codes]
    given = np.array(labels, float)
    assert_array_equal(decoded, np.nan_to_num(given))
    unjudged = np.zeros(len(given), bool)
    if judgments.unjudged is not None:
        unjudged = judgments.codes == judgments.unjudged
    assert_array_equal(unjudged, np.isnan(given))
    assert judgments.counts.sum() == len(given)
    assert judgments.max_grade == max(1, math.ceil(np.nanmax(np.append(given, 0))))


def test_more_than_a_byte_of_labels():
    labels = np.arange(1000) / 100
    judgments = judge(labels)
    assert_array_equal(judgments.labels[judgments.codes], labels)
    assert isinstance(judgments, Judgments)
