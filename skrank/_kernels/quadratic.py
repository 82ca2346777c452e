"""Metrics of the form sum_r u_r g(y_r) + sum_{s<r} w_r K(y_s, y_r).

DCG, precision and RBP have K = 0; AP, GAP and the Q-measure put their worth into the pairs.
See `arguments.Quadratic` for what they are given as.

Swapping an upper document of class x with a lower one of class y changes the sum by
D(upper rank) - D(lower rank), where, with S_z(r) = sum_{s<r} K(y_s, z) and
H_z(r) = sum_{s<r} w_s K(z, y_s),

    T_z(r) = u_r g_z + w_r S_z(r) - H_z(r)
    D(r)   = T_y(r) - T_x(r) - w_r (K(y, x) - K(x, x)).

So one table T of (ranks x classes) gives every swap by two look-ups.
"""

import numpy as np

from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import options

ONE, TWO = np.uint64(1), np.uint64(2)


@part(**options, optimised=True)
def _block(
    ranked, low, high, to_rank, gain, classes, kernel, u, w, earlier, block
):  # fmt: skip
    """Expected worth of a block of ties (of one document or more); adds it to `earlier`."""
    size = high - low
    block[:] = 0.0
    gains, sum_u, sum_w, sum_steps = 0.0, 0.0, 0.0, 0.0
    for row in range(low, high):
        gains += gain[ranked[row]]
        block[classes[ranked[row]]] += 1.0
        sum_u += u[to_rank + row]
        sum_w += w[to_rank + row]
        sum_steps += w[to_rank + row] * (row - low)
    with_earlier, inside = 0.0, 0.0
    for c in range(len(block)):
        with_earlier += block[c] * earlier[c]
        for z in range(len(block)):
            inside += block[c] * (block[z] - (z == c)) * kernel[z, c]
    for c in range(len(block)):
        for z in range(len(block)):
            earlier[z] += block[c] * kernel[c, z]
    pairs = max(size * (size - 1.0), 1.0)
    return (sum_u * gains + sum_w * with_earlier) / size + sum_steps * inside / pairs


@njit(**options, allocates=True, exact=True)
def values(first, last, indptr, lists, kept, form, inverse, out):
    """Value of each query, its mean over all orders of tied documents; 0 where `inverse` is 0.

    `kept` holds the documents that count, all of them where there is a cut-off. Loops stand here,
    and not in functions: to pass arrays to them would take longer than many a list. Their indices
    have no sign: nobody asks whether they count from the end.
    """
    ranked, tied, retrieved, tie = lists.codes, lists.tied, lists.retrieved, lists.tie
    ranks = kept.ranks
    gain, classes, kernel, u, w = form.gain, form.classes, form.kernel, form.u, form.w
    offset, depth = form.offset, form.depth
    reached, top, paired = form.reached, len(kernel) - 1, len(kernel) > 1 or kernel[0, 0] != 0
    earlier = np.zeros(len(kernel))  # earlier[z]: worth of a next document of class z in pairs
    block = np.zeros(len(kernel))
    for q in range(first, last):
        start = indptr[q]
        end = start + retrieved[q]
        stop = min(end, start + depth) if inverse[q] != 0 else start
        row, place = np.uint64(start), np.uint64(offset[q])
        begin = kept.start[q]
        behind = begin + min(kept.count[q], stop - start)
        chosen = range(np.uint64(begin), np.uint64(behind))
        total, pairs = 0.0, 0.0
        for z in range(len(earlier)):
            earlier[z] = 0.0
        if tie[q] <= stop - start:  # a block may go on behind the last rank
            low = start
            while low < stop:
                high = low + 1
                while high < end and tied[high]:
                    high += 1
                total += _block(
                    ranked, low, high, offset[q] - start, gain, classes, kernel, u, w,
                    earlier, block,
                )  # fmt: skip
                low = high
        elif paired and form.alone:
            before = 0.0  # one sum for all classes
            for i in chosen:
                rank = ranks[i]
                code = ranked[row + rank]
                c = classes[code]
                total += u[place + rank] * gain[code]
                pairs += w[place + rank] * (reached[c] * before)
                before += kernel[c, top]
        elif paired:
            # two at a time: what one adds has to be in memory before the next reads it
            odd = (behind - begin) % 2
            for i in range(np.uint64(begin), np.uint64(behind - odd), TWO):
                rank, below = ranks[i], ranks[np.uint64(i) + ONE]  # in plain Python, i is an int
                code, other = ranked[row + rank], ranked[row + below]
                c, d = classes[code], classes[other]
                total += u[place + rank] * gain[code]
                total += u[place + below] * gain[other]
                pairs += w[place + rank] * earlier[c]
                pairs += w[place + below] * (earlier[d] + kernel[c, d])
                for z in range(len(earlier)):
                    earlier[z] = earlier[z] + kernel[c, z] + kernel[d, z]
            if odd:
                rank = ranks[behind - 1]
                code = ranked[row + rank]
                total += u[place + rank] * gain[code]
                pairs += w[place + rank] * earlier[classes[code]]
        else:
            for i in chosen:
                rank = ranks[i]
                total += u[place + rank] * gain[ranked[row + rank]]
        out[q] = (total + pairs) * inverse[q]


