"""Regressions: faults that tests with random arguments have found."""

import warnings

import ir_measures
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import skrank
import skrank.lightgbm as lightgbm_adapter
import skrank.xgboost as xgboost_adapter
from skrank import (
    active,
    datasets,
    extending,
    plotting,
    stats,
    trec,
)
from tests.helpers import odd


def test_with_groups_of_empty_arrays():
    assert len(skrank.with_groups([], [])) == 0


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_whole_numbers_that_no_float_holds(value):
    for name in ("f1(beta=1)", "ap(rel=1)", "rbp(p=0.5)", "ndcg(gain=[0,1])"):
        metric, _, parameter = name.partition("(")
        parameter = parameter.partition("=")[0]
        with pytest.raises((ValueError, OverflowError), match=f"{parameter}=|int too large"):
            skrank.metric(metric, **{parameter: [0, value] if parameter == "gain" else value})


@pytest.mark.parametrize("value", [pd.NA, np.array(["skip", "skip"]), ["skip"], 1j, b"skip"])
def test_values_that_are_no_choice(value):
    with pytest.raises((ValueError, TypeError), match=r"is not a choice|ambiguous"):
        skrank.metric("gap", empty=value)
    assert skrank.metric("gap", empty=np.int8(1)).empty == 1


def test_single_precision_parameters():
    assert skrank.metric("ap", rel=np.float32(0.5)).rel == 0.5


MASKED = np.ma.array([[1.0, 2.0], [2.0, 1.0]], mask=[[0, 0], [0, 1]])
MOMENTS = active.label_moments("dcg", [3, 2, 1], ["a", "a", "b"], grades=[0, 1, 2])
CAMPAIGN = {"metric": "dcg", "groups": ["a", "a", "b"], "grades": [0, 1, 2]}
RUN = {"1": {"a": 2.0, "b": 1.0}}


def told(label):
    """Give all documents of the first query of a campaign this label."""
    evaluator = active.ActiveEvaluator([3, 2, 1], **CAMPAIGN)
    request = evaluator.next_query()
    return evaluator.tell(request, label * len(request.rows))


REFUSED = {
    "two billion campaigns": (
        lambda: active.simulate([0.0, 1.0], [0.5, 0.5], [1], n_campaigns=2**31 - 1),
        "n_campaigns=2147483647 is beyond 10000000: give fewer",
    ),
    "a word as shuffle": (lambda: skrank.QueryKFold(shuffle="no"), "shuffle='no' must be True or"),
    "a dict of values": (
        lambda: stats.bounded_interval({0: 1.0, 1: 0.5}),
        "values must be numbers|values is",
    ),
    "one bound": (lambda: stats.bounded_interval([0.5, 1], bounds=1.0), "bounds=1.0 must be"),
    "a number as frequencies": (
        lambda: active.ActiveEvaluator([3, 2, 1], frequencies=2.0, **CAMPAIGN),
        "frequencies=2.0 must map each query to a number",
    ),
    "a word as a frequency": (
        lambda: active.ActiveEvaluator([3, 2, 1], frequencies={"a": "x", "b": 1}, **CAMPAIGN),
        "frequencies of query 'a' is x: it must be at least 0",
    ),
    "no pair": (
        lambda: active.ActiveComparator(
            {"x": [3, 2, 1], "y": [1, 2, 3]}, center=0.0, **CAMPAIGN
        ).estimate(between=False),
        "between=False must be two different names",
    ),
    "no budget": (
        lambda: active.simulate([0.0, 1.0], [0.5, 0.5], []),
        r"budgets=\[\] must be positive numbers, at least one",
    ),
    "products of pairs beyond floats": (
        lambda: extending.PairWorth(np.ones(2), [0, 1e300], [0, 1e300], np.multiply),
        "PairWorth.upper times PairWorth.lower holds an infinite entry",
    ),
    "masked p-values": (lambda: stats.holm(MASKED), "row 1 of p_values is masked"),
    "nothing to split": (
        lambda: skrank.query_train_test_split([[0]] * 4, None, groups=[1, 2, 3, 4]),
        "array 1 is None",
    ),
    "a flag as the number of rounds": (
        lambda: lightgbm_adapter.cv({}, None, True, objective="gap"), "num_boost_round=True must be"
    ),
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
    "no seed": (
        lambda: active.label_moments("dcg", [2, 1], ["a", "a"], grades=[0, 1], random_state="x"),
        "random_state='x' is not a seed",
    ),
    "no study": (lambda: plotting.InformativenessDisplay(3), "study is of type int"),
    "no table": (lambda: plotting.TauMatrixDisplay([1, 2]), "means has 0 rows"),
    "no estimator": (
        lambda: skrank.GroupedRanker({}).fit([[1], [2]], [1, 0], groups=[1, 1]), "has no fit"
    ),
    "no seed of folds": (
        lambda: [*skrank.QueryKFold(2, shuffle=True, random_state=2**32).split(
            [[0]] * 2, [0, 1], [1, 2]
        )],
        "random_state=4294967296 is not a seed: pass an integer between 0",
    ),
    "no number of queries": (lambda: datasets.make_ranking(True), "n_queries=True must be"),
    "no values of a pool": (
        lambda: active.simulate([np.nan] * 2, [0.5, 0.5], [1], n_campaigns=2), "values are NaN for"
    ),
    "no scores of a model": (
        lambda: skrank.scorer("ap")(Unranked(), [[1], [2]], [1, 0], groups=[1, 1]),
        "predict of Unranked returns set, not an array",
    ),
    "no seed of folds of boosters": (
        lambda: lightgbm_adapter.cv(
            {}, lightgbm.Dataset(np.zeros((4, 1)), [0, 1] * 2, group=[2, 2]), 1, folds=2,
            objective="gap", metrics="gap", seed=-1,
        ),
        "seed=-1 is not a seed",
    ),
    "a word as save_best": (
        lambda: xgboost_adapter.early_stopping("gap", 5, save_best="no"),
        "save_best='no' must be True or False",
    ),
    "a word as an interval of lines": (
        lambda: xgboost_adapter.cv(
            {}, xgboost.DMatrix(np.zeros((4, 1)), [0, 1] * 2, qid=[0, 0, 1, 1]), 1,
            objective="gap", folds=2, verbose_eval="no",
        ),
        "verbose_eval='no'",
    ),
    "no rows of queries": (
        lambda: [*skrank.QueryKFold(2).split(np.zeros((0, 1)), [], [])],
        "groups is empty: there is no query to split",
    ),
    "labels too high for romip": (
        lambda: skrank.metric("pfound")([2**31, 0], [2, 1]), "above 1: choose a scale"
    ),
}  # fmt: skip


