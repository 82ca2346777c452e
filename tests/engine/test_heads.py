"""With a cut-off, only the first ranks are sorted: values keep their bits."""

import re

import numpy as np
import pytest

import skrank
from skrank.extending import Judgments, Queries
from skrank.metrics import registered
from tests.helpers.engine import Ranking

DEPTHS = (1, 3, 10)


def cut_metrics():
    """All metrics with a cut-off."""
    for name in sorted(registered()):
        try:
            yield from (skrank.metric(name, k=k) for k in DEPTHS)
        except (TypeError, ValueError):
            continue


CUT = list(cut_metrics())
SCORES = {
    "distinct": lambda rng, n: rng.normal(size=n),
    "few ties": lambda rng, n: np.round(rng.normal(size=n), 1),
    "blocks": lambda rng, n: np.round(rng.normal(size=n)),
    "all tied": lambda rng, n: np.zeros(n),
    "half retrieved": lambda rng, n: np.where(rng.random(n) < 0.5, rng.normal(size=n), -np.inf),
    "nothing retrieved": lambda rng, n: np.full(n, -np.inf),
    "rising": lambda rng, n: np.arange(n, dtype=np.float64),
    "falling": lambda rng, n: -np.arange(n, dtype=np.float64),
}


def rankings(scores, seed=0):
    """The same ranking twice: before sorting, and with all documents sorted."""
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 9, 31, 64, 130, 400]
    queries = Queries.from_groups(np.repeat(np.arange(len(sizes)), sizes))
    judgments = Judgments(rng.integers(0, 4, sum(sizes)).astype(float), queries)
    vector = SCORES[scores](rng, sum(sizes))
    lazy, full = Ranking(judgments, vector), Ranking(judgments, vector)
    assert len(full.order) == sum(sizes)
    return judgments, lazy, full


def test_some_metrics_are_cut():
    assert {"ndcg", "gap", "ap", "err", "precision"} <= {str(one).partition("@")[0] for one in CUT}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("one", CUT, ids=str)
def test_values_keep_their_bits(one, scores):
    judgments, lazy, full = rankings(scores)
    try:
        plan = one.bind(judgments)
        expected = plan.values(full)
    except ValueError as error:  # metrics that refuse ties
        with pytest.raises(ValueError, match=re.escape(str(error))):
            one.bind(judgments).values(lazy)
        return
    np.testing.assert_array_equal(plan.values(lazy), expected)
    np.testing.assert_array_equal(plan.mass(lazy), plan.mass(full))
    assert lazy.n_retrieved == full.n_retrieved == full.retrieved.sum()


def test_nothing_else_is_sorted():
    judgments, lazy, _ = rankings("distinct")
    skrank.metric("ndcg@10").bind(judgments).values(lazy)
    assert "_sorted" not in vars(lazy)
    skrank.metric("ndcg").bind(judgments).values(lazy)
    assert "_sorted" in vars(lazy)


@pytest.mark.parametrize("ties", ["stable", "best", "worst"])
def test_other_orders_of_ties_sort_everything(ties):
    judgments, lazy, full = rankings("blocks")
    plan = skrank.metric("gap@3", ties=ties).bind(judgments)
    np.testing.assert_array_equal(plan.values(lazy), plan.values(full))


@pytest.mark.parametrize("metrics", [["ndcg@3", "gap@10"], ["ndcg@3", "ap"]])
def test_several_metrics_are_those_alone(metrics):
    rng = np.random.default_rng(1)
    groups, labels = np.repeat(np.arange(20), 50), rng.integers(0, 4, 1000)
    scores = np.round(rng.normal(size=1000), 1)
    together = skrank.evaluate(labels, scores, groups=groups, metrics=metrics)
    for name in metrics:
        alone = skrank.evaluate(labels, scores, groups=groups, metrics=[name])
        assert together.mean[name] == alone.mean[name]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_scores_are_named(bad):
    scores = np.zeros(100)
    scores[70] = bad
    with pytest.raises(ValueError, match="row 70"):
        skrank.metric("ndcg@5")(np.arange(100) % 3, scores, groups=np.zeros(100))
