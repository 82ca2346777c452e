"""Tables of the families of metrics, used directly, as by authors of metrics."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
from tests.helpers.engine import judge

LABELS = np.array([2.0, 0, 1, 0, 3, 0, 0, 1])
SCORES = np.array([1.0, 4, 2, 2, 3, 1, 0, 5])
QUERIES = [0, 0, 0, 0, 1, 1, 1, 1]


def bound(name):
    return skrank.metric(name).bind(judge(LABELS, QUERIES), max_grade=3)


def test_the_best_value_of_strict_metrics_counts_documents():
    for name in ("iap", "iprec"):
        plan = bound(name)
        ideals = np.atleast_2d(plan.tables.ideals(plan.judgments))
        assert_array_equal(ideals, np.full_like(ideals, 2))


@pytest.mark.parametrize("name", ["bpref", "iprec", "iap"])
def test_families_without_gradients_name_the_reason(name):
    plan = bound(name)
    with pytest.raises(TypeError, match="Tables has no gradients"):
        plan.tables.lambda_kernels(plan.judgments)


def test_labels_of_many_values_have_no_table_of_pairs():
    labels = np.arange(1200.0) / 7
    with pytest.raises(ValueError, match=r"1200 distinct labels are too many for bpref \(at most"):
        skrank.metric("bpref")(labels, labels)


def test_a_tiny_best_value_is_refused():
    tiny = skrank.metric("ndcg", gain={0: 0, 1: 1e-320})
    with pytest.raises(ValueError, match="too near to 0 to divide by: scale the labels or their"):
        skrank.LambdaRank(tiny)([1, 0], [0.5, 0.7])
