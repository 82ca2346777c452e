"""Metrics of users whose decision to stop depends on the gains read: INST, BPM.

The value is the mean gain of the ranks read: sum of chance * gain / sum of chance, where `chance`
is the probability that the user reads the rank.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.ranking import end_of_block

MODELS = ("inst", "bpm")  # `Reader.model` is an index of this
_INST, _BPM = range(2)

ROUNDING = 1e-9  # sums of gains may be lower than the goal by rounding errors up to this
_SERIES_FROM = 20  # from this x on, the asymptotic series of `_inverse_squares` has 15 digits


class Reader(NamedTuple):
    """Parameters of a user model."""

    model: int
    gain: np.ndarray  # by code: gain / highest gain, in [0, 1]
    limit: int  # largest number of ranks that the user reads
    goal: float  # T: the sum of gains that the user wants


@subroutine()
def _inverse_squares(x):
    """Sum of 1 / (x + j)**2 over j = 0, 1, 2, ..."""
    total = 0.0
    while x < _SERIES_FROM:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / x
    square = y * y
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return total + y * (1.0 + 0.5 * y + series)


# Each function below gets the gains of the retrieved ranks down to `limit`. It returns the value,
# and the number of these ranks that the user may read.


@subroutine()
def _inst(gains, tables):
    """The user goes on from rank i to rank i + 1 with the probability ((a - 1) / a)**2.

    Here a = i + 2 T - G, where G is the sum of the gains down to rank i: constant below the list.
    """
    gain_read, read, gained, chance = 0.0, 0.0, 0.0, 1.0
    a = 2.0 * tables.goal
    for rank in range(len(gains)):
        gain_read += chance * gains[rank]
        read += chance
        gained += gains[rank]
        a = rank + 1.0 + 2.0 * tables.goal - gained
        chance *= ((a - 1.0) / a) * ((a - 1.0) / a)
    left = tables.limit - len(gains)
    read += chance * (a * a) * (_inverse_squares(a) - _inverse_squares(a + left))
    return gain_read / read, len(gains)


@subroutine()
def _bpm(gains, tables):
    """The user stops at the rank where the sum of gains reaches the goal, or at the limit."""
    enough = tables.goal - ROUNDING
    gained, n_read = 0.0, 0
    while n_read < len(gains) and gained < enough:
        gained += gains[n_read]
        n_read += 1
    # a user who has not enough at the end of the list reads on, without a gain
    return gained / (n_read if gained >= enough else tables.limit), n_read


@subroutine()
def _order_matters(gains, tied, row, n_read, tables):
    """Whether a block of ties above rank `n_read` has different gains, whose order matters.

    `gains` are of all retrieved ranks; the first rank is in `row`. For BPM, the order only matters
    if the user may stop above the last document of the block.
    """
    low, gained = 0, 0.0
    while low < n_read:
        high = end_of_block(tied, row + low, row + len(gains)) - row
        least, most = gains[low], gains[low]
        for rank in range(low, high):
            gained += gains[rank]
            least, most = min(least, gains[rank]), max(most, gains[rank])
        may_stop = gained - least >= tables.goal - ROUNDING or high > tables.limit
        if least < most and (tables.model != _BPM or may_stop):
            return True
        low = high
    return False


@kernel(plain=True)
def values(first, last, indptr, lists, tables, inverse, out):
    """Fill in the value of each query times `inverse`; 0 if `inverse` is 0.

    Ends at the first query in which the order of tied documents matters, and returns it; else -1.
    """
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        row, n = indptr[q], lists.retrieved[q]
        gains = tables.gain[lists.codes[row : row + n]]
        gains_to_limit = gains[: min(n, tables.limit)]
        if tables.model == _INST:
            value, n_read = _inst(gains_to_limit, tables)
        else:
            value, n_read = _bpm(gains_to_limit, tables)
        if _order_matters(gains, lists.tied, row, n_read, tables):
            return q
        out[q] = value * inverse[q]
    return -1
