"""Metrics that sum over documents and pairs of documents.

The value of a list with the label y_r at rank r is

    sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r)

DCG, precision and RBP have K = 0; AP, GAP and the Q-measure put their value into the pairs. A class
is a set of labels with the same row and column in K. See `arguments.Quadratic` for the arrays.

Swapping an upper document of class x with a lower one of class y changes the sum by
D(upper rank) - D(lower rank), where, with S_z(r) = sum_{s<r} K(y_s, z) and
H_z(r) = sum_{s<r} w_s K(z, y_s),

    T_z(r) = u_r g_z + w_r S_z(r) - H_z(r)
    D(r)   = T_y(r) - T_x(r) - w_r (K(y, x) - K(x, x)).

So a table T of (ranks x classes) gives every swap by four look-ups.

In the functions below, `row` is the first row of a query, `offset` the place of its first rank in u
and w, and ``above[z]`` is S_z at the current rank. Some indexes are unsigned, so that numba emits
no check for negative indexes: 20 metrics of the same lists take a third less time.
"""

import numpy as np

from skrank._kernels.jit import kernel, subroutine
from skrank._kernels.labels import end_of_run


@subroutine()
def _sum_gains(codes, row, ranks, low, high, tables, offset):
    """Value of a list if K = 0, from the documents at ``ranks[low:high]``."""
    gain, u = tables.gain, tables.u
    total = 0.0
    for i in range(low, high):
        rank = ranks[i]
        total += u[offset + rank] * gain[codes[row + rank]]
    return total


@subroutine()
def _sum_separable_pairs(codes, row, ranks, low, high, tables, offset):
    """Value of a list if all columns of K are the last column or 0: then one sum makes all S_z.

    AP and the Q-measure take a tenth less time by it, sorting included.
    """
    gain, classes, worth, u, w = tables.gain, tables.classes, tables.worth, tables.u, tables.w
    below, last = tables.below, len(worth) - 1
    gains, pairs, above = 0.0, 0.0, 0.0
    for i in range(low, high):
        rank = ranks[i]
        code = codes[row + rank]
        c = classes[code]
        gains += u[offset + rank] * gain[code]
        pairs += w[offset + rank] * (below[c] * above)
        above += worth[c, last]
    return gains + pairs


@subroutine()
def _sum_pairs(codes, row, ranks, low, high, tables, offset, above):
    """Value of a list for any K."""
    gain, classes, worth, u, w = tables.gain, tables.classes, tables.worth, tables.u, tables.w
    gains, pairs = 0.0, 0.0
    for z in range(len(above)):
        above[z] = 0.0
    for i in range(low, high):
        rank = ranks[i]
        code = codes[row + rank]
        c = classes[code]
        gains += u[offset + rank] * gain[code]
        pairs += w[offset + rank] * above[c]
        for z in range(len(above)):
            above[z] += worth[c, z]
    return gains + pairs


