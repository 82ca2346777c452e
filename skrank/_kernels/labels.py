"""Turn labels into codes and count them."""

import numpy as np

from skrank._kernels.forms import njit
from skrank._kernels.tiles import options


@njit(**options, exact=True)
def encode_grades(first, last, indptr, labels, unjudged, codes):
    """Codes of labels that are whole numbers below `unjudged`; NaN becomes `unjudged`.

    Returns the first row whose label is none of these, or -1.
    """
    for row in range(indptr[first], indptr[last]):
        label = labels[row]
        if label >= 0 and label < unjudged and label == np.floor(label):
            codes[row] = np.uint8(label)
        elif np.isnan(label):
            codes[row] = unjudged
        else:
            return row
    return -1


@njit(**options, exact=True)
def count(first, last, indptr, codes, counts):
    """Number of documents of each code in each query."""
    for q in range(first, last):
        for code in range(counts.shape[1]):
            counts[q, code] = 0
        for row in range(indptr[q], indptr[q + 1]):
            counts[q, codes[row]] += 1


@njit(**options, exact=True)
def count_unknown(first, last, indptr, lists, unjudged, counts):
    """Number of documents that were neither retrieved nor judged, from ranked codes."""
    ranked = lists.codes
    for q in range(first, last):
        counts[q] = 0
        for row in range(indptr[q] + lists.retrieved[q], indptr[q + 1]):
            counts[q] += ranked[row] >= unjudged


@njit(**options, exact=True)
def arrange(first, last, indptr, counts, best_first, ranked):
    """The codes of each query in the order `best_first`."""
    for q in range(first, last):
        row = indptr[q]
        for code in best_first:
            for _ in range(counts[q, code]):
                ranked[row] = code
                row += 1


@njit(**options, exact=True)
def blend(first, last, indptr, best, form, weights):
    """One over rank + beta * cumulated gain along the best list; 0 beyond `depth` ranks."""
    gain, beta = form.gain, form.beta
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        cumulated = 0.0
        for row in range(start, stop):
            cumulated += gain[best[row]]
            rank = row - start + 1
            weights[row] = 1.0 / (rank + beta * cumulated) if rank <= form.depth else 0.0
