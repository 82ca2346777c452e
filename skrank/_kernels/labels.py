"""Encode labels as small integers, count them, and find runs of equal codes."""

import numpy as np

from skrank._kernels.jit import ONE_PASS, kernel


@kernel(plain=True, row_cost=ONE_PASS)
def encode_grades(first, last, indptr, labels, unjudged, codes):
    """Fill in codes: whole labels below `unjudged` are their own code; NaN has the code `unjudged`.

    Returns True if there are other labels. The loop has no branches, so that it runs in SIMD.
    """
    start, stop = indptr[first], indptr[last]
    values, target = labels[start:stop], codes[start:stop]
    others = False
    for i in range(stop - start):
        label = values[i]
        in_range = label >= 0 and label < unjudged
        code = np.uint8(label if in_range else unjudged)
        target[i] = code
        others |= label == label and (not in_range or label != code)
    return others


def _counters(first, last, indptr, codes, counts):
    return np.zeros((counts.shape[1], 4), np.int64)


@kernel(plain=True, row_cost=ONE_PASS, work=_counters)
def count(first, last, indptr, codes, counts, parts):
    """Fill in the number of documents of each code in each query.

    Four counters per code take turns, since most rows have the code of the row before: a single
    counter would be read before its last sum is in memory. This saves a tenth of nDCG@10.
    """
    for q in range(first, last):
        for row in range(indptr[q], indptr[q + 1]):
            parts[codes[row], row & 3] += 1
        for code in range(counts.shape[1]):
            total = 0
            for part in range(4):
                total += parts[code, part]
                parts[code, part] = 0
            counts[q, code] = total


def runs(indptr, ordered):
    """Query, first rank, length and code of each run of equal codes, for codes too many to count.

    Callers add terms of runs by ``np.bincount(query, terms)``, which has the bits of a loop.
    """
    starts = np.union1d(indptr[:-1], np.flatnonzero(np.diff(ordered)) + 1)
    query = np.searchsorted(indptr, starts, side="right") - 1
    return query, starts - indptr[query], np.diff(starts, append=indptr[-1]), ordered[starts]


@kernel(plain=True)
def q_weights(first, last, indptr, run_ptr, lengths, steps, depth, weights):
    """Fill in the weights of the Q-measure (Sakai, NTCIR-4, 2004); 0 from rank `depth` on.

    The weight of rank r is 1 / (r + beta * cumulated gain of the best list at r). The runs
    ``run_ptr[q] .. run_ptr[q + 1] - 1`` of equal codes are the best list of query q. Each document
    of a run adds its step, 1 + beta * gain, to the denominator.
    """
    for q in range(first, last):
        low, end = indptr[q], min(indptr[q] + depth, indptr[q + 1])
        above = 0.0  # denominator above the run
        for run in range(run_ptr[q], run_ptr[q + 1]):
            step, high = steps[run], min(low + lengths[run], end)
            for row in range(low, high):
                weights[row] = 1.0 / (above + step * (row - low + 1))
            above += step * (high - low)
            low = high
        for row in range(low, indptr[q + 1]):
            weights[row] = 0.0
