"""Regressions: faults that tests with random arguments have found."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import skrank
from skrank import active, extending, plotting, stats, trec
from tests.helpers import odd

MASKED = np.ma.array([[1.0, 2.0], [2.0, 1.0]], mask=[[0, 0], [0, 1]])
MOMENTS = active.label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])


class Unranked(BaseEstimator):
    """A model whose predictions are not scores."""

    def predict(self, X):
        return 0.0


REFUSED = {
    "two billion campaigns": (
        lambda: active.simulate([0.0, 1.0], [0.5, 0.5], [1], n_campaigns=2**31 - 1),
        "n_campaigns=2147483647 is beyond 10000000: give fewer",
    ),
    "a number as frequencies": (
        lambda: active.ActiveEvaluator(
            [1], metric="dcg", groups=[1], grades=[0, 1], design=active.Design(frequencies=2)
        ),
        "frequencies=2 must map each query to a number",
    ),
    "no budget": (
        lambda: active.simulate([1], [1.0], []),
        r"budgets=\[\] must be positive numbers, at least one",
    ),
    "no values": (lambda: active.simulate([np.nan], [1.0], [1]), "values are NaN for all queries"),
    "nothing to split": (
        lambda: skrank.query_train_test_split([[0]] * 2, None, groups=[1, 2]), "array 1 is None"
    ),
    "no scores of a model": (
        lambda: skrank.scorer("ap")(Unranked(), [[1], [2]], [1, 0], groups=[1, 1]),
        "predict of Unranked returns float, not an array",
    ),
    "products of pairs beyond floats": (
        lambda: extending.PairWorth(np.ones(2), [0, 1e300], [0, 1e300], np.multiply),
        "PairWorth.upper times PairWorth.lower holds an infinite entry",
    ),
    "masked p-values": (lambda: stats.holm(MASKED), "row 1 of p_values is masked"),
    "masked scores": (lambda: stats.paired_t(MASKED), "row 1 of scores is masked"),
    "masked costs": (
        lambda: active.sampling_distribution(MOMENTS, costs=np.ma.array([1, 2], mask=[0, 1])),
        "row 1 of costs is masked",
    ),
    "no metrics": (
        lambda: skrank.evaluate([1, 0], [2, 1], groups=[1, 1], metrics=None), "metrics=None must be"
    ),
    "no file": (lambda: skrank.reduce_judgments(None, 50), "of type NoneType cannot be read"),
    "no runs": (lambda: trec.evaluate({"q": {"d": 1}}, 3, "ap"), "runs=3 must be"),
    "no report": (lambda: trec.trec_eval_lines([]), "report is of type list: pass what trec.eval"),
    "no moments": (lambda: active.sampling_distribution([1]), "pass what label_moments returns"),
    "no study": (lambda: plotting.InformativenessDisplay(3), "mean has 0 rows"),
    "no table": (lambda: plotting.TauMatrixDisplay([1, 2]), "means has 0 rows"),
    "no rows of queries": (
        lambda: [*skrank.QueryKFold(2).split(np.zeros((0, 1)), [], [])],
        "groups is empty: there is no query to split",
    ),
    "labels too high for romip": (
        lambda: skrank.metric("pfound")([2**31, 0], [2, 1]), "above 1: choose a scale"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_errors_name_the_argument(call, message):
    """skrank raises the errors, not NumPy; masks are not ignored."""
    with pytest.raises((ValueError, TypeError), match=message) as error:
        call()
    assert odd.is_ours(error.value)


def test_costs_below_the_smallest_normal_float():
    """error / cost overflows; its square root does not."""
    q = active.sampling_distribution(MOMENTS, costs=[5e-324, 1])
    assert q[0] > 0.5
    assert q.sum() == pytest.approx(1)


def test_an_evaluator_with_equal_draws_has_no_passive_cost():
    labels = np.full(12, np.nan)
    labels[1] = 2
    evaluator = active.ActiveEvaluator(
        [-2, -3, -2, 2, -2, 3, -3, 0, 2, 1, 0, 2], metric="dcg@2", grades=[0, 1, 2],
        groups=np.repeat(range(4), 3), random_state=2,
        design=active.Design(
            labels=labels, frequencies={0: 2, 1: 1, 2: 2, 3: 1}, mixing=0.0895, n_label_draws=4
        ),
    )  # fmt: skip
    for request in evaluator.ask(2):
        evaluator.tell(request, np.ones(len(request.rows)))
    assert evaluator.estimate(0.4).passive_cost is None


def test_a_pool_in_which_no_query_is_expected_to_count():
    evaluator = active.ActiveEvaluator([3, 2, 1], metric="bpref", groups=list("aab"), grades=[0])
    while (request := evaluator.next_query()) is not None:
        evaluator.tell(request, np.zeros(len(request.rows)))
    assert np.isnan(evaluator.estimate().value)


def test_power_where_the_series_of_scipy_underflows():
    assert stats.queries_needed(0.36, 0.01, alpha=0.5, power=0.5) == 2


def test_a_seed_of_more_than_64_bits():
    scores, groups = [2, 1], ["a", "a"]
    moments = active.label_moments("dcg", scores, groups, grades=[0, 1], random_state=10**400)
    assert np.isfinite(moments.first).all()


def test_parameters_of_numpy_types():
    assert skrank.metric("ap", rel=np.float32(0.5)).rel == 0.5
    assert skrank.metric("gap", empty=np.int8(1)).empty == 1
