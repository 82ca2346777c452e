"""Tables of the families of metrics, used directly, as by authors of metrics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from tests.helpers.engine import Ranking, judge

LABELS = np.array([2.0, 0, 1, 0, 3, 0, 0, 1])
SCORES = np.array([1.0, 4, 2, 2, 3, 1, 0, 5])
QUERIES = [0, 0, 0, 0, 1, 1, 1, 1]


def bound(name):
    return skrank.metric(name).bind(judge(LABELS, QUERIES), max_grade=3)


def test_a_mixture_is_the_sum_of_its_parts():
    """The normalisers have a row per part."""
    mixture, parts = bound("0.75*gap+0.25*ndcg"), [bound("gap"), bound("ndcg")]
    ranking = Ranking(mixture.judgments, SCORES)
    inverse = np.stack([parts[0].inverse, parts[1].inverse])
    values = mixture.tables.values(parts[0].ranked(ranking), inverse)
    assert_allclose(values, 0.75 * parts[0].values(ranking) + 0.25 * parts[1].values(ranking))
    assert_allclose(values, mixture.values(ranking))
    ideals = mixture.tables.ideals(mixture.judgments)
    assert_allclose(ideals, [one.tables.ideals(one.judgments) for one in parts])


def test_sets_do_not_change_when_their_documents_swap():
    plan = bound("set_ap")
    assert_array_equal(plan.tables.deltas(plan.judgments.codes[:4]), np.zeros((4, 4)))


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rbp(rel=1,gain=exp2)", "leave out rel, or gain and max_grade"),
        ("rbp(rel=1,max_grade=3)", "leave out rel, or gain and max_grade"),
        ("utility(weights=[1,-1])", "has 2 numbers instead of four"),
    ],
)
def test_parameters_that_do_not_fit_together(name, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric(name)


def test_labels_of_many_values_have_no_table_of_pairs():
    labels = np.arange(1200.0) / 7
    with pytest.raises(ValueError, match=r"1200 distinct labels are too many for bpref \(at most"):
        skrank.metric("bpref")(labels, labels)


def test_a_tiny_best_value_is_refused():
    tiny = skrank.metric("ndcg", gain={0: 0, 1: 1e-320})
    with pytest.raises(ValueError, match="too near to 0 to divide by: scale the labels or their"):
        skrank.LambdaRank(tiny)([1, 0], [0.5, 0.7])
