"""Random numbers from counters: splitmix64.

The numbers of a row or query depend only on the seed and on the counter, its number. So they do not
depend on threads, chunks and processes. G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom
Number Generators, OOPSLA 2014.
"""

import numpy as np

from skrank._kernels.jit import subroutine

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
