"""Properties of several objectives that `check_objective` does not test."""

import inspect
import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from skrank.objectives import as_objective
from tests.helpers.engine import judge, limit_threads

THREADED = [
    LambdaRank("gap"),
    LambdaRank("gap", tie_order="stable"),
    LambdaRank("err"),
    LambdaRank("err", tie_order="stable"),
    LambdaLoss("ndcg@10"),
    *(SoftRank(name) for name in ("gap", "ap", "ndcg")),
]


def rounds(objective, judgments, scores):
    """Gradients of three rounds, and what the objective learns or measures beside them."""
    bound, found = objective.bind(judgments), []
    for now in (np.zeros(len(scores)), scores, -scores):
        found.append(np.full((2, len(scores)), np.nan, np.float32))
        bound.gradient(now, *found[-1])
        assert np.isfinite(found[-1]).all()
    if isinstance(objective, SoftRank):
        found.append(bound.values(scores))
    return found


@pytest.mark.parametrize("objective", THREADED, ids=str)
def test_the_number_of_threads_changes_no_bit(objective):
    rng = np.random.default_rng(0)
    n = 100_007
    labels, groups = rng.choice([0.0, 0, 0, 1, 2, 3], n), np.sort(rng.integers(0, 5000, n))
    judgments, scores = judge(labels, groups), rng.normal(size=n).round(1)
    with limit_threads(1):
        expected = rounds(objective, judgments, scores)
    with limit_threads(5):
        found = rounds(objective, judgments, scores)
    for gradients, of_one_thread in zip(found, expected, strict=True):
        assert_array_equal(gradients, of_one_thread)


@pytest.mark.parametrize(
    ("objective", "fixed"),
    [
        (LambdaRank("err"), LambdaRank("err(max_grade=4)")),
        (SoftRank("gap"), SoftRank("gap(max_grade=4)")),
        (
            LambdaRank("gap") + SquaredError(),
            LambdaRank("gap(max_grade=4)") + SquaredError(max_grade=4),
        ),
    ],
    ids=str,
)
def test_the_scale_of_the_collection_is_that_of_bind(objective, fixed):
    found = np.empty((2, 3))
    objective.bind(judge([1, 0, 2]), max_grade=4).gradient(np.zeros(3), *found)
    assert_array_equal(found, fixed([1, 0, 2], np.zeros(3)))


@pytest.mark.parametrize("objective", [Softmax(), LambdaRank("gap") + Softmax()], ids=str)
def test_objectives_take_no_options(objective):
    assert as_objective(objective) is objective
    with pytest.raises(ValueError, match=r"options \['sigma'\]"):
        as_objective(objective, sigma=3)
    assert as_objective("gap", truncation_level=30) == LambdaRank("gap", truncation_level=30)


REFUSED = [
    *((LambdaRank, "sigmoid", value) for value in (0, float("nan"))),
    *((LambdaRank, "metric", name) for name in ("precision", "gpa", "gap(condensed=True)")),
    (LambdaRank, "truncation_level", 2.5),
    (LambdaRank, "tie_order", "rows"),
    (LambdaRank, "norm", "no"),
    (LambdaRank, "random_state", 0.5),
    (LambdaLoss, "mu", -1),
    (LambdaLoss, "weights", "loss1"),
    (partial(LambdaLoss, weights="ndcg_loss2"), "mu", 3),
    *((LambdaLoss, "metric", name) for name in ("gap", "err", "rbp")),
    (Softmax, "random_gains", 2),
    (Softmax, "gain", "log"),
    (SquaredError, "centered", "no"),
    (SquaredError, "max_grade", 0),
    *((SquaredError, "gain", gain) for gain in ([0, 2, 1], {0: 0, 2: 0}, [0, 1e301])),
    (partial(SquaredError, [0, 1, 3]), "max_grade", 2),
    (SoftRank, "sigma", 0),
    (SoftRank, "relative", "yes"),
    *((SoftRank, "metric", name) for name in ("gap@10", "ndcg(discount=jk)", "err")),
]


@pytest.mark.parametrize(("cls", "option", "value"), REFUSED, ids=str)
def test_options_are_checked(cls, option, value):
    """The error names the option, or the metric."""
    required = {"metric": "ndcg"} if "metric" in inspect.signature(cls).parameters else {}
    named = re.match(r"\w*", value)[0] if option == "metric" else option
    with pytest.raises(ValueError, match=named):
        cls(**required | {option: value})
