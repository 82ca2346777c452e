"""LambdaRank for clicks, whose probability depends on the shown position: unbiased LambdaMART.

With t+ the probability of a click at a position, and t- that of no click, both relative to the
first position, a pair of a clicked document i and a document j that was not clicked has the weight

    |delta_ij| / (t+_i t-_j),

where delta_ij is the change of the metric by a swap. The next t+ and t- follow from costs: the cost
of a row is the sum over its pairs of |delta_ij| log(1 + exp(-sigma (s_i - s_j))), each divided by
t-_j if the row is i, and by t+_i if it is j.

`quadratic_lambdas` loops over the pairs. This file has the parts that plain LambdaRank lacks.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels import buckets
from skrank._kernels.jit import subroutine
from skrank._kernels.simd import log1p
from skrank._kernels.tiles import FIELD

SKIP_LANES, COST_LANES = (np.uint64((buckets.FIELDS + i) * FIELD) for i in range(2))
FIELDS = buckets.FIELDS + 2

# More rows of the array `slots` of `buckets`: 1 / t+, 1 / t-, the cost of the pairs in which the
# document was clicked, and the cost of the pairs in which it was not.
CLICK, SKIP, CLICKED, SKIPPED = (buckets.N_ROWS + i for i in range(4))
N_ROWS = buckets.N_ROWS + 4


class Clicks(NamedTuple):
    """Position bias of clicks, by row."""

    click: np.ndarray  # 1 / t+
    skip: np.ndarray  # 1 / t-
    clicked: np.ndarray  # output: cost of the pairs in which the row was clicked
    skipped: np.ndarray  # output: cost of the pairs in which the row was not clicked


@subroutine(fastmath=True)
def cost_of(delta, ahead, e, sigma, norm):
    """Cost of a pair: weight * log(1 + exp(-sigma ahead)); `e` is exp(-sigma |ahead|)."""
    behind = -ahead if ahead < 0 else norm.zero
    return delta / (norm.base + norm.slope * abs(ahead)) * (log1p(e) + sigma * behind)


@subroutine()
def clear(clicks, start, stop):
    """Set the costs of a query to 0, if it has the weight 0 or all its orders are equal."""
    clicks.clicked[start:stop] = 0
    clicks.skipped[start:stop] = 0


@subroutine()
def gather(clicks, start, n, places, slots):
    """Copy 1 / t+ and 1 / t- of the documents of a query into `slots`, and set their costs to 0."""
    click, skip = clicks.click, clicks.skip
    for i in range(n):
        row = start + places[buckets.POSITION, i]
        slots[CLICK, i], slots[SKIP, i] = click[row], skip[row]
        slots[CLICKED, i], slots[SKIPPED, i] = 0, 0


@subroutine()
def scatter(clicks, start, n, places, slots, weight):
    """Copy the costs of the documents of a query, times its weight, from `slots` to its rows."""
    clicked, skipped = clicks.clicked, clicks.skipped
    for i in range(n):
        row = start + places[buckets.POSITION, i]
        clicked[row] = weight * slots[CLICKED, i]
        skipped[row] = weight * slots[SKIPPED, i]
