"""What the tests of softrank share."""

import numpy as np
import pytest

FORMS = [("gap", "moments"), ("ap", "moments"), ("ndcg", "moments"), ("ndcg@4", "distribution")]
every_form = pytest.mark.parametrize(("name", "form"), FORMS)


def one_query(seed, n=9):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n).astype(float)
    labels[:2] = 3, 0
    return labels, rng.normal(size=n)


def many(n_queries, seed=0, longest=40):
    """Contiguous queries; the first has all grades."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, longest, n_queries)
    groups = np.repeat(np.arange(n_queries), sizes)
    labels = rng.choice([0.0, 0, 0, 1, 2, 3], len(groups))
    labels[:4] = range(4)
    return labels, rng.normal(size=len(groups)), groups
