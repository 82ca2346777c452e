"""Training on weighted sums of metrics and of objectives."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import LambdaRank, SoftRank, SquaredError
from skrank.metrics import Mixture
from skrank.objectives import ObjectiveMixture
from tests.helpers.catalogue import MIXTURES, MixturePoint, lists, trainable
from tests.helpers.lambdarank_cases import STABLE, gradient, literal
from tests.helpers.mixture_cases import gap

# ---------------------------------------------------------------------- LambdaRank on mixtures


TRAINABLE = [
    *filter(trainable, MIXTURES),
    MixturePoint("0.5*gap+0.2*ndcg@3+0.3*err"),
    MixturePoint("2.0*dcg+3.0*rbp(p=0.5)@3"),
]

NORMS = [True, "score", "sum", False]


@pytest.mark.parametrize("point", TRAINABLE, ids=repr)
@pytest.mark.parametrize("norm", NORMS)
def test_lambdas_are_the_literal_double_loop(point, norm):
    cases = [
        (lists(0).retrieved(), {}),
        (lists(1, levels=3).retrieved(), {"truncation_level": 2, "sigmoid": 2.0}),
        (lists(2, scattered=False, longest=9).retrieved(), {"truncation_level": 5}),
    ]
    for data, more in cases:
        options = {"norm": norm} | more
        found, expected = gradient(point.metric, data, **options), literal(point, data, **options)
        assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert (found[1] >= 0).all()
        for query in data.ids:
            assert found[0][data.groups == query].sum() == pytest.approx(0, abs=1e-12)


def test_all_metrics_of_a_mixture_share_one_order_of_ties():
    """Otherwise, the parts would rank a tied document at different ranks."""
    labels, groups = np.tile([3, 2, 1, 0], 200), np.repeat(np.arange(200), 4)
    one = LambdaRank("gap", norm=False)(labels, np.zeros(800), groups=groups)
    two = LambdaRank("0.5*gap+0.5*gap", norm=False)(labels, np.zeros(800), groups=groups)
    assert_allclose(two, one, atol=1e-12)


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


def test_options_of_squared_error_are_checked():
    for options, message in [
        ({"gain": [0, 2, 1]}, "must not fall as labels rise"),
        ({"gain": {0: 0, 2: 0}}, "is 0 for every label"),
        ({"max_grade": 0}, "max_grade=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            SquaredError(**options)
    with pytest.raises(ValueError, match=r"label 4.*max_grade=3"):
        SquaredError(max_grade=3)([0, 4], [0, 0])
    with pytest.raises(ValueError, match=r"gain.*label 2"):
        SquaredError([0, 1])([0, 2], [0, 0])


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


@pytest.mark.parametrize(
    ("one", "mixture"),
    [(gap, Mixture), (LambdaRank("gap"), ObjectiveMixture)],
    ids=["metric", "objective"],
)
def test_weights_and_parts_are_checked(one, mixture):
    for weight in (True, math.nan, math.inf, 0, -1.0, "2", None, np.array([0.5, 0.5])):
        with pytest.raises(ValueError, match="weight="):
            mixture(parts=[(weight, one)])
    with pytest.raises(ValueError, match="weight"):
        mixture(parts=[(1e-200, mixture(parts=[(1e-200, one)]))])
    for parts in ((), None, 3, "gap", [one, one], [(1, one, 2)]):
        with pytest.raises(ValueError, match="must be pairs of a weight and an item"):
            mixture(parts=parts)
    with pytest.raises(ValueError, match="3"):
        mixture(parts=[(1, 3)])
