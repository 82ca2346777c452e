"""Gradients of scores far apart, far from 0 and next to outliers equal the definition."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, UnbiasedLambdaRank
from tests.helpers import reference as ref
from tests.helpers.engine import judge

DTYPES = [np.float32, np.float64]
FAR = [1e4, 1e19, -1e38, 1e150, -1.7e308]
LABELS = np.array([0.0, 2, 1, 0, 3])
NEAR = np.array([0.3, -0.2, 0.1, 0.5, -0.4])

SOFT = [
    SoftRank("gap"), SoftRank("ap"), SoftRank("ndcg"), SoftRank("ndcg@3", form="distribution"),
]  # fmt: skip
PAIRS = [
    LambdaRank("gap", norm=False), LambdaRank("ndcg", norm=False), LambdaRank("nerr", norm=False),
    LambdaRank("gap", norm=False, pairs="adjacent"), LambdaLoss("ndcg"), UnbiasedLambdaRank("gap"),
]  # fmt: skip
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def bound_to(objective, labels=LABELS):
    return objective.bind(judge(labels, np.zeros(len(labels), int)))


def gradient(objective, scores, dtype=np.float64, labels=LABELS):
    out = np.full((2, len(labels)), np.nan, dtype)
    bound_to(objective, labels).gradient(np.asarray(scores, float), *out)
    return out


def close(found, expected, dtype):
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@every_dtype
@pytest.mark.parametrize("objective", SOFT + PAIRS + [Softmax()], ids=repr)
@pytest.mark.parametrize("row", [0, 4])
@pytest.mark.parametrize("far", FAR)
def test_an_outlier_leaves_the_others_as_they_are(objective, row, far, dtype):
    """At a distance of 200, the order is already certain."""
    scores, expected = NEAR.copy(), NEAR.copy()
    scores[row], expected[row] = far, math.copysign(200, far)
    close(gradient(objective, scores, dtype), gradient(objective, expected), dtype)


@every_dtype
@pytest.mark.parametrize("objective", SOFT + PAIRS, ids=repr)
@pytest.mark.parametrize("size", [1e4, 1e19, 1e300])
def test_scores_that_are_all_far_apart(objective, size, dtype):
    order = np.array([1.0, -0.5, 0.25, -1.0, 0.5])
    close(gradient(objective, size * order, dtype), gradient(objective, 2e3 * order), dtype)


@pytest.mark.parametrize("objective", SOFT, ids=repr)
@pytest.mark.parametrize("size", [1e4, 1e19, 1e300])
def test_softrank_of_certain_orders_is_the_metric(objective, size):
    labels, scores = [0, 2, 1, 0], size * np.array([0.4, 0.3, 0.2, 0.1])
    exact = objective.metric(labels, scores)
    assert objective.value(labels, scores) == pytest.approx(exact, abs=1e-12)
    grad, _ = objective(labels, scores)
    assert_allclose(grad, 0, atol=1e-12)


def test_softrank_of_many_documents_next_to_outliers():
    """Wider gaps between clusters of documents do not change the gradients."""
    rng = np.random.default_rng(0)
    labels, near = rng.choice([0.0, 0, 1, 2], 600), rng.normal(size=600)
    place = rng.integers(-2, 3, 600)
    plain = gradient(SoftRank("gap"), near + 100 * place, labels=labels)
    for size in (1e3, 1e9):
        found = gradient(SoftRank("gap"), near + size * place, np.float32, labels)
        assert_allclose(found, plain, atol=1e-4 * np.abs(plain).max())


@every_dtype
@pytest.mark.parametrize("sigmoid", [1e-300, 1e-6, 0.1, 1e3])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize(
    "scores",
    [
        [0, 1, 1e8, 1e8 + 1, 3], [2, 3e38, 2.5, 1, 0], [1e17, -2e17, 3e17, 0, 7e17],
        3.1622776601683804e19 * (1 - 2.0**-53 * np.array([0, 3, 2, 1, 5])),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["ndcg", "gap"])
def test_lambdarank_is_the_double_loop(name, scores, norm, sigmoid, dtype):
    """With and without `score_norm`, for any `sigmoid`."""
    numerator, scale = (
        (ref.dcg_sum, {}) if name == "ndcg" else (ref.gap_numerator, {"max_grade": 3})
    )
    metric, normalizer = ref.objective(numerator, LABELS.tolist(), **scale)
    expected = np.array(
        ref.lambdas(
            metric, list(map(float, scores)), LABELS.tolist(), normalizer=normalizer,
            sigma=sigmoid, score_norm=norm, sum_norm=norm,
        )
    )  # fmt: skip
    tolerance = 1e-3 if dtype == np.float32 else 1e-8
    for objective in (LambdaRank, UnbiasedLambdaRank):
        options = {"sigmoid": sigmoid, "norm": norm, "tie_order": "stable"}
        found = gradient(objective(name, **options), scores, dtype)
        for one, other in zip(found, expected, strict=True):
            assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max() + 1e-36)


def test_small_sums_are_normalised():
    """log2(1 + S) / S is 1 / log(2) for small S."""
    for perturbations in (None, 1):
        objective = LambdaRank("ndcg", perturbations=perturbations, temperature=1e-9)
        grad, _ = gradient(objective, [-1e17, 1e17], labels=np.array([1.0, 0]))
        assert grad[0] == pytest.approx(
            -(1 - 1 / math.log2(3)) / 2e17 / math.log(2), rel=1e-9, abs=0
        )


def test_softmax_loss_of_scores_whose_difference_is_no_number():
    out = np.empty((2, 3))
    found = bound_to(Softmax(), np.array([0.0, 1, 1])).losses(
        np.array([-1.7e308, 1.7e308, 0]), *out
    )
    assert found == pytest.approx(0.85e308)
