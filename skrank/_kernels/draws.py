"""Random numbers for each query, and random orders of ties."""

import numpy as np

from skrank._kernels.jit import kernel, subroutine

# splitmix64: the random numbers of a query depend on the seed, the number of the query and its
# scores, and not on threads, chunks, processes and earlier rounds. G. Steele, D. Lea, C. Flood,
# Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.

STEP = np.uint64(0x9E3779B97F4A7C15)  # difference of the states of successive random numbers


@subroutine()
def mix(x):
    """64 random bits from a state."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@subroutine()
def uniform(state):
    """Random number in [0, 1), a multiple of 2^-53, from a state."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53


@subroutine()
def query_state(seed, number, scores, start, stop):
    """State of the random numbers of query `number`, with the scores in rows start .. stop - 1.

    The hash of a sum: a state from seed and `number`, plus a hash of each score and its position.
    """
    state = mix(np.uint64(seed) + STEP * np.uint64(number + 1))
    position_state = state
    for row in range(np.uint64(start), np.uint64(stop)):
        position_state += STEP
        score = np.float64(scores[row] + 0.0)  # -0.0 becomes 0.0
        state += mix(score.view(np.uint64) ^ position_state)
    return mix(state)


@kernel(plain=True)
def shuffle_ties(first, last, indptr, tied, scores, seed, n_before, order):
    """Shuffle each block of ties in `order` (Fisher-Yates).

    The order depends on `seed`, on the number of the query in the data set, `n_before` + q, and on
    the scores of the query.
    """
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        block_start, state, has_state = start, np.uint64(0), False
        for row in range(start + 1, stop):
            if not tied[row]:
                block_start = row
                continue
            if not has_state:  # costly; most queries have no ties after some rounds of boosting
                state, has_state = query_state(seed, n_before + q, scores, start, stop), True
            state += STEP
            other = block_start + np.int64(uniform(state) * (row - block_start + 1))
            order[row], order[other] = order[other], order[row]
