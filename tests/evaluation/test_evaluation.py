"""Reports of many metrics."""

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import skrank
from tests.helpers.catalogue import CATALOGUE, lists

DEFAULT_METRICS = inspect.signature(skrank.evaluate).parameters["metrics"].default


@pytest.fixture
def data():
    return lists(21, levels=4, n_queries=20)


def report(data, **how):
    return skrank.evaluate(data.relevance, data.scores, groups=data.groups, **how)


def test_values_are_those_of_the_metrics(data):
    found = report(data, metrics=[point.settled for point in CATALOGUE])
    assert found.per_query.index.name == "qid"
    assert list(found.per_query.index) == data.ids
    for point in CATALOGUE:
        name, metric = str(point.settled), point.settled
        values = metric.per_query(data.relevance, data.scores, groups=data.groups)
        pd.testing.assert_series_equal(found.per_query[name], values, check_exact=True)
        assert found.mean[name] == metric(data.relevance, data.scores, groups=data.groups)
        assert found.empty[name] == values.isna().sum()


def test_columns_are_full_names_in_the_given_order(data):
    names = ["ndcg(gain=linear)@10", "gap", "mrr", "p@3"]
    found = report(data, metrics=names)
    expected = ["ndcg(gain=linear)@10", "gap", "rr", "precision@3"]
    assert list(found.per_query.columns) == expected
    assert list(found.mean.index) == expected
    assert list(found.empty.index) == expected
    assert list(found.to_frame().index) == expected


@pytest.mark.parametrize("metrics", ["gap@5", skrank.metric("gap@5"), ["gap@5"], ("gap@5",)])
def test_metrics_may_be_one(data, metrics):
    assert list(report(data, metrics=metrics).mean.index) == ["gap@5"]


def test_default_metrics(data):
    assert list(report(data).mean.index) == list(DEFAULT_METRICS)


def test_counts_and_shares():
    found = skrank.evaluate(
        [1, np.nan, 0, 0, np.nan, 2, 0, 1],
        [1, 2, 3, 1, 2, -np.inf, 1, 2],
        groups=["a", "a", "a", "b", "b", "c", "c", "c"],
        metrics=["gap", "ap(rel=2)", "ap(empty=0)"],
    )
    assert found.n_queries == 3
    assert found.n_rows == 8
    assert found.judged_share == 0.75
    assert found.retrieved_share == 0.875
    assert list(found.empty.index) == ["gap", str(skrank.metric("ap", rel=2)), "ap(empty=0)"]
    assert found.empty.to_list() == [1, 2, 1]
    table = found.to_frame()
    assert set(table.columns) >= {"mean", "std", "queries", "empty"}
    assert table["queries"].to_list() == [2, 1, 3]
    assert_array_equal(table["std"], found.per_query.std())
    assert found.mean["ap(empty=0)"] == found.per_query["ap(empty=0)"].mean()


def test_repr_shows_everything(data):
    found = report(data, metrics=["gap", "ndcg(gain=[0,1,3,10],ties=worst,condensed=True)@10"])
    text = repr(found)
    assert f"{len(data.ids)} queries, {len(data.groups)} documents" in text
    assert "judged" in text
    assert "retrieved" in text
    assert "ndcg(condensed=True,ties=worst,gain=[0.0,1.0,3.0,10.0])@10" in text
    assert f"{found.mean['gap']:.4f}" in text
    assert str(found) == text


def test_html_shows_the_same_table(data):
    found = report(data, metrics=["gap", "ndcg@10"])
    html = found._repr_html_()
    assert html.startswith("<p>")
    assert "<table" in html
    assert "ndcg@10" in html
    assert f"{found.mean['gap']:.4f}" in html


def test_weights_weigh_the_means_only(data):
    weight_of = {query: float(i % 3) for i, query in enumerate(data.ids)}
    weights = [weight_of[query] for query in data.groups]
    plain, weighted = report(data), report(data, sample_weight=weights)
    pd.testing.assert_frame_equal(plain.per_query, weighted.per_query)
    for name in DEFAULT_METRICS:
        metric = skrank.metric(name)
        expected = metric(data.relevance, data.scores, groups=data.groups, sample_weight=weights)
        assert weighted.mean[name] == expected
        values = plain.per_query[name].dropna()
        by_hand = np.average(values, weights=[weight_of[query] for query in values.index])
        assert expected == pytest.approx(by_hand)


def test_max_grade_is_for_metrics_that_do_not_fix_it(data):
    found = report(data, metrics=["gap", "err", "gap(max_grade=3)"], max_grade=5)
    assert_array_equal(
        found.per_query["gap"],
        report(data, metrics=["gap(max_grade=5)"]).per_query["gap(max_grade=5)"],
    )
    assert_array_equal(
        found.per_query["gap(max_grade=3)"],
        report(data, metrics=["gap"]).per_query["gap"],
    )
    with pytest.raises(ValueError, match="max_grade=0 must be at least 1"):
        report(data, max_grade=0)


def test_groups_on_the_index(data):
    y = skrank.with_groups(data.relevance, data.groups)
    found = skrank.evaluate(y, data.scores)
    pd.testing.assert_frame_equal(found.per_query, report(data).per_query)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["gap", "gap"], r"metric '.*' is given twice"),
        (["map", "ap"], r"metric '.*' is given twice"),
        (["gap@5", skrank.metric("gap", k=5)], r"metric '.*' is given twice"),
        ([], "metrics is empty: name at least one, such as 'gap'"),
    ],
)
def test_bad_metrics(data, metrics, message):
    with pytest.raises(ValueError, match=message):
        report(data, metrics=metrics)


def test_no_query_with_a_relevant_document():
    with pytest.warns(RuntimeWarning, match="no query has a relevant document"):
        found = skrank.evaluate([0, 0], [1, 2], groups=["a", "a"], metrics=["gap"])
    assert np.isnan(found.mean["gap"])
    assert found.empty["gap"] == 1
    assert "1 queries, 2 documents" in repr(found)


def test_nothing_judged_and_nothing_retrieved():
    with pytest.warns(RuntimeWarning, match="no query"):
        found = skrank.evaluate([np.nan] * 2, [-np.inf] * 2, groups=[1, 1], metrics=["gap"])
    assert found.judged_share == 0
    assert found.retrieved_share == 0
