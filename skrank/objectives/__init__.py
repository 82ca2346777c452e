"""Objectives: gradients of what a ranking is worth."""

from skrank.objectives.base import Objective as Objective
from skrank.objectives.base import as_objective as as_objective
from skrank.objectives.lambdarank import LambdaRank as LambdaRank
from skrank.objectives.softrank import SoftRank as SoftRank
