"""Public names of the core, called with random arguments: a result, or an error of skrank.

The environment variable SKRANK_EXAMPLES is the number of random calls of each name:
`SKRANK_EXAMPLES=2000 pytest tests/validation/test_fuzz_public.py`.
"""

import os
from functools import cache

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import skrank
from tests.helpers import odd
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, STRICT, Lists
from tests.helpers.public_calls import CALLS

# a failure is reported with its arguments, without shrinking, which would take minutes
SETTINGS = settings(derandomize=True, deadline=None, database=None, phases=[Phase.generate])
EXAMPLES = int(os.environ.get("SKRANK_EXAMPLES", "24"))
SLOW = {"testing": 12, "rankers": 2}

IDS = ("groups", "qid", "docid")
# what files hold beside what they should
GARBAGE = st.text("q1d2 0.5-\t\n\r#{}[]:,\"'é\x00\ufeffnaif", max_size=60)
BYTES = GARBAGE.map(str.encode) | st.binary(max_size=40)
PACKED = st.sampled_from((b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"(\xb5/\xfd", b"PAR1"))


def is_vector(value):
    return isinstance(value, (list, np.ndarray)) and np.ndim(np.array(value, dtype=object)) == 1


def odd_argument(name, value):
    if isinstance(value, bytes):
        return BYTES | st.tuples(PACKED, BYTES).map(b"".join) | st.just(value[:-4])
    if name in IDS:
        return odd.arrays(odd.ids, len(value)) | odd.anything
    if is_vector(value) or isinstance(value, np.ndarray):
        return odd.arrays(odd.labels, len(value)) | odd.arrays(odd.scores, len(value))
    return odd.anything


def numbers(found):
    """The numbers that a call returned; None if it returned something else."""
    found = found.to_numpy() if hasattr(found, "to_numpy") else found
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        return None


@cache
def usual_result(name):
    call = CALLS[name]
    found = odd.outcome(lambda: call.function(**call.given))
    if isinstance(found, Exception):
        raise found
    return found


def check(name, found):
    values = numbers(found)
    if values is not None:
        low, high = CALLS[name].low - 1e-9, CALLS[name].high + 1e-9
        assert (np.isnan(values) | ((values >= low) & (values <= high))).all()


def examples_of(name):
    return EXAMPLES // SLOW.get(name.split(".")[0], 1)


@pytest.mark.parametrize("name", CALLS)
def test_usual_arguments(name):
    """A call returns, with the same result for arrays in other containers, unless it refuses."""
    expected = usual_result(name)
    check(name, expected)
    call = CALLS[name]
    vectors = [key for key, value in call.given.items() if is_vector(value) and len(value)]
    if not vectors:
        return

    @settings(SETTINGS, max_examples=max(1, examples_of(name) // 3))
    @given(st.sampled_from(vectors), st.sampled_from(odd.USUAL))
    def run(key, container):
        changed = odd.in_container(list(call.given[key]), container)
        found = odd.outcome(lambda: call.function(**(call.given | {key: changed})))
        if numbers(expected) is not None and not isinstance(found, Exception):
            np.testing.assert_array_equal(numbers(found).ravel(), numbers(expected).ravel())

    run()


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments(name):
    call = CALLS[name]
    if not call.given:
        return

    @settings(SETTINGS, max_examples=max(1, examples_of(name)))
    @given(st.data())
    def run(data):
        chosen = data.draw(st.sets(st.sampled_from(sorted(call.given)), min_size=1, max_size=3))
        changed = {key: data.draw(odd_argument(key, call.given[key])) for key in sorted(chosen)}
        found = odd.outcome(lambda: call.function(**(call.given | changed)))
        if not isinstance(found, Exception):
            check(name, found)

    run()


# metrics of random labels and scores have the literal value, or refuse the arrays

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


@settings(SETTINGS, max_examples=1000)
@given(st.data(), points, st.integers(1, 5))
def test_any_labels_and_scores(data, point, size):
    labels = data.draw(odd.arrays(odd.labels, size))
    scores = data.draw(odd.arrays(odd.scores, size))
    found = odd.outcome(lambda: point.settled.per_query(labels, scores))
    if not isinstance(found, Exception):
        check_value(found, literal_value(point, odd.as_floats(labels), odd.as_floats(scores)))


@settings(SETTINGS, max_examples=600)
@given(st.data(), points, st.integers(1, 5), st.sampled_from(odd.USUAL), st.sampled_from(odd.USUAL))
def test_grades_and_finite_scores_are_never_refused(data, point, size, of_labels, of_scores):
    labels = data.draw(st.lists(odd.grades, min_size=size, max_size=size))
    scores = data.draw(st.lists(odd.finite_scores, min_size=size, max_size=size))
    found = point.settled.per_query(
        odd.in_container(labels, of_labels), odd.in_container(scores, of_scores)
    )
    check_value(found, literal_value(point, np.array(labels), np.array(scores)))


@settings(SETTINGS, max_examples=400)
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
