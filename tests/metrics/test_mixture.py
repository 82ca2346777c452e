"""Weighted sums of metrics are metrics."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank.metrics import Mixture
from tests.helpers.catalogue import Lists, MixturePoint, lists
from tests.helpers.mixture_cases import TEXT, gap, ndcg


def mean(metric, data):
    return skrank.metric(metric)(data.relevance, data.scores, groups=data.groups)


# ---------------------------------------------------------------------- metrics: algebra and names


def test_sums_of_metrics():
    expected = Mixture(parts=((0.7, gap), (0.3, ndcg)))
    double = Mixture(parts=[(1.4, gap), (0.6, ndcg)])
    for made in (
        skrank.metric(TEXT),
        Mixture(parts=[[0.7, "gap"], [np.float64(0.3), "ndcg@10"]]),
        Mixture(parts=[(0.5, double)]),
    ):
        assert made == expected
        assert hash(made) == hash(expected)
        assert str(made) == TEXT
    assert skrank.metric("gap+ndcg@10+gap").parts == ((1.0, gap), (1.0, ndcg), (1.0, gap))
    assert Mixture(parts=[(0.3, ndcg), (0.7, gap)]) != expected
    assert Mixture(parts=[(1, gap)]) != gap


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("gap+ap", "1.0*gap+1.0*ap"),
        (" 2 * gap + map@3 ", "2.0*gap+1.0*ap@3"),
        ("gap@3*0.5", "0.5*gap@3"),
        ("0.5*gap@3", "0.5*gap@3"),
        ("0.5*(gap+0.5*ndcg(gain=linear))", "0.5*gap+0.25*ndcg(gain=linear)"),
        ("(gap+2*p)@3", "1.0*gap@3+2.0*precision@3"),
        ("1e-05*gap+1e5*ap", "1e-05*gap+100000.0*ap"),
        ("0.5*ap( empty = raise )+gap(empty=raise)", "0.5*ap(empty=raise)+1.0*gap(empty=raise)"),
        ("0.1*gap(empty=0)+0.2*ap(empty=0)@1", "0.1*gap(empty=0)+0.2*ap(empty=0)@1"),
    ],
)
def test_texts_of_sums(text, name):
    metric = skrank.metric(text)
    assert isinstance(metric, Mixture)
    assert str(metric) == name
    assert skrank.metric(name) == metric


def test_parameters_go_to_every_metric():
    mixture = skrank.metric(TEXT)
    assert dataclasses.replace(mixture, empty=0, ties="worst") == skrank.metric(
        "0.7*gap(empty=0,ties=worst)+0.3*ndcg(empty=0,ties=worst)@10"
    )
    assert skrank.metric(mixture, k=3) == skrank.metric("(0.7*gap+0.3*ndcg)@3")
    assert skrank.metric(mixture, condensed=True) == skrank.metric(TEXT, condensed=True)
    assert skrank.metric("gap+ndcg", k=3) == skrank.metric("gap@3+ndcg@3")
    assert skrank.metric("0.5*ndcg+ndcg(discount=letor)", gain="linear").parts[1][1].gain
    assert mixture.empty == "skip"
    assert mixture.k is None


# ---------------------------------------------------------------------- metrics: values


def test_scale_of_grades_is_that_of_the_collection():
    data = lists(1, n_queries=30)
    point = MixturePoint("0.5*gap+0.5*err@3")
    values = point.metric.per_query(data.relevance, data.scores, groups=data.groups)
    assert_allclose(values, point.expected(data), atol=1e-12)
    report = skrank.evaluate(
        data.relevance, data.scores, groups=data.groups, metrics=[point.metric], max_grade=5
    )
    fixed = skrank.metric("0.5*gap(max_grade=5)+0.5*err(max_grade=5)@3")
    assert report.averages == mean(fixed, data)
    own = skrank.metric("0.5*gap(max_grade=5)+0.5*err@3")
    expected = 0.5 * mean("gap(max_grade=5)", data) + 0.5 * mean("err@3", data)
    assert mean(own, data) == pytest.approx(expected)


EMPTY = np.array([1.0, 0, 2, 0, 0, 0]), np.array([0.0, 1, 0, 1, 0, 1])
# a: nothing of label 2; b: both metrics; c: nothing relevant
QUERIES = np.array([*"aabbcc"], object)


def test_a_query_counts_where_all_metrics_count():
    parts = {"ap": [0.5, 0.5, np.nan], "ap(rel=2)": [np.nan, 0.5, np.nan]}
    for name, values in parts.items():
        one = skrank.metric(name)
        assert_array_equal(one.per_query(*EMPTY, groups=QUERIES), values)
    skip = skrank.metric("0.5*ap+0.25*ap(rel=2)")
    for empty, values, average in [
        ("skip", [np.nan, 0.375, np.nan], 0.375),
        ("nan", [np.nan, 0.375, np.nan], np.nan),
        (0, [0.25, 0.375, 0], 0.625 / 3),
        (1, [0.5, 0.375, 0.75], 1.625 / 3),
    ]:
        one = dataclasses.replace(skip, empty=empty)
        assert_array_equal(one.per_query(*EMPTY, groups=QUERIES), values)
        assert mean(one, Lists(*EMPTY, QUERIES)) == pytest.approx(average, nan_ok=True)
    with pytest.raises(ValueError, match=r"query 'c'.*empty=raise"):
        mean(dataclasses.replace(skip, empty="raise"), Lists(*EMPTY, QUERIES))
    report = skrank.evaluate(*EMPTY, groups=QUERIES, metrics=[skip])
    assert report.empty == {str(skip): 2}
    assert report.weights[0, :, 0].tolist() == [0, 1, 0]
