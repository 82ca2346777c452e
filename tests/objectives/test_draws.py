"""Random draws depend on the seed and on the scores of a query only."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skrank import LambdaLoss, LambdaRank, Softmax
from tests.helpers.engine import judge


def step(bound, scores):
    out = np.empty((2, len(scores)))
    bound.gradient(scores, *out)
    return out


GROUPS = np.repeat(np.arange(40), 15)


def labels_and_scores():
    rng = np.random.default_rng(0)
    return rng.integers(0, 4, len(GROUPS)) * 1.0, rng.normal(size=len(GROUPS)).round(1)


DRAWING = [
    LambdaRank("gap"),
    LambdaLoss("ndcg"),
    Softmax(random_gains=True),
    0.5 * LambdaRank("err") + 0.5 * Softmax(random_gains=True),
]


@pytest.mark.parametrize("objective", DRAWING, ids=str)
def test_draws_depend_on_seed_and_scores_of_the_query_only(objective):
    labels, scores = labels_and_scores()
    bound = objective.bind(judge(labels, GROUPS))
    first = step(bound, scores)
    step(bound, -scores)
    assert_array_equal(step(bound, scores), first)
    assert_array_equal(step(bound, np.where(scores == 0, -0.0, scores)), first)
    moved = scores.copy()
    moved[GROUPS == 3] += 1  # a shift alone changes no gradient but by other draws
    changed = (step(bound, moved) != first).any(axis=0)
    assert changed[GROUPS == 3].any()
    assert not changed[GROUPS != 3].any()
    if len(objective.terms) == 1:
        other = dataclasses.replace(objective, random_state=1).bind(judge(labels, GROUPS))
        assert not np.array_equal(step(other, scores), first)
