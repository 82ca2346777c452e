"""Encode labels as small integers, count them, and build or sum the best list of each query."""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import ONE_PASS, kernel, subroutine


class QGains(NamedTuple):
    """Parameters of the weights of the Q-measure (Sakai, NTCIR-4, 2004)."""

    gain: np.ndarray  # by code
    beta: float
    depth: int  # weights are 0 from this rank on


@kernel(plain=True, row_cost=ONE_PASS)
def encode_grades(first, last, indptr, labels, unjudged, codes):
    """Fill in codes: whole labels below `unjudged` are their own code; NaN has the code `unjudged`.

    Returns True if there are other labels. The loop has no branches, so that it runs in SIMD.
    """
    start, stop = indptr[first], indptr[last]
    given, target = labels[start:stop], codes[start:stop]
    others = False
    for i in range(stop - start):
        label = given[i]
        in_range = label >= 0 and label < unjudged
        code = np.uint8(label if in_range else unjudged)
        target[i] = code
        others |= label == label and (not in_range or label != code)
    return others


@kernel(plain=True, row_cost=ONE_PASS)
def count(first, last, indptr, codes, counts):
    """Fill in the number of documents of each code in each query.

    Four counters per code take turns, since most rows have the code of the row before: a single
    counter would be read before its last sum is in memory. This saves a tenth of nDCG@10.
    """
    parts = np.zeros((counts.shape[1], 4), np.int64)
    for q in range(first, last):
        for row in range(indptr[q], indptr[q + 1]):
            parts[codes[row], row & 3] += 1
        for code in range(counts.shape[1]):
            counts[q, code] = parts[code].sum()
            parts[code] = 0


@kernel(plain=True, row_cost=ONE_PASS)
def count_unknown(first, last, indptr, lists, unjudged, counts):
    """Fill in the number of documents that were neither retrieved nor judged."""
    ranked = lists.codes
    for q in range(first, last):
        counts[q] = 0
        for row in range(indptr[q] + lists.retrieved[q], indptr[q + 1]):
            counts[q] += ranked[row] >= unjudged


# In best lists equal codes are adjacent. If there are too many codes for a table of counts, kernels
# named *_of_lists read the lists themselves. They return the same bits.


@kernel(plain=True, row_cost=ONE_PASS)
def arrange(first, last, indptr, counts, best_first, ranked):
    """Fill `ranked`, which may be cut below the last rank, with codes in the order `best_first`."""
    for q in range(first, last):
        row, stop = indptr[q], indptr[q + 1]
        for code in best_first:
            end = min(row + counts[q, code], stop)
            for at in range(row, end):
                ranked[at] = code
            row = end


@subroutine()
def end_of_run(ordered, low, stop):
    """End of the run of equal codes that starts at `low`."""
    high = low + 1
    while high < stop and ordered[high] == ordered[low]:
        high += 1
    return high


@kernel(plain=True, row_cost=ONE_PASS)
def sum_runs(first, last, indptr, ordered, value, totals):
    """Fill in the sum of ``value[code]`` over each query. Equal codes are adjacent in `ordered`."""
    for q in range(first, last):
        total = 0.0
        low, stop = indptr[q], indptr[q + 1]
        while low < stop:
            high = end_of_run(ordered, low, stop)
            total += (high - low) * value[ordered[low]]
            low = high
        totals[q] = total


# The sum of a best list, in which each code adds its gain times the weights of its ranks:
# ``before[r]``, with r up to the length of the longest list, sums the weights of the ranks above r.


@kernel(plain=True, row_cost=ONE_PASS)
def ideals(first, last, indptr, counts, best_first, gain, before, out):
    """Fill in the sum of the best list, from the number of documents of each query and code."""
    for q in range(first, last):
        total, rank = 0.0, 0
        for code in best_first:
            total += (before[rank + counts[q, code]] - before[rank]) * gain[code]
            rank += counts[q, code]
        out[q] = total


@kernel(plain=True)
def ideals_of_lists(first, last, indptr, best, gain, before, out):
    """As `ideals`, with the same bits, from the best lists, for codes too many to count.

    ``best[row]`` is the code of a document; the documents of a code are adjacent.
    """
    for q in range(first, last):
        total = 0.0
        start, stop = indptr[q], indptr[q + 1]
        low = start
        while low < stop:
            high = end_of_run(best, low, stop)
            total += (before[high - start] - before[low - start]) * gain[best[low]]
            low = high
        out[q] = total


# The weight of rank r in the Q-measure is 1 / (r + beta * cumulated gain of the best list at r).


@subroutine()
def _weigh_run(low, high, above, step, weights):
    """Fill in the weights of a run of equal codes. Returns the denominator at its end.

    `above` is the denominator above the run; each document adds `step` = 1 + beta * gain to it.
    """
    for row in range(low, high):
        weights[row] = 1.0 / (above + step * (row - low + 1))
    return above + step * (high - low)


@kernel(plain=True)
def q_weights(first, last, indptr, counts, best_first, tables, weights):
    """Fill in the weights of the Q-measure from the number of documents of each code."""
    gain, beta = tables.gain, tables.beta
    for q in range(first, last):
        row, end = indptr[q], min(indptr[q] + tables.depth, indptr[q + 1])
        above = 0.0
        for code in best_first:
            stop = min(row + counts[q, code], end)
            above = _weigh_run(row, stop, above, 1.0 + beta * gain[code], weights)
            row = stop
        for below in range(row, indptr[q + 1]):
            weights[below] = 0.0


@kernel(plain=True)
def q_weights_of_lists(first, last, indptr, best, tables, weights):
    """Fill in the weights of the Q-measure from the best lists."""
    gain, beta = tables.gain, tables.beta
    for q in range(first, last):
        row, end = indptr[q], min(indptr[q] + tables.depth, indptr[q + 1])
        above = 0.0
        while row < end:
            stop = end_of_run(best, row, end)
            above = _weigh_run(row, stop, above, 1.0 + beta * gain[best[row]], weights)
            row = stop
        for below in range(row, indptr[q + 1]):
            weights[below] = 0.0
