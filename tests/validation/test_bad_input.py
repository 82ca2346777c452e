"""Bad input: every message names the row, query or parameter, and the remedy."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank import active, stats, trec
from skrank.testing import check_metric, check_objective

Y, SCORES, GROUPS = [1, 0, 2, 0], [4.0, 3, 2, 1], ["a", "a", "b", "b"]


# functions that take labels, scores and query ids
CALLS = {
    "metric": skrank.metric("ndcg"),
    "evaluate": partial(skrank.evaluate, metrics="ndcg"),
    "objective": skrank.LambdaRank("ndcg"),
    "per_query": skrank.metric("ndcg@2").per_query,
}
with_weights = pytest.mark.parametrize("call", list(CALLS)[:-1], indirect=True)


@pytest.fixture(params=CALLS)
def call(request):
    """A function, with usual arguments in place of those that are not given."""

    def call(y=Y, scores=SCORES, groups=GROUPS, **more):
        return CALLS[request.param](y, scores, groups=groups, **more)

    return call


def test_good_input_is_taken(call):
    assert call() is not None


# groups, scores and labels

ROWS_OF_THE_CALLER = {"groups": ["b", "a", "b", "a"]}  # skrank sorts rows by query
BELOW_0 = "labels must be at least 0.*NaN .*not judged"
EMPTY = "relevance is empty: there is no document to rank"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"groups": ["a"]}, "groups has 1 entries for 4 rows: pass one query id per row"),
        ({"groups": ["a"] * 5}, "groups has 5 entries for 4 rows"),
        ({"groups": [2, 2]}, "look like group sizes: use numpy.repeat"),
        ({"groups": ["a", "a", None, "b"]}, "groups has no query id in row 2"),
        ({"groups": np.ones((4, 4))}, r"groups has shape \(4, 4\): pass one query id per row"),
        ({"y": skrank.with_groups(Y, ["a", "a", "a", "b"])},
         r"groups and .*of y disagree: row 2 has query 'b'.*Pass only one"),
        ({"scores": [4, 3, np.nan, 1]},
         "score of row 2 is nan: .*finite (number, or -inf|scores).*Repair the model or drop"),
        ({"scores": [4, 3, np.inf, 1]},
         "score of row 2 is inf: .*finite (number, or -inf|scores).*Repair the model or drop"),
        (ROWS_OF_THE_CALLER | {"scores": [4, np.nan, 2, 1]}, "score of row 1 is nan"),
        (ROWS_OF_THE_CALLER | {"y": [1, 0, -1, 0]}, "label of row 2 is -1"),
        ({"scores": ["x", "y", "z", "w"]}, "scores must be numbers, one per row"),
        ({"scores": [None, {}, 1, 2]}, "scores must be numbers, one per row"),
        ({"scores": "abcd"}, "scores must be numbers, one per row"),
        ({"scores": [1.0] * 2}, "scores has 2 rows and relevance has 4: lengths must be equal"),
        ({"scores": [1.0] * 5}, "scores has 5 rows and relevance has 4: lengths must be equal"),
        ({"scores": np.ones((2, 2))}, r"scores has shape \(2, .*one value per row"),
        ({"scores": np.ones((1, 4))}, r"scores has shape \(1, .*one value per row"),
        ({"scores": np.ones((4, 2))}, r"scores has shape \(4, .*one value per row"),
        ({"scores": np.ones((4, 1, 1))}, r"scores has shape \(4, .*one value per row"),
        ({"y": [1, 0, 2, -1]}, f"label of row 3 is -1: {BELOW_0}"),
        ({"y": [1, 0, 2, -0.5]}, f"label of row 3 is -0.5: {BELOW_0}"),
        ({"y": [1, 0, 2, -np.inf]}, f"label of row 3 is -inf: {BELOW_0}"),
        ({"y": [1, 0, 2, np.inf]}, "label of row 3 is inf: labels must be finite, or NaN"),
        ({"y": ["good", "bad", "ugly", "bad"]}, "relevance must be numbers, one per row"),
        ({"y": np.ones((2, 2)), "groups": [1, 2]}, r"relevance has shape \(2, 2\).*groups="),
        ({"y": [], "scores": [], "groups": []}, EMPTY),
        ({"y": np.array([]), "scores": [], "groups": []}, EMPTY),
        ({"y": pd.Series([], dtype=float), "scores": [], "groups": []}, EMPTY),
    ],
)  # fmt: skip
def test_arrays_that_are_refused(call, changes, message):
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_evaluate_without_groups():
    message = "evaluate needs the query of each row.*with_groups.*groups"
    with pytest.raises(ValueError, match=message):
        skrank.evaluate(Y, SCORES)


# thresholds, max_grade, cut-offs


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ([0.5, -0.5, 1], r"thresholds\[1\]=-0.5 is negative: .*grade 2 and better"),
        ([0.5, 0.6], r"thresholds sum to 1.1, not to 1: divide them by their sum .*grade 1..2"),
        ([0.2, 0.2], r"thresholds sum to 0.4, not to 1"),
        ([0, 0], "thresholds sum to 0, not to 1"),
        ([], "thresholds=.* at least one number"),
        ([np.nan, 1], "thresholds=.* all finite"),
        (["a"], "thresholds=.* sequence of numbers"),
        (1.0, "thresholds=1.0 must be a sequence of numbers"),
    ],
)
def test_thresholds(thresholds, message):
    with pytest.raises(ValueError, match=message):
        skrank.metric("gap", thresholds=thresholds)
    with pytest.raises(ValueError, match=message):
        skrank.metrics.GAP(thresholds=thresholds)(Y, SCORES, groups=GROUPS)


def test_thresholds_that_do_not_cover_the_grades():
    message = "2 thresholds do not cover the grades 1..3: give one per"
    with pytest.raises(ValueError, match=message):
        skrank.metric("gap", thresholds=[0.5, 0.5], max_grade=3)
    message = (
        r"label 2 \(row 2\) is above max_grade=1 of gap\(thresholds=\[1.0\]\): .*one threshold per"
    )
    with pytest.raises(ValueError, match=message):
        skrank.metrics.GAP(thresholds=[1])(Y, SCORES, groups=GROUPS)


@pytest.mark.parametrize("name", ["gap", "err"])
def test_labels_above_the_scale(name):
    message = r"label 2 \(row 2\) is above max_grade=1 of .*highest grade"
    with pytest.raises(ValueError, match=message):
        skrank.metric(name, max_grade=1)(Y, SCORES, groups=GROUPS)
    with pytest.raises(ValueError, match=message):
        skrank.evaluate(Y, SCORES, groups=GROUPS, metrics=[name], max_grade=1)
    with pytest.raises(ValueError, match=message):
        skrank.LambdaRank(skrank.metric(name, max_grade=1))(Y, SCORES, groups=GROUPS)


# weights


@with_weights
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 3, 3], r"sample_weight varies inside query 'a': give all rows .* same weight"),
        ([1, 1, 3, 4], r"sample_weight varies inside query 'b'"),
        ([1, 1, -1, -1], "weight of query 'b' is -1.0: it must be finite and not negative"),
        ([1, 1, np.inf, np.inf], "weight of query 'b' is inf"),
        ([1, 1, np.nan, np.nan], "weight of query 'b' is nan"),
        ([1, np.nan, 1, 1], "query 'a'"),
        ([0, 0, 0, 0], "all weights are 0: at least one query must count"),
        ([1, 1], "sample_weight has 2 rows and relevance has 4"),
        (["x"] * 4, "sample_weight must be numbers"),
        (np.ones((4, 2)), r"sample_weight has shape \(4, 2\)"),
    ],
)
def test_weights(call, weights, message):
    with pytest.raises(ValueError, match=message):
        call(sample_weight=weights)


@with_weights
def test_weights_of_scattered_rows(call):
    groups = ["a", "b", "a", "b"]
    call(groups=groups, sample_weight=[1, 2, 1, 2])
    with pytest.raises(ValueError, match="sample_weight varies inside query 'b'"):
        call(groups=groups, sample_weight=[1, 1, 1, 2])


def test_group_sizes():
    lightgbm_adapter = pytest.importorskip("skrank.lightgbm")
    labels, scores = np.array([1.0, 0, 2, 0]), np.zeros(4)
    with pytest.raises(ValueError, match="add up to 5, not to 4 rows"):
        lightgbm_adapter.objective("gap")(labels, scores, None, np.array([2, 3]))
    assert lightgbm_adapter.eval_metric("gap")(labels, scores, None, np.array([2, 0, 2]))[1] == 0.75


# labels and scores that look swapped

SWAPPED = "relevance and scores look as if they were swapped"
RNG = np.random.default_rng(0)
QUERIES = np.repeat(np.arange(10), 6)
LABELS = RNG.integers(0, 3, 60)
MARGINS = RNG.normal(size=60)  # some below 0
CHANCES = RNG.uniform(size=60)
SHUFFLED = RNG.permutation(60)


def test_errors_say_that_labels_and_scores_look_swapped(call):
    with pytest.raises(ValueError, match=f"labels must be at least 0.*R{SWAPPED[1:]}"):
        call(MARGINS, LABELS, QUERIES)
    unjudged = np.where(LABELS == 2, np.nan, LABELS)
    with pytest.raises(ValueError, match=f"score of row .* is nan.*{SWAPPED[1:]}"):
        skrank.evaluate(CHANCES, unjudged, groups=QUERIES)
    with pytest.raises(ValueError, match=f"stands between two grades.*{SWAPPED[1:]}"):
        skrank.evaluate(CHANCES, LABELS, groups=QUERIES, metrics="gap")


@pytest.mark.parametrize("labels", [CHANCES, skrank.with_groups(CHANCES, QUERIES)])
@pytest.mark.parametrize("name", ["metric", "evaluate", "per_query"])
def test_swapped_labels_and_scores_without_an_error_warn(name, labels):
    with pytest.warns(UserWarning, match=SWAPPED) as found:
        CALLS[name](labels, LABELS, groups=QUERIES)
    assert len(found) == 1
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        (LABELS, MARGINS),
        (LABELS, CHANCES),
        (LABELS / 2, LABELS),  # averaged grades, and a model with few distinct predictions
        (CHANCES, CHANCES),
        (CHANCES, MARGINS),
        (CHANCES, np.zeros(60)),
        (CHANCES, -LABELS),
        (CHANCES, 100.0 * LABELS),
        (CHANCES, SHUFFLED),
        ([0.5, 1.5, 0, 2], [0, 1, 0, 2]),
    ],
    ids=map(str, range(10)),
)
def test_plausible_labels_and_scores_do_not_warn(labels, scores):
    skrank.metric("ndcg")(labels, scores)


def test_other_errors_do_not_mention_swapped_arrays():
    with pytest.raises(ValueError, match="label of row 0 is -1") as found:
        skrank.metric("ndcg")([-1, 0, 2], [0.3, 0.2, 0.1])
    assert "swapped" not in str(found.value)
    with pytest.raises(ValueError, match="lengths must be equal"):
        skrank.metric("ndcg")(MARGINS[:3] ** 2, LABELS[:4])


# flags, and scorers

TABLE = np.random.default_rng(0).random((8, 3))
QRELS = trec.Qrels.from_arrays(["1", "1"], ["a", "b"], [1, 0])
RUN = trec.Run.from_arrays(["1", "1"], ["a", "b"], [1, 0])
FLAGS = {
    "shuffle": lambda given: skrank.QueryKFold(shuffle=given),
    "save_best": lambda given: pytest.importorskip("skrank.xgboost").early_stopping(
        "gap", 5, save_best=given
    ),
    "drop": lambda given: skrank.metrics.aggregate_judgments([[1, 0]], drop=given),
    "adjust": lambda given: stats.max_t(TABLE, adjust=given),
    "symmetric": lambda given: stats.tau_ap([1, 2, 3], [3, 2, 1], symmetric=given),
    "progress": lambda given: active.simulate([0.0, 1], [1, 1], 2, progress=given),
    "pool_judged": lambda given: trec.evaluate(QRELS, RUN, "ap", pool_judged=given),
    "judged_only": lambda given: trec.evaluate(QRELS, RUN, "ap", judged_only=given),
    "per_query": lambda given: trec.trec_eval_lines(
        trec.evaluate(QRELS, RUN, "trec_eval:map"), per_query=given
    ),
    "monotone": lambda given: check_metric("ap", monotone=given),
    "shift_invariant": lambda given: check_objective("gap", shift_invariant=given),
    "positive": lambda given: skrank.LinearRanker(positive=given).fit(TABLE, [1, 0] * 4, [1] * 8),
    "random": lambda given: check_objective("gap", random=given),
    "refit": lambda given: skrank.GroupedRanker(Ridge(), refit=given).fit(TABLE, [1, 0] * 4),
}


@pytest.mark.parametrize("given", ["no", pd.NA, 2])
@pytest.mark.parametrize("name", FLAGS)
def test_flags_are_true_or_false(name, given):
    with pytest.raises(ValueError, match=f"{name}={given!r} must be True or False"):
        FLAGS[name](given)


@pytest.mark.parametrize("y", [[], 1.0])
def test_a_scorer_needs_rows(y):
    ranker = skrank.LinearRanker().fit(TABLE, [1, 0] * 4, [1] * 8)
    with pytest.raises(ValueError, match="y is empty: there is no document to rank"):
        skrank.scorer("ap")(ranker, TABLE[:0], y, groups=[])
