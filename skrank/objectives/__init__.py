"""Objectives to train rankers on, and their gradients."""

from skrank.objectives.base import Objective, ObjectiveMixture, as_objective
from skrank.objectives.lambdaloss import LambdaLoss
from skrank.objectives.lambdarank import LambdaRank
from skrank.objectives.softmax import Softmax
from skrank.objectives.softrank import SoftRank
from skrank.objectives.squared_error import SquaredError

__all__ = [
    "LambdaLoss", "LambdaRank", "Objective", "ObjectiveMixture", "SoftRank", "Softmax",
    "SquaredError", "as_objective",
]  # fmt: skip
