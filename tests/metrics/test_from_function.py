"""Metrics that are Python functions of one ranked list: values, ties, and what is refused."""

import pickle

import numpy as np
import pytest

import skrank
from skrank.testing import check_metric
from tests.helpers import reference as ref
from tests.helpers.rankers import First

NAN = float("nan")


def my_dcg(ranked):
    return float(((2**ranked - 1) / np.log2(np.arange(2, len(ranked) + 2))).sum())


def first(ranked):
    found = np.flatnonzero(ranked > 0)
    return 1 / (1 + found[0]) if len(found) else 0.0


def found_share(ranked, unretrieved):
    relevant = (ranked > 0).sum() + (unretrieved > 0).sum()
    return float((ranked > 0).sum() / relevant) if relevant else 0.0  # all may be cut off


def recall(ranked, unretrieved=()):
    """Without a cut-off: the function needs the documents below it."""
    return ref.recall(ranked, unretrieved=unretrieved)


@pytest.mark.parametrize(
    ("function", "definition", "high"),
    [(my_dcg, ref.dcg, np.inf), (found_share, recall, 1)],
)
def test_it_has_the_properties_of_metrics(function, definition, high):
    held = check_metric(skrank.metric_from_function(function, value_range=(0, high)), definition)
    assert "values equal the definition" in held
    assert "ties count as the mean over their orders" in held
    assert "eval metrics of boosters measure it" in held
    assert "boosters train on it" not in held


def test_the_labels_that_the_function_gets():
    seen = []

    def spy(ranked, unretrieved):
        seen.append((ranked.tolist(), unretrieved.tolist()))
        return 1.0

    labels, scores = [NAN, 2, 0, 1, NAN], [5, 4, 3, -np.inf, -np.inf]
    skrank.metric_from_function(spy)(labels, scores)
    skrank.metric_from_function(spy, k=2)(labels, scores)
    skrank.metric_from_function(spy, condensed=True)(labels, scores)
    assert seen == [([0, 2, 0], [1]), ([0, 2], [1]), ([2, 0], [1])]
    seen.clear()
    skrank.metric_from_function(spy, unjudged=NAN)(labels, scores)
    assert str(seen) == "[([nan, 2.0, 0.0], [1.0])]"


def test_queries_without_relevant_documents():
    calls = []

    def length(ranked):
        calls.append(len(ranked))
        return float(len(ranked))

    given = ([0, 0, 1], [3, 2, 1]), {"groups": ["a", "a", "b"]}
    skipping = skrank.metric_from_function(length)
    assert skipping(*given[0], **given[1]) == 1
    assert calls == [1]
    every = skrank.metric_from_function(length, needs_relevant=False)
    assert every(*given[0], **given[1]) == 1.5


def test_too_many_orders_of_ties_are_refused():
    """Thousands of tied documents of two labels, such as of a model with constant scores."""
    labels = np.arange(3000) % 2
    metric = skrank.metric_from_function(first)
    with pytest.raises(ValueError, match="10000 orders"):
        metric(labels, np.zeros(3000), groups=["q"] * 3000)
    data = labels, np.zeros(3000)
    with pytest.warns(UserWarning, match="groups="):
        compiled = skrank.metric("rr@10")(*data)
    few, groups = skrank.metric(metric, k=10), np.zeros(3000)
    assert few(*data, groups=groups) == pytest.approx(compiled)
    assert metric(np.ones(3000), np.zeros(3000), groups=groups) == 1  # equal labels: one order
    assert skrank.metric(metric, ties="stable")(*data, groups=groups) == 0.5


@pytest.mark.parametrize(
    "value", [NAN, np.inf, None, "much", [1, 2], pytest.param(10**400, id="large")]
)
def test_values_must_be_finite_numbers(value):
    metric = skrank.metric_from_function(lambda ranked: value, "odd")
    with pytest.raises(ValueError, match="query 'q'"):
        metric([1, 0], [2, 1], groups=["q", "q"])


def test_names_and_that_it_is_not_for_training():
    assert str(skrank.metric_from_function(first, k=5, empty=0)) == "first(empty=0)@5"
    with pytest.raises(ValueError, match="'<lambda>'"):
        skrank.metric_from_function(lambda ranked: 1.0)
    with pytest.raises(ValueError, match="'gap'"):
        skrank.metric_from_function(first, "gap")
    with pytest.raises(ValueError, match="first"):
        skrank.LambdaRank(skrank.metric_from_function(first))


def test_pickling_pickles_the_function():
    metric = skrank.metric_from_function(first, greater_is_better=False)
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert hash(metric) == hash(skrank.metric_from_function(first, greater_is_better=False))
    assert not metric.greater_is_better
    y = skrank.with_groups([0, 1], ["a", "a"])
    assert skrank.scorer(metric)(First(), [[0.0]] * 2, y) == -0.75


def pairwise(y_true, y_score):
    return 1.0


@pytest.mark.parametrize(
    ("function", "options", "named"),
    [
        (pairwise, {}, r"\(y_true, y_score\).*ranked"),
        (lambda: 1.0, {"name": "none"}, "ranked"),
        (lambda ranked, *, unretrieved: 1.0, {"name": "keyword"}, "ranked"),
        (lambda unretrieved, ranked: 1.0, {"name": "swapped"}, "ranked"),
        (lambda ranked, n=1, unretrieved=(): 1.0, {"name": "third"}, "ranked"),
        (first, {"value_range": "0 to 1"}, "value_range="),
        (first, {"value_range": "01"}, "value_range="),
        (first, {"value_range": (1, 0)}, "value_range="),
        (first, {"value_range": (0, NAN)}, "value_range="),
    ],
)
def test_mistakes_are_found_when_the_metric_is_made(function, options, named):
    with pytest.raises((TypeError, ValueError), match=named):
        skrank.metric_from_function(function, **options)
