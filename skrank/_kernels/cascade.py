"""Cascade metrics, whose user reads down a list until a document satisfies: ERR, PFound, RR.

A document with the label y satisfies the user with the probability rho(y). A user who is satisfied
at rank r adds phi_r, which does not increase with r. The value of a list is

    sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s)).

Swapping the documents at the ranks a < b changes it by

    prod_{s<a} (1 - rho_s) (rho_a - rho_b) (S + P phi_b - phi_a),

    S = sum_{a<r<b} phi_r rho_r prod_{a<s<r} (1 - rho_s),     P = prod_{a<s<b} (1 - rho_s).

S and P for b + 1 follow from S and P for b, without a division by 1 - rho: docs/kernels.md (9).

In the functions below, `alive` is the probability that a user reaches the current rank. Unsigned
indexes are as in `quadratic`.

For a block of tied documents, ``passes[j]`` is the probability that a user passes the first j
documents of a random order: the mean of prod (1 - rho) over all sets of j documents, (10).
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.ranking import end_of_block
from skrank._kernels.tiles import longest

_NEGLIGIBLE = 1e-18  # relative size of terms that are lost to rounding


class Cascade(NamedTuple):
    """``sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s))``."""

    stop: np.ndarray  # rho by code
    phi: np.ndarray  # by rank
    depth: int  # phi is 0 from this rank on


@subroutine()
def _negligible_from(codes, low, high, stop):
    """Number of documents of a random order after which the others add less than rounding errors.

    A user passes j documents with a probability of at most m^j, where m is the mean of 1 - rho
    (Maclaurin's inequality for symmetric means). The documents after them add at most m^j phi to
    the value, and the first document alone adds (1 - m) phi, where phi is that of its rank.
    """
    total = 0.0
    for row in range(low, high):
        total += stop[codes[row]]
    mean = total / (high - low)
    if mean == 0 or mean >= 1:
        return int(mean > 0)
    needed = np.log(_NEGLIGIBLE * mean) / np.log1p(-mean)
    return int(min(np.ceil(needed), float(high - low)))


@subroutine()
def _add_one(passes, end, n_known, goes_on):
    """Add a document that a user passes with the probability `goes_on` to ``passes[: end + 1]``."""
    for j in range(end, 0, -1):
        share = j / n_known  # probability that this document is among the first j
        passes[j] = (1.0 - share) * passes[j] + share * goes_on * passes[j - 1]


@subroutine()
def _expect_block(codes, low, high, tables, first_rank, passes):
    """Mean value of the tied rows low .. high - 1 over their orders, for a user who reaches them.

    Only the first `n_counted` ranks of the block count: the others add rounding errors, or are
    below `depth`. `passes` is workspace by number of documents. Documents with rho 0, which users
    pass, come first, and the others are added one by one.
    """
    stop, phi = tables.stop, tables.phi
    n_counted = min(_negligible_from(codes, low, high, stop), tables.depth - first_rank)
    n_known = 0
    for row in range(low, high):
        n_known += stop[codes[row]] == 0
    for j in range(n_counted + 1):
        passes[j] = 1.0 if j <= n_known else 0.0
    for row in range(low, high):
        rho = stop[codes[row]]
        if rho > 0:
            n_known += 1
            _add_one(passes, min(n_known, n_counted), n_known, 1.0 - rho)
    value = 0.0
    for j in range(n_counted):
        value += phi[first_rank + j] * (passes[j] - passes[j + 1])
    return value


@subroutine()
def _read(codes, row, n, tables):
    """Value of the first n ranks of a list without ties."""
    stop, phi = tables.stop, tables.phi
    alive, value, rank = 1.0, 0.0, np.uint64(0)
    while rank < n and alive > 0:
        rho = stop[codes[row + rank]]
        value += alive * rho * phi[rank]
        alive *= 1.0 - rho
        rank += np.uint64(1)
    return value


@kernel(plain=True, work=lambda first, last, indptr, *_: np.empty(longest(first, last, indptr) + 1))
def values(first, last, indptr, lists, first_tie, tables, inverse, out, passes):
    """Fill in the mean value of each query over the orders of tied documents, times `inverse`.

    `first_tie` is as in `quadratic.values`.
    """
    codes, tied, retrieved = lists
    stop, phi = tables.stop, tables.phi
    for q in range(first, last):
        out[q] = 0.0
        if inverse[q] == 0:
            continue
        start, end = indptr[q], indptr[q] + retrieved[q]
        n = retrieved[q] if retrieved[q] < tables.depth else tables.depth
        if first_tie[q] > n:
            out[q] = inverse[q] * _read(codes, np.uint64(start), np.uint64(n), tables)
            continue
        alive, value, low = 1.0, 0.0, start
        while low < start + n and alive > 0:
            high, rank = end_of_block(tied, low, end), low - start
            if high == low + 1:
                value += alive * stop[codes[low]] * phi[rank]
            else:
                value += alive * _expect_block(codes, low, high, tables, rank, passes)
            for row in range(low, high):
                alive *= 1.0 - stop[codes[row]]
            low = high
        out[q] = value * inverse[q]
