"""Squared error, and weighted sums of objectives."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import LambdaRank, SoftRank, SquaredError
from skrank.objectives import ObjectiveMixture
from tests.helpers.catalogue import lists
from tests.helpers.lambdarank_cases import STABLE

# ---------------------------------------------------------------------- squared error


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        ({}, [0, 1 / 15, 3 / 15, 1]),
        ({"max_grade": 5}, [0, 1 / 31, 3 / 31, 15 / 31]),
        ({"gain": [0, 1, 1, 2, 4, 8]}, [0, 0.125, 0.125, 0.5]),
        ({"gain": [1, 1, 1, 1, 2]}, [0.5, 0.5, 0.5, 1]),
    ],
)
def test_targets_are_gains_on_the_scale_of_the_collection(options, targets):
    grad, hess = SquaredError(**options)([0, 1, 2, 4], np.zeros(4), groups=[0, 0, 1, 1])
    assert_allclose(grad, -np.array(targets), atol=1e-15)
    assert_array_equal(hess, np.ones(4))


@pytest.mark.parametrize(
    ("objective", "labels", "named"),
    [(SquaredError(max_grade=3), [0, 4], r"label 4.*max_grade=3"),
     (SquaredError([0, 1]), [0, 2], r"gain.*label 2")],
)  # fmt: skip
def test_labels_without_a_gain_are_named(objective, labels, named):
    with pytest.raises(ValueError, match=named):
        objective(labels, [0, 0])


# ---------------------------------------------------------------------- mixtures of objectives


def test_gradients_add_up():
    data = lists(4, n_queries=20).retrieved()
    how = {"groups": data.groups, "sample_weight": np.full(len(data.groups), 2.0)}
    parts = (LambdaRank("gap", **STABLE), SquaredError("linear"), SoftRank("ndcg"))
    inner = ObjectiveMixture([(1, parts[0]), (2, parts[1])])
    both = ObjectiveMixture([(0.5, inner), (np.float64(0.25), parts[2])])
    assert both.parts == ((0.5, parts[0]), (1.0, parts[1]), (0.25, parts[2]))
    found = both(data.relevance, data.scores, **how)
    each = [np.stack(one(data.relevance, data.scores, **how)) for one in parts]
    assert_allclose(found, 0.5 * each[0] + each[1] + 0.25 * each[2], atol=1e-12)


def test_sums_are_written_with_operators():
    gap, squares = LambdaRank("gap"), SquaredError()
    expected = ObjectiveMixture([(0.9, gap), (0.2, squares)])
    both = np.float64(0.9) * gap + 0.1 * (squares * 2)
    assert both == expected
    assert str(both) == "0.9 * LambdaRank('gap') + 0.2 * SquaredError()"
    assert eval(str(both), {"LambdaRank": LambdaRank, "SquaredError": SquaredError}) == both
    assert gap + squares + gap == ObjectiveMixture([(1, gap), (1, "squared_error"), (1, "gap")])
    with pytest.raises(TypeError):
        gap + 1


def test_weights_and_parts_are_checked():
    one = LambdaRank("gap")
    for weight in (True, math.nan, math.inf, 0, -1.0, "2", None, np.array([0.5, 0.5])):
        with pytest.raises(ValueError, match="weight="):
            ObjectiveMixture([(weight, one)])
    with pytest.raises(ValueError, match="weight"):
        1e-200 * (1e-200 * one)
    for parts in ((), None, 3, "gap", [one, one], [(1, one, 2)]):
        with pytest.raises(ValueError, match="parts="):
            ObjectiveMixture(parts)
    with pytest.raises(ValueError, match="3"):
        ObjectiveMixture([(1, 3)])
