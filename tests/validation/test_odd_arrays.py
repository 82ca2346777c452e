"""Unusual arrays and parameters that are taken, and labels that look swapped."""

from functools import partial

import numpy as np
import pytest

import skrank
from skrank import active
from skrank.datasets import make_ranking

GAP = skrank.metric("gap")
FAR = [2.0, 1.0, 0.0]


def test_labels_and_scores_near_the_limits():
    assert skrank.metric("ap")([1, 0, 2**31], FAR) == pytest.approx((1 + 2 / 3) / 2)
    assert skrank.metric("ndcg(gain=linear)@1")([1, 0, 2**31], FAR) == 2**-31
    assert GAP([0, 1, 0], np.array([2**53 - 2, 2**53 - 1, 0])) == 1
    assert GAP(np.ma.array([1, 0, 2]), np.ma.array(FAR)) == GAP([1, 0, 2], FAR)


@pytest.mark.parametrize("dtype", [">i2", ">f8", ">U3", "S3", "f2", bool])
def test_groups_of_any_byte_order_and_width(dtype):
    groups = np.array([0, 1, 0, 1], dtype=dtype)
    expected = GAP.per_query([0, 2, 1, 0], [4, 3, 2, 1], groups=[0, 1, 0, 1])
    found = GAP.per_query([0, 2, 1, 0], [4, 3, 2, 1], groups=groups)
    assert found.tolist() == expected.tolist()
    y = skrank.with_groups(np.array([0, 2, 1, 0]), groups)
    assert GAP.per_query(y, [4, 3, 2, 1]).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "groups", [["1", 1, "1", 1], [1.5, "1.5", 1.5, "1.5"], [-1, 2**63, -1, 2**63 + 1][::-1]]
)
def test_ids_of_a_list_that_one_dtype_would_merge(groups):
    found = GAP.per_query([1, 1, 0, 0], [4, 3, 2, 1], groups=groups)
    assert len(found) == len(set(groups))


# faults that random arguments have found


def test_costs_below_the_smallest_normal_float():
    """error / cost overflows; its square root does not."""
    design = active.Design(grades=[0, 1, 2], costs={"a": 5e-324, "b": 1})
    campaign = active.ActiveEvaluator([3, 2, 1], ["a", "a", "b"], metric="dcg", design=design)
    q = campaign.sampling.probability
    assert q["a"] > 0.5
    assert q.sum() == pytest.approx(1)


# labels that look swapped with scores or ids

RNG = np.random.default_rng(0)
QUERIES = np.repeat(np.arange(10), 6)
LABELS = RNG.integers(0, 3, 60)
MARGINS = RNG.normal(size=60)  # some below 0
CHANCES = RNG.uniform(size=60)


@pytest.mark.parametrize("labels", [CHANCES, skrank.with_groups(CHANCES, QUERIES)])
def test_labels_and_scores_that_look_swapped_warn(labels):
    for call in (skrank.metric("ndcg"), partial(skrank.evaluate, metrics="ndcg")):
        with pytest.warns(UserWarning, match="relevance and scores") as warned:
            call(labels, LABELS, groups=QUERIES)
        assert len(warned) == 1


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        (LABELS, MARGINS),
        (LABELS / 2, LABELS),  # averaged grades, and a model with few distinct predictions
        (CHANCES, -LABELS),
        (CHANCES, RNG.permutation(60)),
        ([0.5, 1.5, 0, 2], [0, 1, 0, 2]),
    ],
)
def test_plausible_labels_and_scores_do_not_warn(labels, scores):
    assert np.isfinite(skrank.metric("ndcg")(labels, scores))


def test_labels_and_ids_that_look_swapped_warn():
    data = make_ranking(n_queries=40, random_state=0)
    for rows in (slice(None), np.random.default_rng(0).permutation(len(data.qid))):
        with pytest.warns(UserWarning, match="relevance has 40 .* groups 5"):
            skrank.with_groups(data.qid[rows], data.relevance[rows])


@pytest.mark.parametrize(
    ("relevance", "qid"),
    [
        (np.arange(200) % 7, np.repeat(np.arange(5), 40)),
        (np.random.default_rng(0).integers(0, 500, 300), np.repeat([1, 2, 3], 100)),  # clicks
        (np.linspace(0, 1, 90), np.repeat([0, 1, 2], 30)),  # measured relevance
        (np.sort(np.arange(200) % 5)[::-1], np.arange(200) % 4),  # rows in the order of relevance
        (np.arange(12), np.zeros(12, int)),
    ],
)
def test_labels_and_ids_that_are_not_swapped(relevance, qid):
    assert len(skrank.with_groups(relevance, qid)) == len(qid)
