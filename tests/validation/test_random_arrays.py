"""Metrics of random arrays have the literal value, or refuse the arrays by an error of skrank."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import skrank
from tests.helpers import odd
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, STRICT, Lists

# a failure is reported with its arguments, without shrinking, which would take minutes
SETTINGS = settings(derandomize=True, deadline=None, database=None, phases=[Phase.generate])
points = st.sampled_from(CATALOGUE)


def literal_value(point, labels, scores):
    data = Lists(labels, scores, np.zeros(len(labels), int))
    how = ref.stable if point.name in STRICT else ref.tie_expectation
    ((values, ranked),) = data.queries()
    try:
        return how(point.on_scale(data.max_grade), values, ranked)
    except (OverflowError, KeyError, ZeroDivisionError):
        return "undefined"


def check_value(found, expected):
    value = float(found.iloc[0])
    if expected is None:
        assert np.isnan(value)
    else:
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(SETTINGS, max_examples=150)
@given(st.data(), points, st.integers(1, 5))
def test_any_labels_and_scores(data, point, size):
    labels = data.draw(odd.arrays(odd.labels, size))
    scores = data.draw(odd.arrays(odd.scores, size))
    found = odd.outcome(lambda: point.settled.per_query(labels, scores))
    if not isinstance(found, Exception):
        check_value(found, literal_value(point, odd.as_floats(labels), odd.as_floats(scores)))


@settings(SETTINGS, max_examples=100)
@given(st.data(), points, st.integers(1, 5), st.sampled_from(odd.USUAL), st.sampled_from(odd.USUAL))
def test_grades_and_finite_scores_are_never_refused(data, point, size, of_labels, of_scores):
    labels = data.draw(st.lists(odd.grades, min_size=size, max_size=size))
    scores = data.draw(st.lists(odd.finite_scores, min_size=size, max_size=size))
    found = point.settled.per_query(
        odd.in_container(labels, of_labels), odd.in_container(scores, of_scores)
    )
    check_value(found, literal_value(point, np.array(labels), np.array(scores)))


@settings(SETTINGS, max_examples=100)
@given(st.data(), st.integers(1, 6))
def test_any_query_ids(data, size):
    values = data.draw(st.lists(odd.ids, min_size=size, max_size=size))
    groups = odd.in_container(values, data.draw(odd.containers))
    labels = np.array(data.draw(st.lists(odd.grades, min_size=size, max_size=size)))
    scores = np.arange(size, 0.0, -1)
    found = odd.outcome(lambda: skrank.metric("ap").per_query(labels, scores, groups=groups))
    if isinstance(found, Exception) or groups is None:
        return
    if isinstance(groups, (list, tuple, np.ndarray)) and np.asarray(groups).dtype.kind in "Ofiub":
        expected = [
            skrank.metric("ap").per_query(labels[rows], scores[rows]).iloc[0]
            for query in dict.fromkeys(values)
            for rows in [[row for row in range(size) if values[row] == query]]
        ]
        np.testing.assert_array_equal(found.to_numpy(), expected)
