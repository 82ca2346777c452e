"""Metrics with no closed form for ties: interpolated precision and inferred average precision.

Both return the first query in which the order of tied documents matters, or -1.
"""

from skrank._kernels.cache import njit
from skrank._kernels.tiles import options

EPSILON = 1e-5  # smoothing of infAP in trec_eval


@njit(**options)
def _mixed_tie(ranked, tied, start, end):
    """Whether some block of ties holds different codes."""
    mixed = False
    for row in range(start + 1, end):
        mixed |= tied[row] and ranked[row] != ranked[row - 1]
    return mixed


@njit(**options)
def interpolated(
    first, last, indptr, ranked, tied, retrieved, relevant, unjudged, needed, inverse, out
):
    """Highest precision from the rank on where `needed` relevant documents have been found."""
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + retrieved[q]
        if inverse[q] == 0:
            continue
        if _mixed_tie(ranked, tied, start, end):
            return q
        hits = 0
        for row in range(start, end):
            hits += relevant[ranked[row]]
            if hits >= needed[q]:
                out[q] = max(out[q], hits / (row - start + 1.0))
    return -1


@njit(**options)
def inferred(
    first, last, indptr, ranked, tied, retrieved, relevant, unjudged, needed, inverse, out
):
    """Inferred average precision; code `unjudged` is pooled but not drawn, higher ones are not."""
    for q in range(first, last):
        out[q] = 0.0
        start, end = indptr[q], indptr[q] + retrieved[q]
        if inverse[q] == 0:
            continue
        if _mixed_tie(ranked, tied, start, end):
            return q
        hits, others, pooled = 0, 0, 0
        total = 0.0
        for row in range(start, end):
            if relevant[ranked[row]]:
                precision = (hits + EPSILON) / (hits + others + 2 * EPSILON)
                total += (1.0 + pooled * precision) / (row - start + 1.0)
                hits += 1
            elif ranked[row] < unjudged:
                others += 1
            pooled += ranked[row] <= unjudged
        out[q] = total * inverse[q]
    return -1