@njit(**options, exact=True)
def ideals(first, last, indptr, counts, best_first, gain, before, out):
    """Worth of the documents of each query's best list, the codes in the order `best_first`.

    ``before[r]`` is the summed weight of the ranks before r.
    """
    for q in range(first, last):
        total = 0.0
        rank = 0
        for code in best_first:
            total += (before[rank + counts[q, code]] - before[rank]) * gain[code]
            rank += counts[q, code]
        out[q] = total


@njit(**options, exact=True)
def ideals_of_lists(first, last, indptr, best, gain, before, out):
    """The same from the best lists themselves, bit for bit: equal codes stand together."""
    for q in range(first, last):
        total = 0.0
        start, stop = indptr[q], indptr[q + 1]
        low = start
        while low < stop:
            high = low + 1
            while high < stop and best[high] == best[low]:
                high += 1
            total += (before[high - start] - before[low - start]) * gain[best[low]]
            low = high
        out[q] = total


@njit(**options, allocates=True)
def deltas(ranked, form, out):
    """Change of the sum when ranks a < b of the first list are swapped: out[a, b]."""
    gain, classes, kernel = form.gain, form.classes, form.kernel
    u, w = form.u[form.offset[0] :], form.w[form.offset[0] :]
    n, n_classes = len(ranked), kernel.shape[0]
    table = np.empty((n, n_classes))
    gain_of = np.zeros(n_classes)
    before, after = np.zeros(n_classes), np.zeros(n_classes)
    for row in range(n):
        gain_of[classes[ranked[row]]] = gain[ranked[row]]
    for r in range(n):
        c = classes[ranked[r]]
        for z in range(n_classes):
            table[r, z] = u[r] * gain_of[z] + w[r] * before[z] - after[z]
            before[z] += kernel[c, z]
            after[z] += w[r] * kernel[z, c]
    for a in range(n):
        x = classes[ranked[a]]
        for b in range(a + 1, n):
            y = classes[ranked[b]]
            jump = kernel[y, x] - kernel[x, x]
            upper = table[a, y] - table[a, x] - w[a] * jump
            lower = table[b, y] - table[b, x] - w[b] * jump
            out[a, b] = upper - lower


@njit(**options, allocates=True)
def adjacent_deltas(first, last, indptr, lists, form, truncation, lead):
    """Worth of putting the better document first, for neighbours in the order: see `lambdarank`."""
    classes, order, inverse = lists.codes, lists.order, lists.inverse
    gain, kernel = form.gain, form.kernel
    before = np.zeros(len(kernel))
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        lead[start : start + n] = 0
        if inverse[q] == 0:
            continue
        before[:] = 0.0
        u_of, w_of = form.u[form.offset[q] :], form.w[form.offset[q] :]
        for r in range(min(n - 1, truncation)):
            row = start + r
            c, z = classes[start + order[row]], classes[start + order[row + 1]]
            change = (u_of[r] - u_of[r + 1]) * (gain[z] - gain[c])
            change += (w_of[r] - w_of[r + 1]) * (before[z] - before[c])
            change += w_of[r + 1] * (kernel[z, c] - kernel[c, z])
            for y in range(len(kernel)):
                before[y] += kernel[c, y]
            if c != z:
                sign = 1.0 if z > c else -1.0
                lead[row] = sign * max(sign * change * inverse[q], 0.0)
