"""Gradients are finite, or an error has a remedy: extreme labels, gains, scores and weights."""

import contextlib

import numpy as np
import pytest
from numpy.testing import assert_allclose

import skrank
from skrank import (
    AdditivePositionBias,
    LambdaLoss,
    LambdaRank,
    SoftRank,
    SquaredError,
    UnbiasedLambdaRank,
)
from tests.helpers.engine import judge

SCORES = np.array([0.1, 0.2, 0.3, 0.4])


def gradient(objective, labels, scores=SCORES, weight=None, dtype=np.float32, max_grade=None):
    judgments = judge(labels, np.zeros(len(labels), int))
    weights = None if weight is None else np.array([weight])
    bound = objective.bind(judgments, weights, max_grade=max_grade)
    out = np.full((2, len(labels)), np.nan, dtype)
    bound.gradient(np.asarray(scores, float), *out)
    return out


@pytest.mark.parametrize("label", [126, 127, 128, 200, 900])
@pytest.mark.parametrize("objective", [LambdaRank, LambdaLoss, SoftRank])
def test_gains_beyond_single_precision(objective, label):
    labels = [0, label, 1, label - 1]
    found = gradient(objective("ndcg"), labels)
    exact = gradient(objective("ndcg"), labels, dtype=np.float64)
    assert np.isfinite(found).all()
    assert found[0].any()
    assert_allclose(found, exact, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("label", [200, 900])
@pytest.mark.parametrize("objective", [LambdaRank, LambdaLoss, SoftRank])
def test_gains_that_nothing_divides_are_refused_by_callables(objective, label):
    lightgbm = pytest.importorskip("lightgbm")
    import skrank.lightgbm as adapter

    data = lightgbm.Dataset(
        np.zeros((4, 1)), [0, label, 1, label - 1], group=[4], params={"verbose": -1}
    )
    with pytest.raises(ValueError, match=r"beyond the range of float32.*ndcg for dcg"):
        adapter.objective(objective("dcg"))(SCORES, data.construct())


@pytest.mark.parametrize("label", [126, 127, 128, 200, 900])
@pytest.mark.parametrize(
    "objective",
    [
        LambdaRank("dcg"), LambdaRank("dcg", norm=False, pairs="adjacent"),
        LambdaRank("dcg", perturbations=2), LambdaLoss("dcg"), SoftRank("dcg"),
        UnbiasedLambdaRank("dcg", norm=False), 2 * SoftRank("dcg") + SquaredError(),
        AdditivePositionBias(LambdaRank("dcg", norm=False)),
    ],
    ids=repr,
)  # fmt: skip
def test_bound_gradients_are_numbers_or_refused(objective, label):
    """After an error, the gradients of the next round equal those of a new objective."""
    labels = np.array([0, label, 1, label - 1])
    bound = objective.bind(judge(labels, np.zeros(4, int)))
    out = np.full((2, 4), np.nan, np.float32)
    with contextlib.suppress(ValueError):
        bound.gradient(SCORES, *out)
        assert np.isfinite(out).all()
    if label == 900:
        with pytest.raises(ValueError, match="beyond the range of float32"):
            bound.gradient(SCORES, *out)
    wide = np.empty((2, 4))
    bound.gradient(SCORES, *wide)
    assert np.isfinite(wide).all()


def test_mixtures_are_numbers_or_refused():
    heavy = 1e9 * LambdaRank("dcg", norm=False) + SquaredError()
    with pytest.raises(ValueError, match="beyond the range of float32"):
        gradient(heavy, [0, 110, 2, 1])


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("top", [5, 100, 200, 900])
def test_chances_of_low_grades_on_a_high_scale(pairs, top):
    objective = LambdaRank("nerr", pairs=pairs, tie_order="stable")
    found = gradient(objective, [0, 5, 1, 3], max_grade=top)
    exact = gradient(objective, [0, 5, 1, 3], max_grade=top, dtype=np.float64)
    assert found[0].any()
    assert_allclose(found, exact, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("metric", ["gap", "ap", "ndcg"])
@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e100, 1e160, 1e300])
def test_relative_sigma_at_scores_of_any_size(metric, size):
    scores = np.array([1.0, -1.0, 0.3])
    found = gradient(SoftRank(metric, relative=True), [0, 2, 1], size * scores)
    assert np.isfinite(found).all()
    if size > 1:
        plain = gradient(SoftRank(metric, relative=True), [0, 2, 1], scores, dtype=np.float64)
        soft = SoftRank(metric, relative=True)
        exact = gradient(soft, [0, 2, 1], size * scores, dtype=np.float64)
        assert_allclose(size * exact[0], plain[0], rtol=1e-9)


HUGE = [
    LambdaRank("gap"), LambdaRank("gap", norm=False), LambdaRank("err", norm=False),
    LambdaRank("ndcg", pairs="adjacent", norm=False), LambdaRank("ap", perturbations=2),
    LambdaLoss("ndcg"), UnbiasedLambdaRank("ndcg"), SoftRank("gap"), SoftRank("ndcg"),
    SoftRank("ndcg", relative=True), SoftRank("ndcg", relative=True, form="distribution"),
]  # fmt: skip


@pytest.mark.parametrize("objective", HUGE, ids=repr)
@pytest.mark.parametrize("size", [1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_scores(objective, size, dtype):
    scores = size * np.array([1.0, -1.0, 0.3])
    assert np.isfinite(gradient(objective, [0, 2, 1], scores, dtype=dtype)).all()


@pytest.mark.parametrize("objective", [LambdaRank, LambdaLoss, SoftRank])
def test_linear_gains_without_end_are_refused(objective):
    chosen = objective("ndcg(gain=linear)")
    with pytest.raises(ValueError, match=r"label of row 1 is 1e\+308: labels must be 0 or between"):
        gradient(chosen, [0, 1e308, 1e308, 5e307])
    with pytest.raises(ValueError, match=r"label of row 1 is .*e-324: labels must be 0 or between"):
        gradient(chosen, [0, 5e-324, 5e-324, 0])
    for size in (1e-30, 1e30):
        found = gradient(chosen, [0, 2 * size, size, 0])
        assert_allclose(found, gradient(chosen, [0, 2, 1, 0]), rtol=1e-5)


@pytest.mark.parametrize(
    "objective", [LambdaRank("gap"), LambdaLoss("ndcg"), SoftRank("gap"), SquaredError()], ids=repr
)
def test_weights_without_end_are_refused(objective):
    with pytest.raises(ValueError, match=r"weight of query 0 is 1e\+308.*Scale the weights down"):
        gradient(objective, [0, 1, 2, 1], weight=1e308)
    assert np.isfinite(gradient(objective, [0, 1, 2, 1], weight=1e15)).all()


def test_calls_refuse_what_is_no_number():
    with pytest.raises(ValueError, match="beyond the range of float64"):
        skrank.LambdaRank("dcg", sigmoid=1e6, norm=False)(
            [0, 990, 0], [0, 0, 0], sample_weight=[1e15] * 3
        )