class Unranked:
    """A model whose predictions are not scores."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return set()


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_errors_name_the_argument(call, message):
    """skrank raises the errors, not NumPy; masks are not ignored."""
    with pytest.raises((ValueError, TypeError), match=message) as error:
        call()
    assert odd.is_ours(error.value)


def test_differences_far_beyond_their_error():
    """The ratio is infinite, without a warning."""
    scores = np.array([[1.0, 0.0], [1.0, 1e-300], [1.0, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stats.equivalence_test(scores, 1e300).p_value == 0
        assert stats.bayesian_comparison(scores, 1e300).equivalent == 1


def test_dask_collections_must_not_be_none():
    dask_array = pytest.importorskip("dask.array")
    adapter = pytest.importorskip("skrank.dask")
    labels = dask_array.from_array([1, 0])
    for given, name in (((None, labels), "relevance"), ((labels, None), "scores")):
        with pytest.raises(ValueError, match=f"{name} is None: it must be a Dask collection"):
            adapter.evaluate(*given, labels)


def test_a_run_with_a_query_that_nobody_judged():
    """Regression: it raised an error. ir_measures skips such queries."""
    measures = [trec.ir_measure("rr"), ir_measures.RR]
    run = {"q": {"a": 2.0, "b": 1.0}, "other": {"a": 1.0}}
    found = ir_measures.calc_aggregate(measures, {"q": {"b": 1}}, run)
    assert [found[one] for one in measures] == [0.5, 0.5]


@pytest.mark.parametrize("fold", [np.array([1, 2]), [1], "1", 9])
def test_folds_that_do_not_exist(fold, tmp_path):
    for n in range(1, 6):
        (tmp_path / f"S{n}.txt").write_text(f"1 qid:{n} 1:0.5\n0 qid:{n} 1:0.1\n")
    with pytest.raises(ValueError, match="the folds are 1, 2, 3, 4, 5"):
        datasets.load_letor(tmp_path, fold=fold)
    with pytest.raises(ValueError, match="the folds are 1, 2, 3, 4, 5"):
        datasets.load_letor(tmp_path).fold(fold)
    with pytest.raises(ValueError, match="dtype='a': give a type of numbers"):
        datasets.load_letor(tmp_path, dtype="a")


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
        groups=np.repeat(range(4), 3), labels=labels, frequencies={0: 2, 1: 1, 2: 2, 3: 1},
        mixing=0.0895, n_label_draws=4, cost_aware=False, random_state=2,
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
    assert stats.paired_t_power(0.36, 0.01, [2, 3], alpha=0.5).tolist() == [1, 1]
    assert stats.queries_needed(0.36, 0.01, alpha=0.5, power=0.5) == 2
    close, beyond = (stats.paired_t_power(x, 1.0, 3, alpha=1e-10) for x in (57_500, 59_000))
    assert 0.55 < close < beyond < 0.7


def test_a_seed_of_more_than_64_bits():
    scores, groups = [2, 1], ["a", "a"]
    moments = active.label_moments("dcg", scores, groups, grades=[0, 1], random_state=10**400)
    assert np.isfinite(moments.first).all()


@pytest.mark.parametrize("pair", [False, 0.0])
def test_the_number_of_a_pair_is_an_integer(pair):
    scores = np.random.default_rng(0).random((5, 2))
    display = plotting.PosteriorDisplay(stats.bayesian_comparison(scores, 0.1))
    with pytest.raises(ValueError, match=f"pair={pair} must be an integer: the number of a pair"):
        display.plot(pair=pair)
