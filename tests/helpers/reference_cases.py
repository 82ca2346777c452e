"""What the tests of reference share."""

import random

import pytest


def close(value, abs=1e-12):
    return pytest.approx(value, abs=abs, rel=0)


def random_query(rng, grades=3, unjudged=True, unretrieved=3, length=9):
    """A ranked list and unretrieved judged labels with at least one relevant document."""
    while True:
        choices = [*range(grades + 1), 0] + ([None] if unjudged else [])
        ranked = [rng.choice(choices) for _ in range(rng.randint(1, length))]
        rest = [rng.randint(0, grades) for _ in range(rng.randint(0, unretrieved))]
        if any(label for label in ranked + rest):
            return ranked, rest


def queries(n, seed=0, **shape):
    rng = random.Random(seed)
    return [random_query(rng, **shape) for _ in range(n)]
