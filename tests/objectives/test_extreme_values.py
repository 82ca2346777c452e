"""Gradients of extreme scores, labels and weights equal the definition, or raise an error."""

import contextlib
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from tests.helpers.engine import judge

LABELS = np.array([0.0, 2, 1, 0, 3])
NEAR = np.array([0.3, -0.2, 0.1, 0.5, -0.4])
SOFT = [SoftRank("gap"), SoftRank("ap"), SoftRank("ndcg")]
PAIRS = [
    LambdaRank("gap", norm=False), LambdaRank("ndcg", norm=False), LambdaRank("nerr", norm=False),
    LambdaLoss("ndcg"),
]  # fmt: skip
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def bound_to(objective, labels, weight=None, max_grade=None):
    weights = None if weight is None else np.array([weight])
    return objective.bind(judge(labels, np.zeros(len(labels), int)), weights, max_grade=max_grade)


def gradient(objective, scores, dtype=np.float64, labels=LABELS, **given):
    out = np.full((2, len(labels)), np.nan, dtype)
    bound_to(objective, labels, **given).gradient(np.asarray(scores, float), *out)
    return out


def close(found, expected, dtype):
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@every_dtype
@pytest.mark.parametrize("objective", SOFT + PAIRS + [Softmax()], ids=repr)
@pytest.mark.parametrize("row", [0, 4])
@pytest.mark.parametrize("far", [1e4, 1e19, -1e38, 1e150, -1.7e308])
def test_an_outlier_leaves_the_others_as_they_are(objective, row, far, dtype):
    """At a distance of 200, the order is already certain."""
    scores, expected = NEAR.copy(), NEAR.copy()
    scores[row], expected[row] = far, math.copysign(200, far)
    close(gradient(objective, scores, dtype), gradient(objective, expected), dtype)


FEW = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    ("objective", "labels", "max_grade"),
    [
        *(
            (made("ndcg"), [0, label, 1, label - 1], None)
            for made in (LambdaRank, LambdaLoss, SoftRank)
            for label in (126, 127, 128, 200, 900)
        ),
        *(
            (LambdaRank("nerr", tie_order="stable"), [0, 5, 1, 3], top)
            for top in (5, 100, 200, 900)
        ),
    ],
    ids=str,
)
def test_gains_and_chances_beyond_single_precision(objective, labels, max_grade):
    single, exact = (
        gradient(objective, FEW, dtype, labels, max_grade=max_grade)
        for dtype in (np.float32, np.float64)
    )
    assert single[0].any()
    assert_allclose(single, exact, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("label", [126, 127, 128, 200, 900])
@pytest.mark.parametrize(
    "objective",
    [
        LambdaRank("dcg"), LambdaLoss("dcg"), SoftRank("dcg"),
        2 * SoftRank("dcg") + SquaredError(),
        1e9 * LambdaRank("dcg", norm=False) + SquaredError(),
    ],
    ids=repr,
)  # fmt: skip
def test_gradients_of_gains_that_nothing_divides_are_numbers_or_refused(objective, label):
    """After an error, the gradients of the next round equal those of a new objective."""
    bound = bound_to(objective, np.array([0, label, 1, label - 1]))
    out = np.full((2, 4), np.nan, np.float32)
    with contextlib.suppress(ValueError):
        bound.gradient(FEW, *out)
        assert np.isfinite(out).all()
    if label == 900:
        with pytest.raises(ValueError, match="float32"):
            bound.gradient(FEW, *out)
    wide = np.empty((2, 4))
    bound.gradient(FEW, *wide)
    assert np.isfinite(wide).all()


@pytest.mark.parametrize(
    "objective", [LambdaRank("gap"), SoftRank("gap"), SquaredError()], ids=repr
)
def test_weights_without_end_are_refused(objective):
    with pytest.raises(ValueError, match="weight of query 0"):
        gradient(objective, NEAR, weight=1e308)
    assert np.isfinite(gradient(objective, NEAR, np.float32, weight=1e15)).all()
