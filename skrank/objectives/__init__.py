"""Objectives to train rankers on, and their gradients."""

from skrank.objectives.base import Objective as Objective
from skrank.objectives.base import ObjectiveMixture as ObjectiveMixture
from skrank.objectives.base import as_objective as as_objective
from skrank.objectives.lambdaloss import LambdaLoss as LambdaLoss
from skrank.objectives.lambdarank import LambdaRank as LambdaRank
from skrank.objectives.softmax import Softmax as Softmax
from skrank.objectives.softrank import SoftRank as SoftRank
from skrank.objectives.squared_error import SquaredError as SquaredError
