"""Documents have the order of a stable sort; with a cut-off, only the first ranks are sorted."""

import re
from contextlib import nullcontext

import numpy as np
import pytest

import skrank
from skrank.extending import Judgments, Queries, measure
from skrank.metrics import registered
from tests.helpers.engine import Ranking

SIZES = np.array([1, 2, 9, 31, 33, 64, 120, 130, 256, 257, 400])
SCORES = {
    "apart": lambda x: x,
    "tied": lambda x: x.round(1),
    "blocks": lambda x: x.round(),
    "all tied": lambda x: np.zeros(len(x)),
    "near, far from 0": lambda x: 1e12 + x.round(2),
    "near each other, at both ends": lambda x: np.where(x > 0, 1.0, -1e9) + 1e-3 * x.round(1),
    "below single precision": lambda x: 1e-310 * x,
    "above single precision": lambda x: 1.5e308 * np.tanh(x),
    "outliers": lambda x: np.where(x > 2, 1e300, 1e-9 * x),
    "zeros of both signs": lambda x: np.where(x > 0, 0.0, -0.0),
    "rising": lambda x: 1e9 + 1e-6 * np.arange(len(x)),
    "falling": lambda x: -np.arange(len(x), dtype=np.float64),
    "some not retrieved": lambda x: np.where(x > -0.5, x, -np.inf),
    "none retrieved": lambda x: np.full(len(x), -np.inf),
}


def judgments_and_scores(name):
    rng = np.random.default_rng(0)
    queries = Queries.from_sizes(SIZES)
    scores = SCORES[name](rng.normal(size=queries.n_rows))
    return Judgments(rng.integers(0, 4, queries.n_rows), queries), scores


def by_query(values):
    return np.split(values, np.cumsum(SIZES)[:-1])


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_the_order_is_that_of_a_stable_sort(name, plain, plain_python):
    judgments, scores = judgments_and_scores(name)
    with plain_python() if plain else nullcontext():
        ranking = Ranking(judgments, scores)
        assert len(ranking.order) == len(ranking.tied) == len(scores)
    order = np.concatenate([np.argsort(-one, kind="stable") for one in by_query(scores)])
    assert ranking.order.tolist() == order.tolist()
    for tied, one in zip(by_query(ranking.tied), by_query(scores), strict=True):
        best_first = -np.sort(-one)
        assert tied.tolist() == [0, *(best_first[1:] == best_first[:-1])]
    assert ranking.retrieved.tolist() == [np.sum(one > -np.inf) for one in by_query(scores)]


# first ranks

DEPTHS = (1, 3, 10)


def cut_metrics():
    """All metrics with a cut-off."""
    for name in sorted(registered()):
        try:
            yield from (skrank.metric(name, k=k) for k in DEPTHS)
        except (TypeError, ValueError):
            continue


CUT = list(cut_metrics())
SORTED_OR_NOT = [
    *("apart", "tied", "blocks", "all tied", "rising", "falling"),
    *("some not retrieved", "none retrieved"),
]


def rankings(name):
    """The same ranking twice: before sorting, and with all documents sorted."""
    judgments, scores = judgments_and_scores(name)
    lazy, full = Ranking(judgments, scores), Ranking(judgments, scores)
    assert len(full.order) == len(scores)
    return judgments, lazy, full


@pytest.mark.parametrize("scores", SORTED_OR_NOT)
@pytest.mark.parametrize("one", CUT, ids=str)
def test_values_keep_their_bits(one, scores):
    judgments, lazy, full = rankings(scores)
    try:
        expected = measure(judgments, [full], [one])
    except ValueError as error:  # metrics that refuse ties
        with pytest.raises(ValueError, match=re.escape(str(error))):
            measure(judgments, [lazy], [one])
        return
    found = measure(judgments, [lazy], [one])
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert lazy.n_retrieved == full.n_retrieved == full.retrieved.sum()


def test_nothing_else_is_sorted():
    judgments, lazy, _ = rankings("apart")
    measure(judgments, [lazy], [skrank.metric("ndcg@10")])
    assert "_sorted" not in vars(lazy)
    measure(judgments, [lazy], [skrank.metric("ndcg")])
    assert "_sorted" in vars(lazy)


@pytest.mark.parametrize("metrics", [["ndcg@3", "gap@10"], ["ndcg@3", "ap"]])
def test_several_metrics_are_those_alone(metrics):
    rng = np.random.default_rng(1)
    groups, labels = np.repeat(np.arange(20), 50), rng.integers(0, 4, 1000)
    scores = np.round(rng.normal(size=1000), 1)
    together = skrank.evaluate(labels, scores, groups=groups, metrics=metrics)
    for name in metrics:
        alone = skrank.evaluate(labels, scores, groups=groups, metrics=[name])
        assert together.mean[name].tolist() == alone.mean[name].tolist()
