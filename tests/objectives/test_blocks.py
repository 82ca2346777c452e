"""Boosters call objectives on blocks of queries, with the gradients of a call on all queries."""

import lightgbm
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
import skrank.lightgbm
from skrank import LambdaRank, Softmax, SquaredError
from tests.helpers.engine import judge

N_QUERIES, DOCUMENTS = 5600, 200  # more than a million rows, which are a block
GROUPS = np.repeat(np.arange(N_QUERIES), DOCUMENTS)


@pytest.fixture(scope="module")
def data():
    """A data set of LightGBM, its labels, and scores."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, len(GROUPS)).astype(np.float32)
    sizes, params = np.full(N_QUERIES, DOCUMENTS), {"verbosity": -1}
    dataset = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, params=params)
    return dataset.construct(), labels, rng.normal(size=len(labels)).round(1)


@pytest.mark.parametrize(
    "objective", [LambdaRank("gap"), 0.5 * LambdaRank("err") + 0.5 * Softmax(random_gains=True)]
)
def test_bits_of_a_round(objective, data):
    dataset, labels, scores = data
    found = skrank.lightgbm.objective(objective)(scores, dataset)
    whole = np.empty((2, len(scores)), np.float32)
    objective.bind(judge(labels, GROUPS)).gradient(scores, *whole)
    assert_array_equal(found, whole)


def test_errors_name_rows_of_the_caller(data):
    dataset, _, scores = data
    wrong = scores.copy()
    wrong[1_100_007] = np.nan
    with pytest.raises(ValueError, match="row 1100007"):
        skrank.lightgbm.objective("gap")(wrong, dataset)


def test_objectives_that_may_depend_on_all_queries_are_bound_whole(data):
    class Own(skrank.Objective):
        """An objective that counts the queries which it is bound to."""

        def bind(self, judgments, weights=None, *, max_grade=None):
            bound.append(len(judgments.queries))
            return SquaredError().bind(judgments, weights, max_grade=max_grade)

    bound: list[int] = []
    skrank.lightgbm.objective(Own() + SquaredError())(data[2], data[0])
    assert bound == [N_QUERIES]
