"""Every warning names the line that calls skrank."""

from pathlib import Path

import dask.array as da
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.linear_model import Ridge

import skrank
import skrank.dask
import skrank.lightgbm
import skrank.xgboost
from skrank import active, stats, trec
from skrank.datasets import make_ranking

DATA = make_ranking(30, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
CUT = Y.iloc[1:]
ZEROS, IDS = np.zeros(len(Y)), np.arange(len(Y))
SCORES = X[:, 0]
CHANCES = np.random.default_rng(0).uniform(size=len(Y))  # like scores, in place of labels
DATASET = lightgbm.Dataset(X, ZEROS, group=[len(X)]).construct()
MATRIX = xgboost.DMatrix(X, ZEROS, qid=QID)
RIDGE, GAP = Ridge().fit(X, LABELS), skrank.scorer("gap")
TWO_QUERIES = np.random.default_rng(0).random((2, 50))
SMALL = {"metric": "dcg", "design": active.Design(grades=range(5)), "budget": 40}
FRAME = pd.DataFrame(X).add_prefix("f").assign(qid=QID)
ONES = np.ones(3000)
TREES = lightgbm.LGBMRanker(n_estimators=2, verbosity=-1)
SLOW = skrank.LinearRanker(options={"max_iter": 2, "smoothing": 1})
QRELS = {"1": {"a": 1}, "2": {"b": 1}}
SWAPPED = {"1": {f"d{i}": i % 3 for i in range(40)}}
LIKE_SCORES = {"1": {f"d{i}": 0.5 + i / 7 for i in range(40)}}

CALLS = {
    "with_groups": lambda: skrank.with_groups(QID, LABELS),
    "metric, no relevant document": lambda: skrank.metric("gap")(ZEROS, SCORES, groups=QID),
    "metric, swapped": lambda: skrank.metric("ndcg")(CHANCES, LABELS, groups=QID),
    "metric, one list": lambda: skrank.metric("gap")(ONES, ONES),
    "per_query": lambda: skrank.metric("ndcg").per_query(CHANCES, LABELS, groups=QID),
    "rank": lambda: skrank.rank(ONES),
    "evaluate, single rows": lambda: skrank.evaluate(LABELS, SCORES, groups=IDS),
    "evaluate, no relevant document": lambda: skrank.evaluate(ZEROS, SCORES, groups=QID),
    "evaluate, swapped": lambda: skrank.evaluate(CHANCES, LABELS, groups=QID, metrics="ndcg"),
    "evaluate, cut": lambda: skrank.evaluate(CUT, SCORES[1:]),
    "compare": lambda: skrank.compare(LABELS, {"a": SCORES, "b": -SCORES}, groups=IDS),
    "compare, seeds": lambda: skrank.compare(LABELS, {"a": X[:, :2], "b": X[:, 2:4]}, groups=IDS),
    "dask.evaluate": lambda: skrank.dask.evaluate(*map(da.from_array, (LABELS, SCORES, IDS))),
    "scorer, single rows": lambda: GAP(RIDGE, X, LABELS, groups=IDS),
    "scorer, no relevant document": lambda: GAP(RIDGE, X, 0 * Y),
    "scorer, cut": lambda: GAP(RIDGE, X[1:], CUT),
    "scorer, feature": lambda: GAP(Ridge().fit(FRAME, Y), FRAME, Y),
    "split": lambda: list(skrank.QueryKFold(3).split(X[1:], CUT)),
    "query_train_test_split": lambda: skrank.query_train_test_split(X[1:], CUT),
    "fit, stopping": lambda: skrank.GroupedRanker(TREES, eval_metric="gap").fit(X, Y),
    "fit, cut": lambda: skrank.GroupedRanker(TREES).fit(X[1:], CUT),
    "fit, linear": lambda: SLOW.fit(X, Y),
    "fit, mean": lambda: skrank.RankerMean([("a", SLOW), ("b", SLOW)]).fit(X, Y),
    "fit, init": lambda: skrank.GroupedRanker(TREES, init=SLOW).fit(X, Y),
    "lightgbm": lambda: skrank.lightgbm.eval_metric("gap")(SCORES, DATASET),
    "xgboost": lambda: skrank.xgboost.eval_metric("gap")(SCORES, MATRIX),
    "stats, transposed": lambda: stats.paired_t(TWO_QUERIES),
    "stats, resamples": lambda: stats.bootstrap_interval(SCORES, n_resamples=30),
    "active, grades": lambda: active.ActiveEvaluator(SCORES, QID, metric="dcg"),
    "active, budget": lambda: active.ActiveEvaluator(SCORES, QID, **SMALL),
    "trec, missing": lambda: trec.evaluate(QRELS, {"1": {"a": 1.0}}, ["ap"]),
    "trec, unjudged": lambda: trec.evaluate({"1": {"a": 1}}, {"1": {"z": 1.0}}, ["ap"]),
    "trec, no relevant document": lambda: trec.evaluate({"1": {"a": 0}}, {"1": {"a": 1.0}}, ["ap"]),
    "trec, no judgment": lambda: trec.evaluate({"1": {"a": -1}}, {"1": {"a": 1.0}}, ["ap"]),
    "trec, swapped": lambda: trec.evaluate(LIKE_SCORES, SWAPPED, ["ap"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_of_the_call(name):
    with pytest.warns((UserWarning, RuntimeWarning)) as caught:
        CALLS[name]()
    lines = {(warning.filename, warning.lineno) for warning in caught}
    assert lines == {(__file__, CALLS[name].__code__.co_firstlineno)}


def test_all_warnings_name_that_line():
    """Other files warn by `skrank._warnings.warn` alone."""
    files = Path(skrank.__file__).parent.rglob("*.py")
    warning = {path.name for path in files if "warnings.warn(" in path.read_text("utf-8")}
    assert warning == {"_warnings.py"}
