"""Curves of precision against recall, and judgments of several assessors."""

import numpy as np
import pytest

from skrank.metrics import (
    aggregate_judgments,
    eleven_point_curve,
    graded_precision_recall_curve,
    metric,
)
from tests.helpers.reference import from_array, graded_precision, graded_recall
from tests.helpers.reference import gap as literal_gap

NAN = float("nan")


def test_eleven_points_are_interpolated_precision_at_each_level():
    rng = np.random.default_rng(0)
    relevance, qid = rng.integers(0, 3, 200), rng.integers(0, 12, 200)
    scores = rng.permutation(200)
    points = eleven_point_curve(relevance, scores, groups=qid)
    each = [
        metric("iprec", recall=level / 10)(relevance, scores, groups=qid) for level in range(11)
    ]
    np.testing.assert_allclose(points, each, rtol=1e-12)
    assert (np.diff(points) <= 1e-12).all()


@pytest.mark.parametrize("thresholds", [[0.2, 0.5, 0.3], [0, 1, 0], [1, 0, 0]])
def test_graded_curve_equals_its_definition_and_has_gap_as_area(thresholds):
    rng = np.random.default_rng(1)
    for _ in range(20):
        labels = rng.integers(0, 4, 12).astype(float)
        labels[rng.random(12) < 0.2] = NAN
        labels[0] = 3
        curve = graded_precision_recall_curve(labels, range(12, 0, -1), thresholds=thresholds)
        ranked = from_array(labels)
        for rank, precision, recall in zip(curve.rank, curve.precision, curve.recall, strict=True):
            rank = int(rank)
            expected = graded_precision(ranked, rank, thresholds=thresholds)
            assert precision == pytest.approx(expected, abs=1e-12)
            expected = graded_recall(ranked, rank, thresholds=thresholds)
            assert recall == pytest.approx(expected, abs=1e-12)
        assert curve.gap == pytest.approx(literal_gap(ranked, thresholds=thresholds), abs=1e-12)


def test_graded_recall_counts_documents_that_were_not_retrieved():
    curve = graded_precision_recall_curve([1, 1], [1.0, -np.inf])
    assert curve.recall.tolist() == [0.5]
    assert curve.gap == 0.5


GRADES = [[3, 2], [2, 0], [0, NAN], [NAN, NAN]]


@pytest.mark.parametrize(
    ("grades", "options", "expected"),
    [
        (GRADES, {"method": "mean"}, [2.5, 1.0, 0.0, NAN]),
        (GRADES, {"method": "and", "threshold": 1}, [1, 0, 0, NAN]),
        (GRADES, {"method": "or", "threshold": 1}, [1, 1, 0, NAN]),
        ([[2, 2]], {"method": "and", "threshold": 2}, [1]),
        ([[2, 2]], {"method": "or", "threshold": 2.5}, [0]),
        ([[3, -1]], {"method": "and", "cannot": (-1,)}, [0]),
        ([[3, -1]], {"method": "and", "cannot": (-1,), "drop": True}, [1]),
        ([[3, -1]], {"cannot": (-1,)}, [1.5]),
        ([[3, -1]], {"cannot": (-1,), "drop": True}, [3]),
    ],
)
def test_grades_of_assessors(grades, options, expected):
    """Thresholds are inclusive; marks that cannot be judged count as 0, or are dropped."""
    np.testing.assert_equal(aggregate_judgments(grades, **options), expected)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: aggregate_judgments([[3, -1]]), "grade -1 of assessor 1 in row 0"),
        (lambda: aggregate_judgments([1, 2]), "assessor"),
        (lambda: aggregate_judgments([[1, 2]], method="most"), "method='most'"),
        (lambda: aggregate_judgments([[1, 2]], threshold=0), "threshold=0"),
        (lambda: graded_precision_recall_curve([0, 0], [2, 1]), "relevant"),
    ],
)
def test_what_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
