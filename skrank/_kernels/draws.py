"""Random numbers from counters: splitmix64.

The numbers of a row or query depend on the seed and its counter only. So they are the same in every
thread, chunk and process.
"""

import numpy as np

from skrank._kernels.jit import subroutine

STEP = np.uint64(0x9E3779B97F4A7C15)  # between states of neighbouring counters


@subroutine()
def mix(x):
    """64 well mixed bits from a state."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@subroutine()
def uniform(state):
    """A multiple of 2^-53 in [0, 1) from a state."""
    return np.float64(mix(state) >> np.uint64(11)) * 2.0**-53
