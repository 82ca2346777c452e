"""Means over queries, forms of input, threads, long lists and codes of labels."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from tests.helpers import reference as ref
from tests.helpers.catalogue import lists
from tests.helpers.engine import limit_threads, per_query
from tests.helpers.lambdarank_cases import many

# ---------------------------------------------------------------------- empty queries

NAN = float("nan")


def test_the_mean_of_no_query_is_nan_and_warns():
    for metric in ("gap", "err", "precision@1"):
        function = skrank.metric(metric)
        with pytest.warns(RuntimeWarning, match="no query"):
            assert math.isnan(function([0, np.nan], [1, 2]))
        assert skrank.metric(metric, empty=0)([0, np.nan], [1, 2]) == 0


@pytest.mark.parametrize(
    "metric",
    [
        skrank.metric("pfound", p_rel={0: 0.1, 1: 0.5, 2: 0.9}),
        skrank.metric("ndcg", gain=[1, 2, 3]),
        skrank.metric("dcg", gain={0: 0.5, 1: 1, 2: 2}),
        skrank.metric("q", gain=[1, 2, 3]),
    ],
)
@pytest.mark.parametrize("condensed", [False, True])
def test_a_query_without_judgments_is_skipped_where_label_0_is_worth_something(metric, condensed):
    metric = skrank.metric(metric, condensed=condensed)
    labels, groups = [NAN, NAN, 2, 0, 1], ["none", "none", "some", "some", "some"]
    values = metric.per_query(labels, [5, 4, 3, 2, 1], groups=groups)
    assert np.isnan(values["none"])
    assert metric(labels, [5, 4, 3, 2, 1], groups=groups) == values["some"] > 0
    report = skrank.evaluate(labels, [5, 4, 3, 2, 1], groups=groups, metrics=[metric])
    assert list(report.empty.values()) == [1]


@pytest.mark.parametrize("name", ["ndcg", "nerr", "q", "rpref"])
def test_the_best_list_lacks_documents_that_are_removed_where_label_0_is_worth_something(name):
    metric = skrank.metric(name, gain=[1, 2], condensed=True)
    assert metric([1, NAN, 0], [3, 2, 1]) == 1


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
    ("name", "empty"),
    [("precision", "skip"), ("precision@3", "skip"), ("recall@3", "skip"), ("f1@3", "skip"),
     ("accuracy@2", "skip"), ("error@2", "skip"), ("precision", 0), ("precision@3", 0)],
)  # fmt: skip
def test_micro_average_counts_documents_of_all_queries_together(name, empty):
    data = lists(18, n_queries=20, special=False, missing=0.2)
    metric = skrank.metric(name, average="micro", empty=empty)
    hits = shown = relevant = total = 0
    for scores, labels in data.queries():
        ranked = [labels[row] for row in ref.ranking(scores)]
        lost = ref.missing(scores, labels)
        if empty == "skip" and not ref.count_relevant(ranked + lost, 1):
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


# ---------------------------------------------------------------------- forms of input


def test_missing_values_are_unjudged():
    for dtype in ("Float64", "Int64", "boolean", object):
        labels = pd.Series([None, 1, 0], dtype=dtype)
        assert skrank.metric("ap")(labels, [3, 2, 1]) == 0.5
        assert skrank.metric("ap", condensed=True)(labels, [3, 2, 1]) == 1


# ---------------------------------------------------------------------- threads, long lists


@pytest.mark.parametrize("name", ["gap", "gap(condensed=True)@5", "ndcg@10", "err", "ap", "rr"])
def test_the_number_of_threads_does_not_change_values(name):
    data = many(1200, 200)
    data.relevance[::9] = NAN
    for ties in ("average", "stable", "worst"):
        metric = skrank.metric(name, ties=ties)
        values = []
        for n_threads in (1, 2, 6):
            with limit_threads(n_threads):
                values.append(per_query(metric, data))
        assert_array_equal(values[1], values[0])
        assert_array_equal(values[2], values[0])


@pytest.mark.parametrize("weight", [5e-324, 1e-320, 1e-200, 1e200, 1e308])
@pytest.mark.parametrize("average", ["macro", "geometric"])
def test_means_do_not_depend_on_the_scale_of_weights(average, weight):
    measured = skrank.metrics.GAP(average=average)
    data = [1, 0, 1, 0, 0, 0], [1, 2, 3, 1, 2, 1]
    groups = [0, 0, 1, 1, 2, 2]
    expected = measured(*data, groups=groups)
    assert_allclose(measured(*data, groups=groups, sample_weight=[weight] * 6), expected)
