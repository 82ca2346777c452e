"""Rank documents by score inside each query, find ties, and order them at random."""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import ONE_PASS, kernel, subroutine
from skrank._kernels.sorting import GAPS, WIDTH, resort, sort
from skrank._kernels.tiles import padded

_LANES = 8  # double precision numbers per SIMD instruction


NO_TIE = 2**62  # larger than every rank


class Ranked(NamedTuple):
    """Documents in rank order: those of query q have the rows from ``indptr[q]`` on."""

    codes: np.ndarray  # by row: code of the label
    tied: np.ndarray  # by row: 1 if the score equals the score of the rank above
    retrieved: np.ndarray  # by query: number of documents with a score above -inf
    first_tie: np.ndarray  # by query: first retrieved rank tied with the rank above, or NO_TIE


class RankedRows(NamedTuple):
    """`Ranked` without `first_tie`, which `first_ties` computes only if a kernel needs it."""

    codes: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray


class Contributing(NamedTuple):
    """Documents of ranked lists that contribute to a value."""

    ranks: np.ndarray  # of all queries, ascending within each
    starts: np.ndarray  # by query: index in `ranks` of its first document
    counts: np.ndarray  # by query: number of its documents in `ranks`


@subroutine()
def longest(first, last, indptr):
    """Number of documents of the longest of the queries first .. last - 1."""
    most = 0
    for q in range(first, last):
        n = indptr[q + 1] - indptr[q]
        most = n if n > most else most
    return most


@subroutine()
def end_of_block(tied, row, end):
    """End of the block of ties that starts at `row`."""
    stop = row + 1
    while stop < end and tied[stop]:
        stop += 1
    return stop


@kernel(plain=True)
def rank(first, last, indptr, scores, warm, order, tied, retrieved):
    """Fill `order` (position by rank), `tied` and `retrieved`. Scores must not be NaN.

    With `warm`, `order` has the order of similar scores, from which the sort starts; the result is
    the same. `resort` gives up after some moves: with 0, it only tests whether a list is sorted, as
    in many files.
    """
    size = longest(first, last, indptr) + WIDTH
    keys, single = np.empty(size), np.empty(size, np.float32)
    n_above, n_placed = np.empty(size, np.int64), np.empty(size, np.int64)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n, mine, chosen = stop - start, scores[start:stop], order[start:stop]
        if not warm:
            for i in range(n):
                chosen[i] = i
        if not resort(mine, 6 * n if warm else 0, keys, chosen):
            sort(mine, single, keys, n_above, n_placed, chosen)
        tied[start] = 0
        for r in range(1, n):
            tied[start + r] = keys[r] == keys[r - 1]
        n_retrieved = n
        while n_retrieved > 0 and keys[n_retrieved - 1] == -np.inf:
            n_retrieved -= 1
        retrieved[q] = n_retrieved


@subroutine()
def _lower_bound(scores, depth, tops):
    """A score that at least `depth` documents reach.

    Document i belongs to part i modulo the number of entries of `tops`, a workspace for the highest
    score of each part. The result is the `depth`-th highest entry of `tops`.
    """
    for j in range(len(tops)):
        tops[j] = -np.inf
    for base in range(0, len(scores), len(tops)):
        block = scores[base : base + len(tops)]
        for j in range(len(block)):
            tops[j] = block[j] if block[j] > tops[j] else tops[j]
    bound = np.inf
    for i in range(len(tops)):
        n_above = 0
        for j in range(len(tops)):
            n_above += tops[j] > tops[i]
        if n_above < depth:
            bound = min(bound, tops[i])
    return bound


@subroutine()
def _candidates(scores, bound, candidates, positions):
    """Fill in scores above -inf that reach `bound`, and their positions. Returns their number."""
    found = 0
    for i in range(len(scores)):
        candidates[found], positions[found] = scores[i], i  # in any case: a branch is slower
        found += scores[i] >= bound and scores[i] > -np.inf
    return found


@kernel(plain=True)
def head(first, last, indptr, scores, codes, depth, out):
    """Rank the first `depth` documents, and all documents tied with the last of these.

    Fills `out.codes`, `out.tied` and `out.retrieved` with these documents only. Scores must not be
    NaN.
    """
    size = longest(first, last, indptr) + WIDTH
    candidates, keys = np.empty(size), np.empty(size)
    positions, order = np.empty(size, np.int64), np.empty(size, np.int32)
    single = np.empty(size, np.float32)
    n_above, n_placed = np.empty(size, np.int64), np.empty(size, np.int64)
    tops = np.empty(padded(2 * depth, _LANES))
    ranked, tied, retrieved = out.codes, out.tied, out.retrieved
    for q in range(first, last):
        start = indptr[q]
        mine = scores[start : indptr[q + 1]]
        n = _candidates(mine, _lower_bound(mine, depth, tops), candidates, positions)
        sort(candidates[:n], single, keys, n_above, n_placed, order[:n])
        shown = min(n, depth)
        while 0 < shown < n and keys[shown] == keys[shown - 1]:
            shown += 1
        for r in range(shown):
            ranked[start + r] = codes[start + positions[order[r]]]
            tied[start + r] = r > 0 and keys[r] == keys[r - 1]
        retrieved[q] = shown


