"""check_objective: objectives of skrank pass, and mistakes are found."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from skrank import LambdaLoss, LambdaRank, Softmax, SoftRank, SquaredError
from skrank.objectives import Objective, as_objective
from skrank.testing import check_objective

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PLAIN = [
    LambdaRank("gap"),
    LambdaRank("err@5", truncation_level=3, norm=False),
    LambdaLoss("ndcg@3", weights="ndcg_loss2", truncation_level=4, norm=True, sigmoid=0.5),
    SoftRank("gap"),
    SoftRank("ndcg"),
    SoftRank("ap", relative=True),
    Softmax({0: 0.5, 1: 1, 2: 4, 3: 4}),
    SquaredError(centered=True),
    0.5 * Softmax() + 0.5 * SoftRank("gap"),
]
OTHER = [
    (SquaredError(), {"shift_invariant": False}),
    (0.5 * SquaredError() + 0.5 * LambdaRank("gap"), {"shift_invariant": False}),
    (Softmax(random_gains=True), {"random": True}),
]


@pytest.mark.parametrize(
    ("objective", "how"), [*((one, {}) for one in PLAIN), *OTHER], ids=lambda x: str(x)[:40]
)
def test_every_property(objective, how):
    held = check_objective(objective, **how)
    objective = as_objective(objective)
    assert {"gradients are numbers", "weights scale gradients", "copies are equal"} <= set(held)
    assert ("gradients are those of the loss" in held) == objective.is_function
    assert ("gradients balance" in held) == how.get("shift_invariant", True)


@dataclass(frozen=True)
class Wrong(Objective):
    """The hinge loss of the documentation, with a mistake."""

    mistake: str

    @property
    def is_function(self):
        return True

    def bind(self, judgments, weights=None, *, max_grade=None):
        correct = pair_hinge()().bind(judgments, weights, max_grade=max_grade)
        return BoundWrong(correct, self.mistake)


@cache
def pair_hinge():
    """The class of the example, without the training below it."""
    names = {"__name__": "own_objective"}
    exec((EXAMPLES / "own_objective.py").read_text("utf-8").partition("\ndata = ")[0], names)
    return names["PairHinge"]


class BoundWrong:
    def __init__(self, correct, mistake):
        self.correct, self.mistake, self.calls = correct, mistake, 0
        if mistake == "weights":
            correct.weight = np.ones(len(correct.weight))

    def losses(self, scores, grad, hess):
        if self.mistake == "scores":
            scores = np.nan_to_num(scores, posinf=9, neginf=-9)
        losses = self.correct.losses(scores, grad, hess)
        self.calls += 1
        grad *= {"slope": 2, "nothing": 0, "others": len(losses)}.get(self.mistake, 1)
        grad *= self.calls if self.mistake == "calls" else 1
        grad += 0.1 * (self.mistake == "balance")
        hess -= self.mistake == "curvature"
        return losses

    def gradient(self, scores, grad, hess):
        self.losses(scores, grad, hess)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("slope", "gradients are those of the loss"),
        ("curvature", "gradients are numbers"),
        ("nothing", "gradients are numbers"),
        ("balance", "gradients balance"),
        ("others", "queries are trained on alone"),
        ("weights", "weights scale gradients"),
        ("calls", "gradients are a function of scores"),
        ("scores", "scores that are not finite are refused"),
    ],
)
def test_mistakes_are_found(mistake, message):
    with pytest.raises(AssertionError, match=f"does not hold: {message}"):
        check_objective(Wrong(mistake))
