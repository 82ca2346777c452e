"""Properties of several objectives that `check_objective` does not test."""

import dataclasses

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


@pytest.mark.usefixtures("every_thread")
@pytest.mark.parametrize("objective", THREADED, ids=str)
def test_the_number_of_threads_changes_no_bit(objective):
    rng = np.random.default_rng(0)
    n = 100_007
    labels, groups = rng.choice([0.0, 0, 0, 1, 2, 3], n), np.sort(rng.integers(0, 5000, n))
    judgments, scores = judge(labels, groups), rng.normal(size=n).round(1)
    results = []
    for n_threads in (1, 2, 5):
        with limit_threads(n_threads):
            results.append(rounds(objective, judgments, scores))
    for other in results[1:]:
        for one, expected in zip(other, results[0], strict=True):
            assert_array_equal(one, expected)


CALLS = [LambdaRank("gap"), Softmax(), SquaredError(), SoftRank("gap"), SoftRank("gap").value]


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_named(call, value):
    needs = "SoftRank needs" if "SoftRank" in repr(call) else "need.* finite.*learning rate"
    with pytest.raises(ValueError, match=rf"score of row 2 is {value}: .*{needs}"):
        call([1, 0, 1, 0], [1, 2, value, 3], groups=["b", "a", "b", "a"])


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


@pytest.mark.parametrize("objective", [*CALLS[:4], LambdaRank("gap") + Softmax()], ids=str)
def test_objectives_take_no_options(objective):
    assert as_objective(objective) is objective
    with pytest.raises(ValueError, match=r"options \['sigma'\]"):
        as_objective(objective, sigma=3)
    assert as_objective("gap", truncation_level=30) == LambdaRank("gap", truncation_level=30)


REFUSED = [
    (LambdaRank, {"sigmoid": 0}, "sigmoid=0"),
    (LambdaRank, {"sigmoid": float("nan")}, "sigmoid=nan"),
    (LambdaRank, {"metric": "precision"}, "precision"),
    (LambdaRank, {"truncation_level": 2.5}, "truncation_level=2.5"),
    (LambdaRank, {"tie_order": "rows"}, r"tie_order='rows' .*'random', 'stable'"),
    (LambdaRank, {"norm": "no"}, "norm='no'"),
    (LambdaRank, {"random_state": 0.5}, "random_state=0.5"),
    (LambdaRank, {"metric": "gpa"}, "'gpa'.*'gap'"),
    (LambdaRank, {"metric": "gap(condensed=True)"}, "drop the training rows without a label"),
    (LambdaLoss, {"mu": -1}, "mu=-1"),
    (LambdaLoss, {"weights": "loss1"}, r"weights='loss1' .*'ndcg_loss2\+\+', 'ndcg_loss2'"),
    *((LambdaLoss, {"metric": name}, "LambdaLoss") for name in ("gap", "err", "rbp")),
    (Softmax, {"random_gains": 2}, "random_gains"),
    (Softmax, {"gain": "log"}, "gain='log'"),
    (SquaredError, {"centered": "no"}, "centered='no'"),
    (SoftRank, {"sigma": 0}, "sigma=0"),
    (SoftRank, {"relative": "yes"}, "relative='yes'"),
    *(
        (SoftRank, {"metric": name}, "ndcg")
        for name in ("gap@10", "ndcg(discount=jk)", "err", "gap(condensed=True)")
    ),
]


@pytest.mark.parametrize(("cls", "options", "message"), REFUSED, ids=str)
def test_options_are_checked(cls, options, message):
    own = {field.name for field in dataclasses.fields(cls)}
    given = {"metric": "ndcg"} if "metric" in own else {}
    with pytest.raises(ValueError, match=message):
        cls(**given | options)