@kernel(plain=True, row_cost=ONE_PASS)
def gather(first, last, indptr, codes, order, ranked):
    """Fill `ranked` with the codes in rank order."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        mine, chosen, target = codes[start:stop], order[start:stop], ranked[start:stop]
        for r in range(stop - start):
            target[r] = mine[chosen[r]]


@kernel(plain=True, row_cost=ONE_PASS)
def find_contributing(first, last, indptr, lists, contributes, out):
    """Fill `out` with the ranks of the retrieved documents whose code contributes."""
    codes, retrieved = lists.codes, lists.retrieved
    all_ranks, counts = out.ranks, out.counts
    for q in range(first, last):
        start, n = indptr[q], retrieved[q]
        mine, ranks = codes[start : start + n], all_ranks[start : start + n]
        found = 0
        for r in range(n):
            ranks[found] = r  # in any case: the processor would often mispredict a branch
            found += contributes[mine[r]]
        counts[q] = found


# random numbers from counters: splitmix64
# --------------------------------------------------------------------------------------------------

# The random numbers of a query depend on the seed, on the number of the query and on its scores, so
# not on threads, chunks, processes and earlier rounds. G. Steele, D. Lea, C. Flood, Fast Splittable
# Pseudorandom Number Generators, OOPSLA 2014.

STEP = np.uint64(0x9E3779B97F4A7C15)  # between states of neighbouring counters


@subroutine()
def mix(x):
    """64 random bits of a state."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@subroutine()
def uniform(state):
    """Random number in [0, 1), a multiple of 2^-53, of a state."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53


@subroutine()
def query_state(seed, number, scores, start, stop):
    """State of the random numbers of query `number`, with the scores in rows start .. stop - 1.

    The digest of the scores is the sum of their hashed bits. If `scores` is None, the state depends
    on the seed and the number only.
    """
    state = mix(np.uint64(seed) + STEP * np.uint64(number + 1))
    if scores is not None:
        place = state
        for row in range(np.uint64(start), np.uint64(stop)):
            place += STEP
            score = np.float64(scores[row] + 0.0)  # -0.0 becomes 0.0
            state += mix(score.view(np.uint64) ^ place)
        state = mix(state)
    return state


@kernel(plain=True)
def shuffle_ties(first, last, indptr, tied, scores, seed, n_before, order):
    """Order each block of ties at random.

    The order depends on `seed`, on the number of the query in the data set, `n_before` + q, and on
    the scores of the query unless `scores` is None.
    """
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        low, state, drawn = start, np.uint64(0), False
        for row in range(start + 1, stop):
            if not tied[row]:
                low = row
                continue
            if not drawn:  # most queries have no ties in later rounds
                state, drawn = query_state(seed, n_before + q, scores, start, stop), True
            state += STEP
            other = low + np.int64(uniform(state) * (row - low + 1))
            order[row], order[other] = order[other], order[row]


@kernel()
def add_noise(first, last, indptr, scores, temperature, seed, n_before, noisy):
    """Fill `noisy` with scores plus Gumbel noise times `temperature`.

    The noise depends on `seed`, on the number of the query in the data set, `n_before` + q, and on
    its scores.
    """
    for q in range(first, last):
        state = query_state(seed, n_before + q, scores, indptr[q], indptr[q + 1])
        for row in range(indptr[q], indptr[q + 1]):
            state += STEP
            share = uniform(state) + 2.0**-54  # never 0
            noisy[row] = scores[row] - temperature * np.log(-np.log(share))


@kernel(plain=True, row_cost=ONE_PASS)
def first_ties(first, last, indptr, tied, retrieved, first_tie):
    """Fill in the first retrieved rank of each query that is tied with the one above, or NO_TIE."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q] + retrieved[q]
        some = np.uint8(0)
        for row in range(np.uint64(start), np.uint64(stop)):  # all rows, in SIMD: ties are rare
            some |= tied[row]
        first_tie[q] = NO_TIE
        if some:
            rank = 0
            while not tied[start + rank]:
                rank += 1
            first_tie[q] = rank


@subroutine()
def _sort_block(ranked, low, high, place):
    """Shell's sort of the codes in rows low .. high - 1 by `place`."""
    for gap in GAPS:
        for row in range(low + gap, high):
            code, j = ranked[row], row
            while j >= low + gap and place[code] < place[ranked[j - gap]]:
                ranked[j] = ranked[j - gap]
                j -= gap
            ranked[j] = code


@kernel(plain=True)
def settle_ties(first, last, indptr, tied, place, ranked):
    """Order the codes inside each block of ties by ``place[code]``."""
    for q in range(first, last):
        low = indptr[q]
        for row in range(indptr[q] + 1, indptr[q + 1] + 1):
            if row == indptr[q + 1] or not tied[row]:
                if row - low > 1:
                    _sort_block(ranked, low, row, place)
                low = row


@kernel(plain=True, row_cost=ONE_PASS)
def condense(first, last, indptr, lists, unjudged, out_indptr, out):
    """Remove the documents without a label; documents below move up.

    Fills `out.codes`, `out.tied` and `out.retrieved`, whose queries start at `out_indptr`.
    """
    ranked, tied, retrieved = lists.codes, lists.tied, lists.retrieved
    out_ranked, out_tied, out_retrieved = out.codes, out.tied, out.retrieved
    for q in range(first, last):
        start, target = indptr[q], out_indptr[q]
        n_retrieved = 0
        same_block = False  # whether a judged document of the same block of ties is above the row
        for row in range(start, indptr[q + 1]):
            same_block = same_block and tied[row] == 1
            if ranked[row] >= unjudged:
                continue
            out_ranked[target] = ranked[row]
            out_tied[target] = same_block
            same_block = True
            target += 1
            n_retrieved += row - start < retrieved[q]
        out_retrieved[q] = n_retrieved
