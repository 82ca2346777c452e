"""Order documents by score inside each query and mark the ties."""

import numpy as np

from skrank._kernels.arguments import NO_TIE
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import longest, options, padded

COUNT_UP_TO = 256  # below, ranks are counted with SIMD comparisons; above, merge sort wins
SHORT_BLOCK = 64  # blocks of ties up to this size are sorted by insertion
RUN = 16  # length of the runs that the merge sort starts from
LANES = 8  # documents per SIMD step
WIDTH = 32  # the number of comparisons in single precision is a multiple of this
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # step of the counters that are mixed into random bits


@part(**options)
def _resort(start, stop, scores, keys, order, most):
    """Insertion sort that starts from `order`; False where it takes more than `most` moves."""
    scores, order = scores[start:stop], order[start:stop]
    n = len(scores)
    moves = 0
    for i in range(n):
        item = order[i]
        key = scores[item]
        j = i
        while j > 0 and (keys[j - 1] < key or (keys[j - 1] == key and order[j - 1] > item)):
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, item
        moves += i - j
        if moves > most:
            return False
    return True


def _argsort(start, stop, scores, rough, keys, block, seen, order):
    """What `_sort_by_counting` does."""
    scores, order = scores[start:stop], order[start:stop]
    order[:] = np.argsort(-scores, kind="stable")
    keys[: len(scores)] = scores[order]


@part(**options, plain=_argsort)
def _sort_by_counting(start, stop, scores, rough, keys, block, seen, order):
    """Positions by rank from the number of better documents; ties keep row order.

    They are counted in single precision, as differences to one of the scores: SIMD compares twice
    as many. What this does not tell apart moves to its place afterwards.
    """
    mine, chosen = scores[start:stop], order[start:stop]
    n = len(mine)
    room = padded(n, WIDTH)
    middle = mine[0] if n > 0 and mine[0] > -np.inf else 0.0
    for i in range(n):
        rough[i] = mine[i] - middle
    for i in range(n, room):
        rough[i] = -np.inf
    for i in range(n):
        key = rough[i]
        above = np.int32(0)
        for j in range(room):
            above = np.int32(above + (rough[j] > key))
        block[i], seen[i] = above, 0
    for i in range(n):
        rank = block[i]
        chosen[rank + seen[rank]] = i
        seen[rank] += 1
    rises, before = False, np.inf
    for r in range(n):
        key = mine[chosen[r]]
        rises |= key > before
        keys[r] = before = key
    if rises:
        _resort(start, stop, scores, keys, order, n * n)


@part(**options)
def _sort_by_merging(start, stop, scores, keys, spare_keys, spare, order):
    """Stable bottom-up merge sort, descending."""
    scores, order = scores[start:stop], order[start:stop]
    n = len(scores)
    for i in range(n):
        keys[i] = scores[i]
        order[i] = i
    for low in range(0, n, RUN):
        for i in range(low + 1, min(low + RUN, n)):
            key, item = keys[i], order[i]
            j = i
            while j > low and keys[j - 1] < key:
                keys[j], order[j] = keys[j - 1], order[j - 1]
                j -= 1
            keys[j], order[j] = key, item
    width = RUN
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            if middle >= high or keys[middle - 1] >= keys[middle]:
                continue
            left = middle - low
            for i in range(left):
                spare_keys[i], spare[i] = keys[low + i], order[low + i]
            i, j, k = 0, middle, low
            while i < left:
                if j < high and keys[j] > spare_keys[i]:
                    keys[k], order[k] = keys[j], order[j]
                    j += 1
                else:
                    keys[k], order[k] = spare_keys[i], spare[i]
                    i += 1
                k += 1
        width *= 2


@part(**options)
def _keep(start, stop, scores, keys, order):
    """The given order, if scores do not rise in it: runs in files are mostly sorted."""
    for row in range(start + 1, stop):
        if scores[row] > scores[row - 1]:
            return False
    for i in range(stop - start):
        keys[i], order[start + i] = scores[start + i], i
    return True