@subroutine()
def _expect_block(codes, low, high, tables, shift, above, block):
    """Mean sum over the orders of the tied rows low .. high - 1; brings `above` behind them.

    ``row + shift`` is the place of the rank of a row in u and w; `block` is workspace by class.
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
        sum_w_steps += w[shift + row] * (row - low)
    with_above, within = 0.0, 0.0  # K summed over pairs with a document above, and in the block
    for c in range(len(block)):
        with_above += block[c] * above[c]
        for z in range(len(block)):
            within += block[c] * (block[z] - (z == c)) * worth[z, c]
    for c in range(len(block)):
        for z in range(len(block)):
            above[z] += block[c] * worth[c, z]
    n_pairs = max(n * (n - 1.0), 1.0)  # ordered pairs, each as likely at each pair of ranks
    return (sum_u * gains + sum_w * with_above) / n + sum_w_steps * within / n_pairs


@kernel(plain=True)
def values(first, last, indptr, lists, contributing, tables, inverse, out):
    """Fill in the value of each query times `inverse`, its mean over the orders of tied documents.

    `contributing` holds the documents that matter; all documents, if there is a cut-off.
    """
    codes, tied, retrieved, first_tie = lists.codes, lists.tied, lists.retrieved, lists.first_tie
    ranks, starts, counts = contributing.ranks, contributing.starts, contributing.counts
    offsets, depth, n_classes = tables.offset, tables.depth, len(tables.worth)
    has_pairs = n_classes > 1 or tables.worth[0, 0] != 0
    above, block = np.zeros(n_classes), np.zeros(n_classes)
    for q in range(first, last):
        if inverse[q] == 0:
            out[q] = 0.0
            continue
        n = min(retrieved[q], depth)
        row, offset = np.uint64(indptr[q]), np.uint64(offsets[q])
        low, high = np.uint64(starts[q]), np.uint64(starts[q] + min(counts[q], n))
        if first_tie[q] <= n:  # the block that begins at rank n - 1 may go on behind rank n
            value = 0.0
            for z in range(n_classes):
                above[z] = 0.0
            start, end, shift = indptr[q], indptr[q] + retrieved[q], offsets[q] - indptr[q]
            while start < indptr[q] + n:
                stop = start + 1
                while stop < end and tied[stop]:
                    stop += 1
                value += _expect_block(codes, start, stop, tables, shift, above, block)
                start = stop
        elif not has_pairs:
            value = _sum_gains(codes, row, ranks, low, high, tables, offset)
        elif tables.separable:
            value = _sum_separable_pairs(codes, row, ranks, low, high, tables, offset)
        else:
            value = _sum_pairs(codes, row, ranks, low, high, tables, offset, above)
        out[q] = value * inverse[q]


@kernel(plain=True)
def ideals(first, last, indptr, counts, best_first, gain, before, out):
    """Fill in the sum of gain times weight over the best list of each query.

    The list has the codes in the order `best_first`; ``before[r]`` is the sum of the weights of the
    ranks before r.
    """
    for q in range(first, last):
        total, rank = 0.0, 0
        for code in best_first:
            total += (before[rank + counts[q, code]] - before[rank]) * gain[code]
            rank += counts[q, code]
        out[q] = total


@kernel(plain=True)
def ideals_of_lists(first, last, indptr, best, gain, before, out):
    """Fill in the same numbers, bit for bit, from the best lists themselves."""
    for q in range(first, last):
        total = 0.0
        start, stop = indptr[q], indptr[q + 1]
        low = start
        while low < stop:
            high = end_of_run(best, low, stop)
            total += (before[high - start] - before[low - start]) * gain[best[low]]
            low = high
        out[q] = total


@kernel()
def deltas(ranked, tables, out):
    """Fill ``out[a, b]`` with the change of the sum if the ranks a < b of the first list swap."""
    gain, classes, worth = tables.gain, tables.classes, tables.worth
    u, w = tables.u[tables.offset[0] :], tables.w[tables.offset[0] :]
    n, n_classes = len(ranked), len(worth)
    table, gain_of = np.empty((n, n_classes)), np.zeros(n_classes)  # T, and g by class
    s, h = np.zeros(n_classes), np.zeros(n_classes)
    for r in range(n):
        gain_of[classes[ranked[r]]] = gain[ranked[r]]
    for r in range(n):
        c = classes[ranked[r]]
        for z in range(n_classes):
            table[r, z] = u[r] * gain_of[z] + w[r] * s[z] - h[z]
            s[z] += worth[c, z]
            h[z] += w[r] * worth[z, c]
    for a in range(n):
        x = classes[ranked[a]]
        for b in range(a + 1, n):
            y = classes[ranked[b]]
            jump = worth[y, x] - worth[x, x]
            upper = table[a, y] - table[a, x] - w[a] * jump
            lower = table[b, y] - table[b, x] - w[b] * jump
            out[a, b] = upper - lower


@kernel()
def adjacent_deltas(first, last, indptr, lists, tables, truncation, lead):
    """Fill `lead` for neighbours in the order, as `lambdarank` defines it."""
    classes, order, inverse = lists.codes, lists.order, lists.inverse
    gain, worth, u, w = tables.gain, tables.worth, tables.u, tables.w
    above = np.zeros(len(worth))
    for q in range(first, last):
        start, n, offset = indptr[q], indptr[q + 1] - indptr[q], tables.offset[q]
        for row in range(start, start + n):
            lead[row] = 0
        if inverse[q] == 0:
            continue
        for z in range(len(above)):
            above[z] = 0.0
        for r in range(min(n - 1, truncation)):
            row, here = start + r, offset + r
            c, z = classes[start + order[row]], classes[start + order[row + 1]]
            change = (u[here] - u[here + 1]) * (gain[z] - gain[c])
            change += (w[here] - w[here + 1]) * (above[z] - above[c])
            change += w[here + 1] * (worth[z, c] - worth[c, z])
            for y in range(len(above)):
                above[y] += worth[c, y]
            if c != z:
                sign = 1.0 if z > c else -1.0
                lead[row] = sign * max(sign * change * inverse[q], 0.0)
