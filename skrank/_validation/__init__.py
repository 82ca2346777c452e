"""Checks of arguments. Every message names the row, query or parameter and the remedy.

``check_...`` raises an error or returns the value in its normal form; ``refuse_...`` raises an
error.
"""

from skrank._typing import RandomState as RandomState
from skrank._validation.arrays import *
from skrank._validation.boosters import *
from skrank._validation.data import *
from skrank._validation.extensions import *
from skrank._validation.features import *
from skrank._validation.parameters import *
from skrank._validation.statistics import *
from skrank._validation.tables import *
