"""Rows of pandas objects whose indexes hold the same labels in another order are refused."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank import GroupedRanker, LinearRanker, metrics, plotting, stats, trec
from skrank.datasets import make_ranking

LABELS = pd.Series([2.0, 0.0, 1.0, 0.0, 1.0, 0.0], index=list("abcdef"))
SCORES = pd.Series([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], index=list("abcdef"))
GROUPS = [1, 1, 1, 2, 2, 2]
QID = pd.Series(GROUPS, index=list("abcdef"))
OTHER_ORDER = SCORES.iloc[::-1]

CALLS = {
    "metric": partial(skrank.metric("gap"), groups=GROUPS),
    "per_query": partial(skrank.metric("gap").per_query, groups=GROUPS),
    "graded_curve": metrics.graded_precision_recall_curve,
    "objective": partial(skrank.LambdaRank("gap"), groups=GROUPS),
    "Run": lambda y, s: trec.Run.from_arrays(GROUPS, y + np.arange(0, 60, 10), s),
    "evaluate": partial(skrank.evaluate, groups=GROUPS, metrics="gap"),
    "compare": lambda y, s: skrank.compare(
        y, {"a": s.to_numpy(), "b": s}, groups=GROUPS, metrics="gap"
    ),
    "SoftRank.value": partial(skrank.SoftRank("gap").value, groups=GROUPS),
    "kendall_tau": stats.kendall_tau,
    "rank_biased_overlap": stats.rank_biased_overlap,
    "bootstrap_interval": lambda x, w: stats.bootstrap_interval(x, weights=w),
    "PrecisionRecallDisplay": partial(
        plotting.PrecisionRecallDisplay.from_predictions, groups=GROUPS
    ),
}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@pytest.fixture(autouse=True)
def closed_figures():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


def test_indexes_that_cannot_be_hashed_are_not_compared():
    """With labels that cannot be hashed, such as lists, rows correspond by position."""
    x = pd.Series([3.0, 1.0, 2.0], index=pd.Index([[1], [2], [3]]))
    y = pd.Series([2.0, 1.0, 3.0], index=pd.Index([[3], [2], [1]]))
    assert stats.kendall_tau(x, y) == stats.kendall_tau(x.to_numpy(), y.to_numpy())


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
        ([1, 2, 3], [1, 2, 3], False),
        ([0, 1, 2], [2, 1, 0], True),
        ([1, "x", 2], ["x", 1, 2], True),
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
    "mask": lambda y: y[np.arange(len(y)) % 3 > 0],
    "take": lambda y: y.take(np.arange(len(y) - 1, 9, -1)),
    "pickle": lambda y: pickle.loads(pickle.dumps(y.iloc[5:])),
    "sorted": lambda y: y.sort_values(kind="stable"),
    "changed": lambda y: (y > 0).astype(int),
    "concat": lambda y: pd.concat([y.iloc[20:], y.iloc[:20]]),
    "QueryKFold": lambda y: y.iloc[next(skrank.QueryKFold(2).split(y))[0]],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.filterwarnings("ignore::skrank.CutQueryWarning")
def test_labels_with_groups_keep_the_index(part):
    """All tools that get labels and another object with an index compare the indexes."""
    data = make_ranking(n_queries=8, random_state=0)
    table = (
        pd.DataFrame(data.X)
        .set_axis([f"d{row}" for row in range(len(data.qid))])
        .sample(frac=1, random_state=0)
    )
    table = table.assign(qid=data.qid, grade=data.relevance)
    y = part(skrank.with_groups(table["grade"], table["qid"]))
    X = table.drop(columns=["qid", "grade"]).loc[y.index.get_level_values(1)]
    ranker = GroupedRanker(Ridge()).fit(X, y)
    scores = pd.Series(ranker.predict(X), index=X.index)
    calls = {
        "fit": lambda X, _: GroupedRanker(Ridge()).fit(X, y),
        "score": lambda X, _: ranker.score(X, y),
        "scorer": lambda X, _: skrank.scorer("gap")(ranker, X, y),
        "metric": lambda _, s: skrank.metric("gap")(y, s),
        "per_query": lambda _, s: skrank.metric("gap").per_query(y, s),
        "evaluate": lambda _, s: skrank.evaluate(y, s, metrics="gap"),
        "compare": lambda _, s: skrank.compare(y, {"a": scores, "b": s}, metrics="gap"),
        "split": lambda X, _: list(skrank.QueryKFold(2).split(X, y)),
        "train_test": lambda X, _: skrank.query_train_test_split(X, y),
        "gradient": lambda _, s: skrank.LambdaRank("gap")(y, s),
    }
    order = np.arange(len(y))[::-1]
    for call in calls.values():
        call(X, scores)
        with pytest.raises(ValueError, match="the indexes of"):
            call(X.iloc[order], scores.iloc[order])
        call(X.iloc[order].to_numpy(), scores.iloc[order].to_numpy())


def test_levels_of_queries_are_compared_too():
    pairs = pd.MultiIndex.from_arrays([GROUPS, list("abcdef")], names=["qid", "doc"])
    scores = SCORES.set_axis(pairs)
    y = skrank.with_groups(LABELS, GROUPS)
    expected = skrank.metric("gap")(y, SCORES)
    for given in (scores, SCORES.set_axis(pd.Index(GROUPS, name="qid"))):
        assert skrank.metric("gap")(y, given) == expected
    with pytest.raises(ValueError, match=r"row 0: \(1, 'a'\)"):
        skrank.metric("gap")(y, scores.iloc[::-1])


def test_the_third_is_compared_with_both():
    gap, groups = skrank.metric("gap"), QID.reset_index(drop=True)
    gap(LABELS, np.arange(6), groups=groups, sample_weight=groups)
    weights = pd.Series(1.0, index=range(5, -1, -1))
    with pytest.raises(ValueError, match="groups and sample_weight "):
        gap(LABELS, np.arange(6), groups=groups, sample_weight=weights)