@njit(**options, allocates=True, exact=True)
def rank(first, last, indptr, scores, warm, long, order, tied, retrieved):
    """Fill `order` (position by rank), `tied` and `retrieved`. Scores are no NaN.

    `warm` says that `order` holds the order of similar scores to start from; the result is the
    same. `long` is None where no query has more than COUNT_UP_TO documents, else True: what only
    these need takes as long to compile as all the rest.
    """
    room = padded(longest(first, last, indptr), WIDTH)
    keys, rough = np.empty(room), np.empty(room, np.float32)
    block, spare = np.empty(room, np.int64), np.empty(room, np.int64)
    spare_keys = keys if long is None else np.empty(room)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        if not (warm and _resort(start, stop, scores, keys, order, 6 * n)):
            if _keep(start, stop, scores, keys, order):
                pass
            elif long is None or n <= COUNT_UP_TO:
                _sort_by_counting(start, stop, scores, rough, keys, block, spare, order)
            else:
                _sort_by_merging(start, stop, scores, keys, spare_keys, spare, order)
        tied[start] = 0
        for r in range(1, n):
            tied[start + r] = keys[r] == keys[r - 1]
        found = n
        while found > 0 and keys[found - 1] == -np.inf:
            found -= 1
        retrieved[q] = found


@part(**options)
def _lower_bound(scores, depth, tops):
    """A score that `depth` documents reach: that many of the tops of some parts of the list do."""
    tops[:] = -np.inf
    width = len(tops)
    for base in range(0, len(scores), width):
        part = scores[base : base + width]
        for j in range(len(part)):
            tops[j] = part[j] if part[j] > tops[j] else tops[j]
    bound = np.inf
    for j in range(width):
        above = 0
        for other in range(width):
            above += tops[other] > tops[j]
        if above < depth:
            bound = min(bound, tops[j])
    return bound


@part(**options)
def _candidates(scores, bound, near, items):
    """Scores from `bound` on but -inf, and where they stand; how many there are."""
    found = 0
    for i in range(len(scores)):
        near[found], items[found] = scores[i], i
        found += scores[i] >= bound and scores[i] > -np.inf
    return found


@njit(**options, allocates=True, exact=True)
def head(first, last, indptr, scores, codes, depth, ranked, tied, retrieved):
    """Codes of the first `depth` ranks and of all documents tied with the last of them.

    Nothing else of the query is in `ranked`, `tied` and `retrieved`. Scores are no NaN.
    """
    room = padded(longest(first, last, indptr) + 1, WIDTH)
    near, keys, spare_keys = np.empty(room), np.empty(room), np.empty(room)
    items, order = np.empty(room, np.int64), np.empty(room, np.int32)
    rough = np.empty(room, np.float32)
    block, spare = np.empty(room, np.int64), np.empty(room, np.int64)
    tops = np.empty(padded(2 * depth, LANES))
    for q in range(first, last):
        start = indptr[q]
        mine = scores[start : indptr[q + 1]]
        found = _candidates(mine, _lower_bound(mine, depth, tops), near, items)
        if found <= COUNT_UP_TO:
            _sort_by_counting(np.int64(0), found, near, rough, keys, block, spare, order)
        else:
            _sort_by_merging(np.int64(0), found, near, keys, spare_keys, spare, order)
        shown = min(found, depth)
        while 0 < shown < found and keys[shown] == keys[shown - 1]:
            shown += 1
        for r in range(shown):
            ranked[start + r] = codes[start + items[order[r]]]
            tied[start + r] = r > 0 and keys[r] == keys[r - 1]
        retrieved[q] = shown


