"""Unusual arrays and parameters that are taken."""

import numpy as np
import pytest

import skrank
from skrank import active

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
