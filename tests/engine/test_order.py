"""The order of documents is that of a stable sort, for scores near, far and equal."""

from contextlib import nullcontext

import numpy as np
import pytest

from skrank.extending import Judgments, Queries
from tests.helpers.engine import Ranking

SIZES = np.array([1, 2, 9, 31, 33, 120, 256, 257])
SCORES = {
    "apart": lambda x: x,
    "tied": lambda x: x.round(1),
    "near, far from 0": lambda x: 1e12 + x.round(2),
    "near each other, at both ends": lambda x: np.where(x > 0, 1.0, -1e9) + 1e-3 * x.round(1),
    "below single precision": lambda x: 1e-310 * x,
    "above single precision": lambda x: 1.5e308 * np.tanh(x),
    "outliers": lambda x: np.where(x > 2, 1e300, 1e-9 * x),
    "zeros of both signs": lambda x: np.where(x > 0, 0.0, -0.0),
    "rising": lambda x: 1e9 + 1e-6 * np.arange(len(x)),
    "some not retrieved": lambda x: np.where(x > -0.5, x, -np.inf),
    "none retrieved": lambda x: np.full(len(x), -np.inf),
}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_the_order_is_that_of_a_stable_sort(name, plain, plain_python):
    rng = np.random.default_rng(0)
    queries = Queries.from_sizes(SIZES)
    scores = SCORES[name](rng.normal(size=queries.n_rows))
    labels = rng.integers(0, 3, queries.n_rows)
    with plain_python() if plain else nullcontext():
        ranking = Ranking(Judgments(labels, queries), scores)
        assert len(ranking.order) == len(ranking.tied) == queries.n_rows
    order = np.concatenate([np.argsort(-one, kind="stable") for one in by_query(scores)])
    assert ranking.order.tolist() == order.tolist()
    for tied, one in zip(by_query(ranking.tied), by_query(scores), strict=True):
        best_first = -np.sort(-one)
        assert tied.tolist() == [0, *(best_first[1:] == best_first[:-1])]
    assert ranking.retrieved.tolist() == [np.sum(one > -np.inf) for one in by_query(scores)]


@pytest.mark.parametrize("name", SCORES)
def test_the_first_ranks_are_those_of_the_whole_order(name):
    rng = np.random.default_rng(1)
    queries = Queries.from_sizes(SIZES)
    scores = SCORES[name](rng.normal(size=queries.n_rows))
    judgments = Judgments(rng.integers(0, 3, queries.n_rows), queries)
    some, whole = Ranking(judgments, scores), Ranking(judgments, scores).codes("average", False)
    some.expect([10])
    head = some.codes("average", False, 10)
    assert "_sorted" not in vars(some)
    lists = zip(queries.indptr, head.retrieved, whole.retrieved, strict=False)
    for start, shown, retrieved in lists:
        assert shown >= min(10, retrieved)
        for found, expected in ((head.codes, whole.codes), (head.tied, whole.tied)):
            rows = slice(start, start + shown)
            assert found[rows].tolist() == expected[rows].tolist()


def by_query(values):
    return np.split(values, np.cumsum(SIZES)[:-1])
