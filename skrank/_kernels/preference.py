"""Metrics of the form sum over relevant documents of share * (1 - penalty): bpref, rpref.

Ranks are those of the list without the documents that were not judged. `lack[c, z]` is what a
document of code c pays for each one of code z above it. Inside a block of ties the place of a
document is uniform, and so is the number of non-relevant ones above it: both means below are exact.
"""

import numpy as np

from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import options

BY_TOTAL, BY_RANK, BY_ABOVE, BY_FOUND = range(4)


@part(**options)
def _by_place(earlier, inside, rank, size, less):
    """Mean of penalty / (place - less) over the places of a block; place `less` pays in full."""
    total = 0.0
    for step in range(size):
        place = rank + step + 1 - less
        share = step / (size - 1.0) if size > 1 else 0.0
        total += (earlier + share * inside) / place if place > 0 else 1.0
    return total / size


@part(**options)
def _capped(earlier, inside, cap, divisor):
    """Mean of min(penalty, cap) / divisor, where the block adds 0, 1, ..., inside or their mean."""
    if earlier + inside == 0:
        return 0.0
    if cap == np.inf:
        return (earlier + 0.5 * inside) / divisor
    total = 0.0
    for step in range(int(inside) + 1):
        total += min(earlier + step, cap)
    return total / ((inside + 1.0) * divisor)


@njit(**options, allocates=True, exact=True)
def values(first, last, indptr, lists, form, inverse, out):
    """Value of each query, its mean over all orders of tied documents; 0 where `inverse` is 0."""
    ranked, tied, retrieved = lists.codes, lists.tied, lists.retrieved
    share, lack, cap, divisor = form.share, form.lack, form.cap, form.divisor
    divide_by, unjudged = form.divide_by, form.unjudged
    n_codes = len(share)
    above, block = np.zeros(n_codes), np.zeros(n_codes)
    for q in range(first, last):
        start, end = indptr[q], indptr[q] + retrieved[q]
        total = 0.0
        whole = divisor[q]
        if divide_by == BY_FOUND:
            found = 0
            for row in range(start, end):
                found += ranked[row] < unjudged and share[ranked[row]] == 0
            whole = min(cap[q], float(found))
        above[:] = 0.0
        rank = 0
        low = start
        while low < end and inverse[q] != 0:
            high = low + 1
            if ranked[low] >= unjudged and (high == end or not tied[high]):
                low = high
                continue
            while high < end and tied[high]:
                high += 1
            block[:] = 0.0
            size = 0
            for row in range(low, high):
                if ranked[row] < unjudged:
                    block[ranked[row]] += 1.0
                    size += 1
            for c in range(n_codes):
                if block[c] == 0 or share[c] == 0:
                    continue
                earlier, inside = 0.0, 0.0
                for z in range(n_codes):
                    earlier += above[z] * lack[c, z]
                    inside += block[z] * lack[c, z]
                if divide_by in (BY_RANK, BY_ABOVE):
                    penalty = _by_place(earlier, inside, rank, size, int(divide_by == BY_ABOVE))
                else:
                    penalty = _capped(earlier, inside, cap[q], whole)
                total += block[c] * share[c] * (1.0 - penalty)
            for c in range(n_codes):
                above[c] += block[c]
            rank += size
            low = high
        out[q] = total * inverse[q]
