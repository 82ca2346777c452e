"""What the tests of informativeness share."""

from __future__ import annotations

import numpy as np


def random_list(seed, n_ranks=60, n_grades=4, noise=1.5):
    rng = np.random.default_rng(seed)
    grades = rng.choice(n_grades, n_ranks, p=[0.6, *[0.4 / (n_grades - 1)] * (n_grades - 1)])
    return grades[np.argsort(-(grades + noise * rng.normal(size=n_ranks)))]
