"""The distribution of highest entropy under which a metric has a given value."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

import skrank
from skrank.extending import QuadraticTables
from skrank.informativeness import maximum_entropy
from tests.helpers.catalogue import CATALOGUE
from tests.helpers.engine import judge
from tests.helpers.informativeness_cases import random_list


def entropy(p):
    p = np.maximum(p, 1e-300)
    return -np.sum(p * np.log(p))


def expected_gap(p, g, relevant):
    """Expected GAP by its definition: P(relevant at threshold j) = P(grade >= j)."""
    total = 0.0
    for j, share in enumerate(g, start=1):
        at_least = p[:, j:].sum(axis=1)
        for n in range(len(p)):
            total += share * at_least[n] / (n + 1) * (1 + at_least[:n].sum())
    return total / (np.cumsum(g) @ relevant)


def slsqp(expected, value, retrieved, n_ranks, seed):
    """The solution of the same problem by scipy's SLSQP."""
    counts = np.concatenate(([n_ranks - sum(retrieved)], retrieved))
    shape = (n_ranks, len(counts))
    rng = np.random.default_rng(seed)
    start = 0.7 * counts / n_ranks + 0.3 * rng.dirichlet(np.ones(len(counts)), n_ranks)
    rows = np.kron(np.eye(n_ranks), np.ones(len(counts)))
    columns = np.tile(np.eye(len(counts)), n_ranks)[1:]
    linear = np.vstack([rows, columns])
    sums = np.concatenate([np.ones(n_ranks), counts[1:]])
    found = minimize(
        lambda z: -entropy(z),
        start.ravel(),
        jac=lambda z: 1 + np.log(np.maximum(z, 1e-300)),
        bounds=[(1e-12, 1)] * start.size,
        constraints=[
            {"type": "eq", "fun": lambda z: linear @ z - sums, "jac": lambda z: linear},
            {"type": "eq", "fun": lambda z: expected(z.reshape(shape)) - value},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return found.x.reshape(shape), found.success


# the solver


@pytest.mark.parametrize(
    ("value", "retrieved", "n_ranks", "g"),
    [
        (0.8, [2, 1], 6, (0.5, 0.5)),
        (0.45, [2, 1], 6, (0.5, 0.5)),  # below the value of the uniform distribution
        (0.6, [3, 2], 12, (0.9, 0.1)),
        (0.95, [2, 3], 10, (0.1, 0.9)),
        (0.5, [1, 2, 2], 12, (0.2, 0.5, 0.3)),
        (0.7, [4], 15, (1.0,)),
        (0.75, [2, 2], 8, (0.4, 0.6)),
    ],
)
def test_gap_equals_a_general_solver(value, retrieved, n_ranks, g):
    found = maximum_entropy(skrank.metric("gap", thresholds=g), value, retrieved, n_ranks)
    assert found.converged
    for seed in range(2):
        other, success = slsqp(
            lambda p: expected_gap(p, g, retrieved), value, retrieved, n_ranks, seed
        )
        if success and entropy(other) > found.entropy - 1e-6:
            break
    else:
        raise AssertionError("SLSQP found no solution")
    assert entropy(other) == pytest.approx(found.entropy, abs=1e-6)
    np.testing.assert_allclose(found.probabilities, other, atol=1e-6)


QUADRATIC = [
    point.settled
    for point in CATALOGUE
    if isinstance(point.settled.bind(judge([3.0, 2, 1, 0]), max_grade=3).tables, QuadraticTables)
    and point.settled.names[0] not in ("judged", "mixture")
    and not point.settled.names[0].endswith("_residual")
    and str(point.settled) != "set_ap"  # does not depend on the order of documents
    and not point.settled.condensed
]


@pytest.mark.parametrize("metric", QUADRATIC, ids=str)
def test_the_result_satisfies_constraints_and_stationarity(metric):
    """Every metric that is a sum over documents and pairs."""
    grades = random_list(0)
    scores = -np.arange(60.0)
    metric = metric.on_scale(3)
    value = metric(grades, scores)
    retrieved = np.bincount(grades, minlength=4)[1:]
    found = maximum_entropy(metric, value, retrieved, 60)
    assert found.converged
    assert found.expected == pytest.approx(value, rel=1e-4)
    assert str(metric) in repr(found)
    assert "NOT CONVERGED" not in repr(found)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(found.probabilities.sum(axis=0), found.retrieved, atol=1e-7)
    assert found.probabilities.min() >= 0
    # a list is a distribution of entropy 0 with this mean
    assert 0 <= found.entropy <= entropy(np.tile(found.retrieved / 60, (60, 1))) + 1e-9


@pytest.mark.parametrize("n_ranks", [1, 2, 5, 30, 300])
@pytest.mark.parametrize("noise", [0.01, 1.0, 5.0, -3.0])
def test_convergence_from_the_worst_list_to_the_best(n_ranks, noise):
    for seed in range(8):
        grades = random_list(seed, n_ranks, 3, noise)
        if not grades.any():
            continue
        g = np.random.default_rng(seed).dirichlet([0.5, 0.5])
        metric = skrank.metric("gap", thresholds=g / g.sum())
        value = metric(grades, -np.arange(float(n_ranks)))
        found = maximum_entropy(metric, value, np.bincount(grades, minlength=3)[1:], n_ranks)
        assert found.converged
        assert abs(found.expected - value) < 1.1e-5


def test_metrics_without_information_give_the_uniform_distribution():
    found = maximum_entropy("recall", 1.0, [2, 1], 6)
    np.testing.assert_allclose(found.probabilities, np.tile([0.5, 1 / 3, 1 / 6], (6, 1)))
    everything = maximum_entropy("ap", 1.0, [3], 3)
    np.testing.assert_allclose(everything.probabilities, np.tile([0, 1], (3, 1)))


# errors


def test_reach_is_that_of_all_orders():
    grades = [2, 1, 1, 0, 0]
    for name in ("gap", "ndcg", "q", "precision@2", "ap", "rbp"):
        metric = skrank.metric(name)
        orders = {metric(list(order), [5, 4, 3, 2, 1]) for order in set(permutations(grades))}
        for end in (min(orders), max(orders)):
            assert maximum_entropy(metric, end, [2, 1], 5).converged
        for beyond in (min(orders) - 1e-6, max(orders) + 1e-6):
            with pytest.raises(ValueError, match=r"is not possible: .* between"):
                maximum_entropy(metric, beyond, [2, 1], 5)


@pytest.mark.parametrize("name", ["err", "rr", "bpref", "infap", "iprec", "0.5*gap+0.5*ndcg"])
def test_metrics_of_other_families_are_refused(name):
    with pytest.raises(TypeError, match="not a sum over documents and pairs of documents"):
        maximum_entropy(name, 0.5, [2, 1], 6)
