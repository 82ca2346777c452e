"""Metrics with no closed form for ties: interpolated precision and inferred average precision.

Both return the first query in which the order of tied documents matters, or -1.
"""

from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import options

EPSILON = 1e-5  # smoothing of infAP in trec_eval


@part(**options)
def _end_of_block(tied, row, end):
    """First rank below the block of ties that starts at `row`."""
    stop = row + 1
    while stop < end and tied[stop]:
        stop += 1
    return stop


@part(**options)
def _found(ranked, relevant, row, stop):
    """Number of relevant documents of a block."""
    count = 0
    for place in range(row, stop):
        count += relevant[ranked[place]]
    return count


@njit(**options, exact=True)
def interpolated(first, last, indptr, lists, form, inverse, out):
    """Highest precision from the rank on where `needed` relevant documents have been found.

    It does not fall when relevant documents move up, so that the order of ties matters if it is not
    the same with the relevant documents of each block of ties first and last.
    """
    ranked, tied, relevant, needed = lists.codes, lists.tied, form.relevant, form.needed
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + lists.retrieved[q]
        if inverse[q] == 0:
            continue
        best, worst = 0.0, 0.0
        hits = 0
        row = start
        while row < end:
            stop = _end_of_block(tied, row, end)
            found = _found(ranked, relevant, row, stop)
            others = stop - row - found
            for place in range(row, stop):
                rank = place - start + 1.0
                step = place - row + 1
                high, low = hits + min(step, found), hits + max(step - others, 0)
                if high >= needed[q]:
                    best = max(best, high / rank)
                if low >= needed[q]:
                    worst = max(worst, low / rank)
            hits += found
            row = stop
        if best != worst:
            return q
        out[q] = best
    return -1


@njit(**options, exact=True)
def inferred(first, last, indptr, lists, form, inverse, out):
    """Inferred average precision; code `unjudged` is pooled but not drawn, higher ones are not.

    The order of a block of ties matters if it holds relevant documents and others.
    """
    ranked, tied, relevant, unjudged = lists.codes, lists.tied, form.relevant, form.unjudged
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + lists.retrieved[q]
        if inverse[q] == 0:
            continue
        hits, others, pooled = 0, 0, 0
        total = 0.0
        block = start
        for row in range(start, end):
            if row == block:
                block = _end_of_block(tied, row, end)
                found = _found(ranked, relevant, row, block)
                if 0 < found < block - row:
                    return q
            if relevant[ranked[row]]:
                precision = (hits + EPSILON) / (hits + others + 2 * EPSILON)
                total += (1.0 + pooled * precision) / (row - start + 1.0)
                hits += 1
            elif ranked[row] < unjudged:
                others += 1
            pooled += ranked[row] <= unjudged
        out[q] = total * inverse[q]
    return -1
