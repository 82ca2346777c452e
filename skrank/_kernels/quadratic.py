"""Metrics that are a sum over documents and over pairs of documents, as DCG and AP are.

With the labels y_1, y_2, ... of a list in rank order, its sum is

    sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r).

DCG, precision and RBP have K = 0. AP, GAP and the Q-measure have K > 0 for pairs of relevant
documents.

Labels are given as codes, which are small integers: ``gain[code]`` is g of a label. Codes with
equal rows and columns in K form a class, and K is a table of classes: ``worth[classes[upper],
classes[lower]]``. So there is a single class if K = 0, except for swaps, where all codes of a class
must also have the same gain. `skrank._engine.quadratic` sorts documents and fills the tables.

Swapping an upper document of class x with a lower one of class y changes the sum by D(upper rank) -
D(lower rank), see docs/kernels.md (3, 4), where, with S_z(r) = sum_{s<r} K(y_s, z) and H_z(r) =
sum_{s<r} w_s K(z, y_s),

    T_z(r) = u_r g_z + w_r S_z(r) - H_z(r)
    D(r)   = T_y(r) - T_x(r) - w_r (K(y, x) - K(x, x)).

So four entries of a table T of (ranks x classes) give the change by any swap.

A function declared as `kernel` is called by Python, a `subroutine` by kernels; numba compiles both.
The parameters `first`, `last` and `indptr` are the same for all kernels: a call computes the
queries ``first .. last - 1``, query q has the rows ``indptr[q] .. indptr[q + 1] - 1``, and threads
call a kernel for different queries. Ranks count from 0. The weights of the ranks of query q start
at ``offset[q]`` in u and w.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import ONE_PASS, kernel, subroutine
from skrank._kernels.ranking import end_of_block


class Quadratic(NamedTuple):
    """The tables of a metric, for documents that are given as codes (uint8)."""

    gain: np.ndarray  # g by code
    contributes: np.ndarray  # by code: whether documents add to the sum, alone or in pairs
    classes: np.ndarray  # class by code (uint8)
    worth: np.ndarray  # K by class of the upper document and class of the lower document
    u: np.ndarray  # weight of a document by rank
    w: np.ndarray  # weight of the pairs by rank of their lower document
    offset: np.ndarray  # by query: index of its first rank in u and w; 0 if queries share them
    depth: int  # u and w, which have an entry for every rank of a list, are 0 from this rank on


class QuadraticSwaps(NamedTuple):
    """The tables of a metric, for swaps of documents that are given as classes (uint8).

    Classes are numbered by ascending gain. No two classes have the same gain, since codes of equal
    gain must have equal rows and columns in K, which is checked when a metric makes its tables.
    There is no `depth`: u and w are 0 below the cut-off.
    """

    gain: np.ndarray  # g by class
    worth: np.ndarray  # as in `Quadratic`, and so are u, w and offset
    u: np.ndarray
    w: np.ndarray
    offset: np.ndarray


# The codes of a list are ``codes[first_row + rank]``, and ``above[z]`` is the sum of K(y_s, z) over
# all s above the current rank. Codes, classes and rows are unsigned, so that numba emits no check
# for negative indexes: 20 metrics of the same lists take a third less time. `_expect_block` has
# signed rows: its time matters less, since few lists have ties.


@subroutine()
def _sum_gains(codes, first_row, n, tables, offset):
    """Sum of the first n ranks of a list if K = 0."""
    gain, u = tables.gain, tables.u
    total = 0.0
    for rank in range(n):
        total += u[offset + rank] * gain[codes[first_row + rank]]
    return total


@subroutine()
def _sum_pairs(codes, first_row, n, tables, offset, above, ranks):
    """Sum of the first n ranks of a list.

    The workspace `ranks` takes the ranks of the documents that contribute.
    """
    gain, classes, worth, u, w = tables.gain, tables.classes, tables.worth, tables.u, tables.w
    contributes = tables.contributes
    n_contributing = np.uint64(0)
    for rank in range(n):
        ranks[n_contributing] = rank  # overwritten unless it contributes: a branch is slower
        n_contributing += np.uint64(contributes[codes[first_row + rank]])
    gains, pairs = 0.0, 0.0
    for z in range(len(above)):
        above[z] = 0.0
    for i in range(n_contributing):
        rank = np.uint64(ranks[i])
        code = codes[first_row + rank]
        c = classes[code]
        gains += u[offset + rank] * gain[code]
        pairs += w[offset + rank] * above[c]
        for z in range(len(above)):
            above[z] += worth[c, z]
    return gains + pairs


@subroutine()
def _expect_block(codes, low, high, tables, shift, above, block):
    """Mean, over all orders of the tied rows low .. high - 1, of their contribution to the sum.

    See docs/kernels.md (2). Adds these rows to `above`. The index of a row's rank in u and w is
    ``row + shift``; `block`, the number of rows of each class, is workspace.
    """
    gain, classes, worth, u, w = tables.gain, tables.classes, tables.worth, tables.u, tables.w
    n = high - low
    for c in range(len(block)):
        block[c] = 0.0
    gains, sum_u, sum_w, sum_w_steps = 0.0, 0.0, 0.0, 0.0
    for row in range(low, high):
        gains += gain[codes[row]]
        block[classes[codes[row]]] += 1.0
        sum_u += u[shift + row]
        sum_w += w[shift + row]
        sum_w_steps += w[shift + row] * (row - low)  # row - low ranks of the block are above
    with_above, within = 0.0, 0.0  # K summed over pairs with a document above, and in the block
    for c in range(len(block)):
        with_above += block[c] * above[c]
        for z in range(len(block)):
            within += block[c] * (block[z] - (z == c)) * worth[z, c]
    for c in range(len(block)):
        for z in range(len(block)):
            above[z] += block[c] * worth[c, z]
    # a single row has no pair: 1 in place of 0 avoids 0 / 0
    n_pairs = max(n * (n - 1.0), 1.0)
    return (sum_u * gains + sum_w * with_above) / n + sum_w_steps * within / n_pairs


def _workspace(first, last, indptr, lists, first_tie, tables, inverse, out):
    n_classes = len(tables.worth)
    ranks = np.empty(indptr[last] - indptr[first], np.uint32)  # enough for the longest list
    return np.empty(n_classes), np.empty(n_classes), ranks


@kernel(plain=True, row_cost=ONE_PASS, work=_workspace)
def values(first, last, indptr, lists, first_tie, tables, inverse, out, work):
    """Fill in each query's sum, averaged over all orders of tied documents, times ``inverse[q]``.

    Parameters
    ----------
    lists : Ranked of `skrank._kernels.ranking`
        Documents in rank order. ``tied[row]`` is 1 if the row has the score of the row above;
        ``retrieved[q]`` documents are ranked, and the others follow them.
    first_tie : array by query
        The first rank with a tied row; larger than any number of rows if there is none.
    tables : Quadratic
    inverse : array by query
        One over the normaliser; 0 if the value is 0 whatever the order.
    """
    codes, tied, retrieved = lists
    offsets, depth, n_classes = tables.offset, tables.depth, len(tables.worth)
    has_pairs = n_classes > 1 or tables.worth[0, 0] != 0
    above, block, ranks = work
    for q in range(first, last):
        if inverse[q] == 0:
            out[q] = 0.0
            continue
        start = indptr[q]
        n = retrieved[q] if retrieved[q] < depth else depth
        first_row, offset = np.uint64(start), np.uint64(offsets[q])
        if first_tie[q] <= n:  # n, too: then ranks n - 1 and n, inside and below the cut-off, tie
            value, low = 0.0, start
            for z in range(n_classes):
                above[z] = 0.0
            while low < start + n:
                high = end_of_block(tied, low, start + retrieved[q])
                value += _expect_block(codes, low, high, tables, offsets[q] - start, above, block)
                low = high
        elif has_pairs:
            value = _sum_pairs(codes, first_row, np.uint64(n), tables, offset, above, ranks)
        else:
            value = _sum_gains(codes, first_row, np.uint64(n), tables, offset)
        out[q] = value * inverse[q]
