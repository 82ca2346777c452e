"""Metrics of the form sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s)): ERR, PFound, reciprocal rank.

`stop` is rho per code, the probability that a user is satisfied by the document; `phi` is the worth
of being satisfied at a rank. For ranks a < b a swap changes the sum by

    prod_{s<a} (1 - rho_s) (rho_a - rho_b) (S + P phi_b - phi_a),

S and P being the sum and the product over the documents strictly between, as a user who starts
after a sees them. They grow with b at no cost, so nothing is divided and rho = 1 needs no special
case.
"""

import numpy as np

from skrank._kernels import passing
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import longest, options

_NOTHING = 1e-18  # of a sum: no part that double precision keeps
_FEW_STEPS, _FEW_CODES = 5_000_000, 200  # some milliseconds; more groups are not worth joining


@part(**options)
def _most_common(ranked, low, high, stop, count):
    """The most common rho of a block, codes that share one but for 0 taken apart."""
    worthless, best = 0, 0.0
    for row in range(low, high):
        code = ranked[row]
        count[code] += 1
        worthless += stop[code] == 0
    most = worthless
    for row in range(low, high):
        code = ranked[row]
        if count[code] > most and stop[code] > 0:
            most, best = count[code], stop[code]
        count[code] = 0
    return best


@part(**options)
def _reach(ranked, low, high, stop):
    """Documents of a random order behind which nothing changes the worth in double precision.

    A user passes j of them with at most the chance m^j, m being the mean of 1 - rho (Maclaurin's
    inequality of symmetric means); the first document alone is worth 1 - m of what remains.
    """
    total = 0.0
    for row in range(low, high):
        total += stop[ranked[row]]
    mean = total / (high - low)
    if mean == 0 or mean >= 1:
        return int(mean > 0)
    needed = np.log(_NOTHING * mean) / np.log1p(-mean)
    return int(min(np.ceil(needed), float(high - low)))


@part(**options)
def _one_by_one(ranked, low, high, stop, common, shown, pass_by):
    """Fill `pass_by`: a power of the documents of the common rho, and the others added in turn."""
    known = 0
    for row in range(low, high):
        known += stop[ranked[row]] == common
    pass_by[0] = 1.0
    for j in range(1, shown + 1):
        pass_by[j] = pass_by[j - 1] * (1.0 - common) if j <= known else 0.0
    for row in range(low, high):
        rho = stop[ranked[row]]
        if rho == common:
            continue
        known += 1
        for j in range(min(known, shown), 0, -1):
            share = j / known
            pass_by[j] = (1.0 - share) * pass_by[j] + share * (1.0 - rho) * pass_by[j - 1]


@part(**options, allocates=True)
def _group_by_group(ranked, low, high, stop, common, shown, pass_by, count):
    """The same for documents of a few rho: group by group."""
    for row in range(low, high):
        count[ranked[row]] += 1
    known = np.int64(0)
    for code in range(len(stop)):
        known += count[code] if stop[code] == common else 0
    pass_by[0] = 1.0
    for j in range(1, shown + 1):
        pass_by[j] = pass_by[j - 1] * (1.0 - common) if j <= known else 0.0
    powers, joined = np.empty(shown + 1), np.empty(shown + 1)
    for code in range(len(stop)):
        if count[code] > 0 and stop[code] != common:
            both = known + count[code]
            passing.join(
                known, count[code], 1.0 - stop[code], min(shown, both), pass_by, powers, joined
            )
            known = both
            for j in range(min(shown, both) + 1):
                pass_by[j] = joined[j]
    count[:] = 0


@part(**options)
def _expected_block(ranked, low, high, stop, phi, first_rank, depth, pass_by, count):
    """Expected worth of a block of ties for a user who reaches it.

    ``pass_by[j]`` is the probability that a user passes the first j documents of a random order:
    the mean of prod (1 - rho) over all sets of j documents.
    """
    shown = min(_reach(ranked, low, high, stop), depth - first_rank)
    common = _most_common(ranked, low, high, stop, count)
    others = 0
    for row in range(low, high):
        others += stop[ranked[row]] != common
    if shown * others <= _FEW_STEPS or len(stop) > _FEW_CODES:
        _one_by_one(ranked, low, high, stop, common, shown, pass_by)
    else:
        _group_by_group(ranked, low, high, stop, common, shown, pass_by, count)
    worth = 0.0
    for j in range(shown):
        worth += phi[first_rank + j] * (pass_by[j] - pass_by[j + 1])
    return worth


@njit(**options, allocates=True, exact=True)
def values(first, last, indptr, lists, kept, form, ties, inverse, out):
    """Value of each query, its mean over all orders of tied documents; 0 where `inverse` is 0.

    `kept` holds the documents that may satisfy, or all of them where there is a cut-off. `ties` is
    None where no documents are tied, else True: what blocks need takes long to compile.
    """
    ranked, tied, stop, phi = lists.codes, lists.tied, form.stop, form.phi
    pass_by, count = np.empty(longest(first, last, indptr) + 1), np.zeros(len(stop), np.int64)
    for q in range(first, last):
        start = indptr[q]
        end = start + lists.retrieved[q]
        reach = min(end, start + form.depth) if inverse[q] != 0 else start
        alive, total = 1.0, 0.0
        low = start
        if lists.tie[q] > reach - start:
            row, begin = np.uint64(start), kept.start[q]
            found = begin + min(kept.count[q], reach - start)
            for i in range(np.uint64(begin), np.uint64(found)):
                rank = kept.ranks[i]
                rho = stop[ranked[row + rank]]
                total += alive * rho * phi[rank]
                alive *= 1.0 - rho
                if alive <= 0:
                    break
            low = reach
        if ties is not None:
            while low < reach and alive > 0:
                high = low + 1
                while high < end and tied[high]:
                    high += 1
                if high == low + 1:
                    rho = stop[ranked[low]]
                    total += alive * rho * phi[low - start]
                    alive *= 1.0 - rho
                else:
                    total += alive * _expected_block(
                        ranked, low, high, stop, phi, low - start, form.depth, pass_by, count
                    )
                    for row in range(low, high):
                        alive *= 1.0 - stop[ranked[row]]
                low = high
        out[q] = total * inverse[q]


@njit(**options)
def deltas(ranked, form, out):
    """Change of the sum when ranks a < b of one list are swapped, for all pairs: out[a, b]."""
    n, stop, phi = len(ranked), form.stop, form.phi
    alive = 1.0
    for a in range(n):
        rho = stop[ranked[a]]
        between, product = 0.0, 1.0
        for b in range(a + 1, n):
            other = stop[ranked[b]]
            out[a, b] = alive * (rho - other) * (between + product * phi[b] - phi[a])
            between += product * other * phi[b]
            product *= 1.0 - other
        alive *= 1.0 - rho


@njit(**options)
def adjacent_deltas(first, last, indptr, lists, form, truncation, lead):
    """Worth of putting the better document first, for neighbours in the order: see `lambdarank`."""
    codes, order, stop, phi = lists.codes, lists.order, form.stop, form.phi
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        lead[start : start + n] = 0
        alive = lists.inverse[q]
        for r in range(min(n - 1, truncation, form.depth)):
            row = start + r
            rho, other = stop[codes[start + order[row]]], stop[codes[start + order[row + 1]]]
            lead[row] = alive * (other - rho) * max(phi[r] - phi[r + 1], 0.0)
            alive *= 1.0 - rho
