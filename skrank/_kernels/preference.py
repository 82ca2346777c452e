"""Metrics that compare relevant documents with judged documents above them: bpref, rpref.

The value is the sum of share * (1 - penalty) over relevant documents. ``lack[c, z]`` is the penalty
of a document of code c for each document of code z above it. Ranks count judged documents only.

Over the orders of a block of ties, the rank of a document is uniform, and so is the number of
non-relevant documents above it. Therefore `_divided_by_rank` and `_capped` return exact means.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.ranking import end_of_block

# The divisor of penalties, in this order: `Preference.divisor` of the query; the rank of the
# document; the number of judged documents above the document; the number of non-relevant documents
# retrieved, at most `Preference.cap`.
BY_TOTAL, BY_RANK, BY_ABOVE, BY_FOUND = range(4)


class Preference(NamedTuple):
    """``sum of share (1 - penalty)`` over relevant documents."""

    share: np.ndarray  # by code
    lack: np.ndarray  # by code of a document and of a document above it; 0 or 1 if `cap` is finite
    cap: np.ndarray  # by query: largest penalty before the division
    divisor: np.ndarray  # by query
    divide_by: int  # BY_TOTAL, ...
    unjudged: int  # codes from this one on are of documents without a label


@subroutine()
def _divided_by_rank(earlier, inside, n_above, size, offset):
    """Mean of penalty / (rank - offset) over the ranks of a block; 1 where the divisor is 0.

    `earlier` is the penalty for the `n_above` documents above the block. `inside` is the penalty
    for all other documents of the block, which has `size` documents.
    """
    total = 0.0
    for step in range(size):
        divisor = n_above + step + 1 - offset
        fraction = step / (size - 1.0) if size > 1 else 0.0
        total += (earlier + fraction * inside) / divisor if divisor > 0 else 1.0
    return total / size


@subroutine()
def _capped(earlier, inside, cap, divisor):
    """Mean of min(penalty, cap) / divisor for penalty = `earlier` + 0, 1, ..., `inside`."""
    if earlier + inside == 0:  # `divisor` may be 0, too
        return 0.0
    if cap == np.inf:
        return (earlier + 0.5 * inside) / divisor
    total = 0.0
    for step in range(int(inside) + 1):
        total += min(earlier + step, cap)
    return total / ((inside + 1.0) * divisor)


@subroutine()
def _add_block(value, block, size, above, n_above, tables, cap, divisor):
    """Return `value` plus the value of the documents of a block.

    ``block[c]`` documents of the block, and ``above[c]`` documents above it, have code c.
    """
    share, lack, divide_by = tables.share, tables.lack, tables.divide_by
    for c in range(len(share)):
        if block[c] == 0 or share[c] == 0:
            continue
        earlier, inside = 0.0, 0.0
        for z in range(len(share)):
            earlier += above[z] * lack[c, z]
            inside += block[z] * lack[c, z]
        if divide_by in (BY_RANK, BY_ABOVE):
            offset = int(divide_by == BY_ABOVE)
            penalty = _divided_by_rank(earlier, inside, n_above, size, offset)
        else:
            penalty = _capped(earlier, inside, cap, divisor)
        value += block[c] * share[c] * (1.0 - penalty)
    return value


def _workspace(first, last, indptr, lists, tables, *_):
    return np.empty(len(tables.share)), np.empty(len(tables.share))


@kernel(plain=True, work=_workspace)
def values(first, last, indptr, lists, tables, inverse, out, work):
    """Fill in the mean value of each query over the orders of ties, times `inverse`."""
    codes, tied, share, unjudged = lists.codes, lists.tied, tables.share, tables.unjudged
    n_codes = len(share)
    above, block = work  # number of documents by code
    for q in range(first, last):
        start, end = indptr[q], indptr[q] + lists.retrieved[q]
        cap, divisor = tables.cap[q], tables.divisor[q]
        if tables.divide_by == BY_FOUND:
            n_non_relevant = 0
            for row in range(start, end):
                n_non_relevant += codes[row] < unjudged and share[codes[row]] == 0
            divisor = min(cap, float(n_non_relevant))
        for c in range(n_codes):
            above[c] = 0.0
        value, n_above, low = 0.0, 0, start
        while low < end and inverse[q] != 0:
            high, code = end_of_block(tied, low, end), codes[low]
            if high == low + 1 and (code >= unjudged or share[code] == 0):  # its value is 0
                if code < unjudged:
                    above[code] += 1.0
                    n_above += 1
                low = high
                continue
            for c in range(n_codes):
                block[c] = 0.0
            size = 0
            for row in range(low, high):
                if codes[row] < unjudged:
                    block[codes[row]] += 1.0
                    size += 1
            value = _add_block(value, block, size, above, n_above, tables, cap, divisor)
            for c in range(n_codes):
                above[c] += block[c]
            n_above += size
            low = high
        out[q] = value * inverse[q]
