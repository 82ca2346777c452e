"""Rows of pandas objects whose indexes hold the same labels in another order are refused."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker, metrics, stats, trec
from skrank.datasets import make_ranking

LABELS = pd.Series([2.0, 0.0, 1.0, 0.0, 1.0, 0.0], index=list("abcdef"))
SCORES = pd.Series([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], index=list("abcdef"))
GROUPS = [1, 1, 1, 2, 2, 2]
QID = pd.Series(GROUPS, index=list("abcdef"))
OTHER_ORDER = SCORES.iloc[::-1]

CALLS = {
    "metric": partial(skrank.metric("gap"), groups=GROUPS),
    "graded_curve": metrics.graded_precision_recall_curve,
    "objective": partial(skrank.LambdaRank("gap"), groups=GROUPS),
    "Run": lambda y, s: trec.Run.from_arrays(GROUPS, y + np.arange(0, 60, 10), s),
    "evaluate": partial(skrank.evaluate, groups=GROUPS, metrics="gap"),
    "tau_b": stats.tau_b,
    "bootstrap_interval": lambda x, w: stats.bootstrap_interval(x, weights=w),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@each_call
def test_same_labels_in_another_order_are_refused(call):
    """Equal and unrelated indexes go by position."""
    with pytest.raises(ValueError, match="row 0: 'a' and 'f'"):
        call(LABELS, OTHER_ORDER)
    call(LABELS, SCORES)
    call(LABELS, SCORES.reset_index(drop=True))
    call(LABELS, pd.Series(SCORES.to_numpy(), index=list("uvwxyz")))


def test_indexes_of_groups_weights_and_systems_are_compared():
    with pytest.raises(ValueError, match="relevance and system 'new' "):
        skrank.compare(LABELS, {"old": SCORES, "new": OTHER_ORDER}, groups=QID)
    for name in ("groups", "sample_weight"):
        with pytest.raises(ValueError, match=f"relevance and {name} "):
            skrank.evaluate(LABELS, SCORES, **({"groups": QID} | {name: QID.iloc[::-1]}))


@pytest.mark.parametrize("ranker", [GroupedRanker(Ridge()), LinearRanker("gap")], ids=repr)
def test_indexes_in_another_order_are_refused_by_fit(ranker):
    data = make_ranking(n_queries=6, random_state=0)
    X, labels = pd.DataFrame(data.X), pd.Series(data.relevance)
    given = {"X": X, "y": labels, "groups": pd.Series(data.qid)}
    ranker.fit(**given)
    for name, values in given.items():
        with pytest.raises(ValueError, match=f"indexes of .*{name}"):
            ranker.fit(**given | {name: values.iloc[::-1]})
    with pytest.raises(ValueError, match="X and sample_weight "):
        ranker.fit(**given, sample_weight=pd.Series(1.0, index=X.index[::-1]))
    with pytest.raises(ValueError, match="X_val and y_val "):
        ranker.fit(**given, X_val=X, y_val=labels.iloc[::-1], groups_val=data.qid)


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ([1, 2, 2], [2, 1, 2], True),
        ([1, 1, 2], [1, 2, 2], False),  # not the same labels: 1 and 2 differ in number
        ([1, "x", 2], ["x", 1, 2], True),
        (pd.Index([2, 0, 1], name="qid"), range(3), False),  # queries, and numbers of rows
        (
            pd.CategoricalIndex(["a", "b", "c"]),
            pd.CategoricalIndex(list("bac"), list("bcad")),
            True,
        ),
    ],
)
def test_indexes_are_compared_as_multisets(first, second, refused):
    given = pd.Series(1.0, index=first), pd.DataFrame({"z": 0.0}, index=second)
    if refused:
        with pytest.raises(ValueError, match="relevance and scores "):
            skrank.metric("gap")(*given)
    else:
        assert skrank.metric("gap")(*given) == 1.0


PARTS = {
    "take": lambda y: y.take(np.arange(len(y) - 1, 9, -1)),
    "pickle": lambda y: pickle.loads(pickle.dumps(y.iloc[5:])),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.filterwarnings("ignore::skrank.CutQueryWarning")
def test_labels_with_groups_keep_the_index(part):
    data = make_ranking(n_queries=8, random_state=0)
    index = pd.Index(np.random.default_rng(0).permutation(len(data.qid))).map("d{}".format)
    y = part(skrank.with_groups(pd.Series(data.relevance, index), pd.Series(data.qid, index)))
    X = pd.DataFrame(data.X, index).loc[y.index.get_level_values(1)]
    ranker = GroupedRanker(Ridge()).fit(X, y)
    for call in (
        lambda X: GroupedRanker(Ridge()).fit(X, y),
        lambda X: skrank.scorer("gap")(ranker, X, y),
        lambda X: skrank.evaluate(y, X[0], metrics="gap"),
        lambda X: list(skrank.QueryKFold(2).split(X, y)),
        lambda X: skrank.query_train_test_split(X, y),
        lambda X: skrank.LambdaRank("gap")(y, X[0]),
    ):
        call(X)
        with pytest.raises(ValueError, match="the indexes of"):
            call(X.iloc[::-1])
