"""Random numbers for each query, and random orders of ties."""

import numpy as np

from skrank._kernels.jit import kernel, subroutine

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

    The digest of the scores is the sum of their hashed bits.
    """
    state = mix(np.uint64(seed) + STEP * np.uint64(number + 1))
    place = state
    for row in range(np.uint64(start), np.uint64(stop)):
        place += STEP
        score = np.float64(scores[row] + 0.0)  # -0.0 becomes 0.0
        state += mix(score.view(np.uint64) ^ place)
    return mix(state)


@kernel(plain=True)
def shuffle_ties(first, last, indptr, tied, scores, seed, n_before, order):
    """Order each block of ties at random.

    The order depends on `seed`, on the number of the query in the data set, `n_before` + q, and on
    the scores of the query.
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
