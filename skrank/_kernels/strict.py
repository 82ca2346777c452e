"""Interpolated precision and inferred average precision, for which no mean over ties is computed.

Each kernel returns the first query whose value depends on the order of tied documents, or -1. The
value is 0 if `inverse` is 0. `tables` are `relevant`, whether documents of each code are relevant;
`unjudged`, the lowest code of documents without a label; and `needed`: precision counts at ranks
where at least this number of relevant documents of the query has been found.
"""

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.ranking import end_of_block

_SMOOTHING = 1e-5  # of infAP, as in trec_eval


@subroutine()
def _count_relevant(codes, relevant, start, stop):
    """Number of relevant documents in the rows start .. stop - 1."""
    count = 0
    for row in range(start, stop):
        count += relevant[codes[row]]
    return count


@kernel(plain=True)
def interpolated(first, last, indptr, lists, tables, inverse, out):
    """Fill in the highest precision at any rank from the `needed`-th relevant document on.

    Precision does not fall when relevant documents move up. So the order of ties matters only if
    the value with the relevant documents of each block first differs from that with them last.
    """
    codes, tied, retrieved = lists
    relevant, _, needed = tables
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + retrieved[q]
        if inverse[q] == 0:
            continue
        best, worst = 0.0, 0.0  # with the relevant documents of each block first, and last
        n_found, block = 0, start
        while block < end:
            stop = end_of_block(tied, block, end)
            n_relevant = _count_relevant(codes, relevant, block, stop)
            n_others = stop - block - n_relevant
            for row in range(block, stop):
                rank = row - start + 1.0
                step = row - block + 1
                most, least = n_found + min(step, n_relevant), n_found + max(step - n_others, 0)
                if most >= needed[q]:
                    best = max(best, most / rank)
                if least >= needed[q]:
                    worst = max(worst, least / rank)
            n_found += n_relevant
            block = stop
        if best != worst:
            return q
        out[q] = best
    return -1


@kernel(plain=True)
def inferred(first, last, indptr, lists, tables, inverse, out):
    """Fill in `inverse` times the sum of inferred precision at relevant documents.

    Documents with the code `unjudged` were pooled but not sampled for judging; documents
    with higher codes were not pooled. The order of a block of ties matters if it holds both
    relevant and other documents.
    """
    codes, tied, retrieved = lists
    relevant, unjudged, _ = tables
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + retrieved[q]
        if inverse[q] == 0:
            continue
        n_relevant, n_others, n_pooled = 0, 0, 0  # documents above the current row
        total, stop = 0.0, start
        for row in range(start, end):
            if row == stop:
                stop = end_of_block(tied, row, end)
                if 0 < _count_relevant(codes, relevant, row, stop) < stop - row:
                    return q
            if relevant[codes[row]]:
                judged = n_relevant + n_others + 2 * _SMOOTHING
                precision = (n_relevant + _SMOOTHING) / judged
                total += (1.0 + n_pooled * precision) / (row - start + 1.0)
                n_relevant += 1
            elif codes[row] < unjudged:
                n_others += 1
            n_pooled += codes[row] <= unjudged
        out[q] = total * inverse[q]
    return -1