@part(**options)
def mix(x):
    """The finaliser of splitmix64: well mixed bits from a counter."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(**options, exact=True)
def shuffle_ties(first, last, indptr, tied, seed, before, order):
    """Random order inside each block of ties; depends on `seed` and the query only.

    `before` tells how many queries stand before the first one of these.
    """
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        state = mix(np.uint64(seed) + GOLDEN * np.uint64(before + q + 1))
        low = start
        for row in range(start + 1, stop):
            if not tied[row]:
                low = row
                continue
            state += GOLDEN
            draw = mix(state) >> np.uint64(11)
            other = low + np.int64(np.float64(draw) * 2.0**-53 * (row - low + 1))
            order[row], order[other] = order[other], order[row]


@njit(**options)
def add_noise(first, last, indptr, scores, temperature, seed, before, noisy):
    """Scores plus Gumbel noise, which depends on `seed` and the row only.

    `before` tells how many rows stand before the first one of these.
    """
    origin = mix(np.uint64(seed))
    for row in range(indptr[first], indptr[last]):
        draw = mix(origin + GOLDEN * np.uint64(before + row + 1)) >> np.uint64(11)
        uniform = (np.float64(draw) + 0.5) * 2.0**-53
        noisy[row] = scores[row] - temperature * np.log(-np.log(uniform))


@njit(**options, exact=True)
def gather(first, last, indptr, codes, order, ranked):
    """Codes in rank order."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        mine, chosen, target = codes[start:stop], order[start:stop], ranked[start:stop]
        for r in range(stop - start):
            target[r] = mine[chosen[r]]


@njit(**options, exact=True)
def first_ties(first, last, indptr, tied, retrieved, tie):
    """The first rank of each query that is tied with the one above, or `NO_TIE`."""
    for q in range(first, last):
        mine = tied[indptr[q] : indptr[q] + retrieved[q]]
        some = np.uint8(0)
        for r in range(len(mine)):
            some |= mine[r]
        tie[q] = NO_TIE
        if some:
            rank = 0
            while not mine[rank]:
                rank += 1
            tie[q] = rank


@njit(**options, exact=True)
def keep(first, last, indptr, lists, worthy, kept):
    """The ranks of the retrieved documents of worthy codes.

    There is no branch: it would often be guessed wrong.
    """
    for q in range(first, last):
        start, n = indptr[q], lists.retrieved[q]
        codes, ranks = lists.codes[start : start + n], kept.ranks[start : start + n]
        free = 0
        for r in range(n):
            ranks[free] = r
            free += worthy[codes[r]]
        kept.count[q] = free


@part(**options)
def _sort_block(ranked, low, high, place, code_at, count):
    """Sort ranks low .. high - 1 by the place of their codes: insertion if short, else counting."""
    if high - low <= SHORT_BLOCK:
        for row in range(low + 1, high):
            code = ranked[row]
            j = row
            while j > low and place[code] < place[ranked[j - 1]]:
                ranked[j] = ranked[j - 1]
                j -= 1
            ranked[j] = code
        return
    count[:] = 0
    for row in range(low, high):
        count[place[ranked[row]]] += 1
    row = low
    for code in code_at:
        for _ in range(count[place[code]]):
            ranked[row] = code
            row += 1


@njit(**options, allocates=True, exact=True)
def settle_ties(first, last, indptr, tied, place, code_at, ranked):
    """Order the codes inside each block of ties by `place`, whose inverse is `code_at`."""
    count = np.empty(len(place), np.int64)
    for q in range(first, last):
        low = indptr[q]
        for row in range(indptr[q] + 1, indptr[q + 1] + 1):
            if row == indptr[q + 1] or not tied[row]:
                _sort_block(ranked, low, row, place, code_at, count)
                low = row


@njit(**options, exact=True)
def condense(
    first, last, indptr, unjudged, ranked, tied, retrieved,
    kept_ptr, kept, kept_tied, kept_retrieved,
):  # fmt: skip
    """Remove the documents without a label; the ranks close up."""
    for q in range(first, last):
        start, target = indptr[q], kept_ptr[q]
        out, found, open_block = target, 0, False
        for row in range(start, indptr[q + 1]):
            open_block = open_block and tied[row] == 1
            if ranked[row] >= unjudged:
                continue
            kept[out] = ranked[row]
            kept_tied[out] = open_block
            open_block = True
            out += 1
            found += row - start < retrieved[q]
        kept_retrieved[q] = found
