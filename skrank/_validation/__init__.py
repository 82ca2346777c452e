"""All checks of what a caller passes in. Every message names the place and the remedy."""

from skrank._typing import RandomState as RandomState
from skrank._validation.arrays import *
from skrank._validation.boosters import *
from skrank._validation.data import *
from skrank._validation.extensions import *
from skrank._validation.features import *
from skrank._validation.objectives import *
from skrank._validation.parameters import *
from skrank._validation.statistics import *
