"""Splitters keep queries whole; splits depend only on query ids, labels and seeds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import skrank
from skrank.datasets import make_ranking
from skrank.model_selection import (
    QueryKFold,
    QueryShuffleSplit,
    QueryTimeSeriesSplit,
    query_train_test_split,
)

SPLITTERS = [
    QueryKFold(4),
    QueryKFold(4, shuffle=True, random_state=0),
    QueryKFold(4, stratify="n_relevant"),
    QueryKFold(4, stratify="max_grade", shuffle=True, random_state=1),
    QueryKFold(4, stratify="size"),
    QueryKFold(4, stratify=np.median),
    QueryKFold(4, drop_unjudged_test=True),
    QueryKFold(4, n_repeats=2, stratify="max_grade", shuffle=True, random_state=0),
    QueryShuffleSplit(4, test_size=0.25, random_state=0),
    QueryShuffleSplit(4, test_size=7, train_size=20, stratify="n_relevant", random_state=0),
    QueryTimeSeriesSplit(4),
]
every_splitter = pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=62, n_docs=(2, 30), random_state=0)


def members(cv, data, rows=slice(None), groups=None):
    """Queries of the training and test part of each split; rows may be in any order."""
    qid = data.qid if groups is None else groups
    parts = cv.split(data.X[rows], data.relevance[rows], groups=qid[rows])
    return [tuple(frozenset(qid[rows][part].tolist()) for part in split) for split in parts]


@every_splitter
def test_queries_stay_whole(cv, data):
    splits = list(cv.split(data.X, data.relevance, groups=data.qid))
    assert len(splits) == cv.get_n_splits()
    for train, test in splits:
        assert np.all(np.diff(train) > 0)
        assert np.all(np.diff(test) > 0)
        assert min(len(train), len(test)) > 0
        assert not set(data.qid[train]) & set(data.qid[test])
        for part in (train, test):
            queries = set(data.qid[part].tolist())
            assert len(part) == sum(np.sum(data.qid == query) for query in queries)


@every_splitter
def test_the_order_of_rows_does_not_change_splits(cv, data):
    rows = np.random.default_rng(0).permutation(len(data.qid))
    assert members(cv, data, rows) == members(cv, data)


@every_splitter
def test_groups_from_every_source_give_the_same_splits(cv, data):
    expected = [tuple(map(list, split)) for split in cv.split(data.X, data.relevance, data.qid)]
    y = skrank.with_groups(data.relevance, data.qid)
    frame = pd.DataFrame(data.X, index=pd.Index(data.qid, name="qid"))
    polar = pl.DataFrame({"x": data.X[:, 0]}), pl.Series(data.relevance)
    for source in (
        cv.split(data.X, y),
        cv.split(csr_array(data.X), y),
        cv.split(frame, data.relevance),
        cv.split(*polar, groups=pl.Series(data.qid)),
    ):
        assert [tuple(map(list, split)) for split in source] == expected


def test_folds_partition_the_rows_and_balance_the_queries(data):
    for cv in SPLITTERS[:6]:
        tests = [test for _, test in cv.split(data.X, data.relevance, groups=data.qid)]
        assert sorted(np.concatenate(tests)) == list(range(len(data.qid)))
        counts = [len(set(data.qid[test])) for test in tests]
        assert max(counts) - min(counts) <= 1


def test_folds_equal_stored_folds():
    """These folds are the same on every version of scikit-learn and NumPy."""
    qid = np.repeat(np.arange(10), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    y = np.arange(39) % 4 // 2 * (qid % 3)

    def folds(cv):
        return [sorted(set(qid[test].tolist())) for _, test in cv.split(y, y, groups=qid)]

    assert folds(QueryKFold(3)) == [[0, 5, 6], [1, 4, 7], [2, 3, 8, 9]]
    assert folds(QueryKFold(3, stratify="size")) == [[1, 2, 4], [3, 8, 9], [0, 5, 6, 7]]
    assert folds(QueryKFold(3, stratify="n_relevant")) == [[2, 3, 4], [1, 6, 8], [0, 5, 7, 9]]
    shuffled = folds(QueryKFold(3, shuffle=True, random_state=0))
    assert shuffled == [[2, 3, 9], [0, 5, 6, 8], [1, 4, 7]]
    assert folds(QueryShuffleSplit(2, test_size=4, random_state=0)) == [[0, 7, 8, 9], [0, 1, 4, 5]]


def test_strata_are_spread_evenly():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(300), rng.integers(1, 60, 300))
    y = (rng.random(len(qid)) < rng.random(300)[qid] ** 4).astype(int)
    relevant = np.bincount(qid, y)

    def spread(cv, measure):
        means = [measure[np.unique(qid[test])].mean() for _, test in cv.split(qid, y, groups=qid)]
        return np.ptp(means)

    assert spread(QueryKFold(5, stratify="n_relevant"), relevant) < 0.3
    assert spread(QueryKFold(5), relevant) > 1
    assert spread(QueryKFold(5, stratify="size"), np.bincount(qid)) < 0.5
    best = QueryKFold(5, stratify="max_grade", shuffle=True, random_state=0)
    assert spread(best, relevant > 0) < 0.02
    assert spread(QueryKFold(5, stratify=np.sum), relevant) < 0.3


def test_shuffled_folds_follow_the_seed(data):
    first, again, other = (
        members(QueryKFold(4, shuffle=True, random_state=seed), data) for seed in (0, 0, 1)
    )
    assert first == again != other
    repeated = members(QueryKFold(4, n_repeats=3, shuffle=True, random_state=0), data)
    assert len(repeated) == len(set(repeated)) == 12


def test_drop_unjudged_test():
    qid = np.repeat(np.arange(6), 2)
    y = np.array([1, 0, np.nan, np.nan, 0, np.nan, 1, 1, np.nan, np.nan, 0, 0])
    splits = QueryKFold(3, drop_unjudged_test=True).split(y, y, groups=qid)
    trained, tested = (set(qid[np.concatenate(part)]) for part in zip(*splits, strict=True))
    assert tested == {0, 2, 3, 5}
    assert trained == set(range(6))


@pytest.mark.parametrize(
    ("splitter", "arguments", "message"),
    [
        (QueryKFold, {"n_splits": 1}, "folds"),
        (QueryKFold, {"n_splits": 2.5}, "integer"),
        (QueryKFold, {"random_state": 0}, "without shuffle=True"),
        (QueryKFold, {"n_repeats": 2}, "without shuffle=True"),
        (QueryKFold, {"stratify": "grade"}, "stratify='grade'"),
        (QueryKFold, {"n_splits": 63}, "63 queries.* 62"),
        (QueryKFold, {"stratify": "n_relevant"}, "labels"),
        (QueryTimeSeriesSplit, {"time": pd.Series(range(61))}, "query 61"),
        (QueryTimeSeriesSplit, {"n_splits": 4, "test_size": 16}, "test_size=16"),
        *((QueryTimeSeriesSplit, {name: -1}, name) for name in ("gap", "test_size", "n_splits")),
        *((QueryShuffleSplit, {"test_size": n}, "test_size|parts") for n in (0.0, 1.5, 0, 62, -3)),
    ],
)
def test_bad_arguments_raise(splitter, arguments, message, data):
    with pytest.raises(ValueError, match=message):
        list(splitter(**arguments).split(data.X, groups=data.qid))


def test_random_parts_have_their_sizes(data):
    for cv, sizes in [
        (QueryShuffleSplit(3, test_size=0.25, random_state=0), (46, 16)),
        (QueryShuffleSplit(3, test_size=7, train_size=0.5, random_state=0), (31, 7)),
        (QueryShuffleSplit(3, test_size=1, stratify="size", random_state=0), (61, 1)),
    ]:
        splits = members(cv, data)
        assert len(set(splits)) > 1
        assert {(len(train), len(test)) for train, test in splits} == {sizes}


LOG = pd.DataFrame({
    "query": [0, 0, 0, 1, 1, 1, 2, 2, 3, 3],
    "day": [9, 9, 9, 1, 1, 1, 5, 5, 3, 3],
    "grade": [1, 0, 0, 1, 0, 0, 1, 0, 1, 0],
})  # fmt: skip
SCATTERED = LOG.iloc[[3, 0, 6, 8, 4, 1, 7, 9, 5, 2]]
NAMED = LOG.assign(query=LOG["query"].map(list("abcd").__getitem__), doc=list("ABCDEFGHIJ"))
OF_ROWS = {
    "series": lambda log: log["day"],
    "array": lambda log: log["day"].to_numpy(),
    "column": lambda log: log[["day"]],
    "polars": lambda log: pl.Series(log["day"].to_numpy()),
}
OF_QUERIES = {
    "dict": lambda log: dict(zip(log["query"], log["day"], strict=True)),
    "series": lambda log: log.groupby("query")["day"].first(),
    "other queries": lambda log: pd.concat(
        [log.groupby("query")["day"].first(), pd.Series([2, 4], index=[log["query"].max() * 5, 99])]
    ),
    "by query, a row per document": lambda log: log.set_index("query")["day"],
    "with_groups": lambda log: skrank.with_groups(log["day"], log["query"]),
}


@pytest.mark.parametrize("log", [LOG, SCATTERED, NAMED, NAMED.set_index("doc", drop=False)])
@pytest.mark.parametrize("form", [*OF_ROWS.values(), *OF_QUERIES.values()])
@pytest.mark.parametrize("table", [True, False])
def test_times_of_rows_and_of_queries(form, log, table):
    X = log[["grade"]] if table else np.zeros((10, 1))
    y = skrank.with_groups(log["grade"], log["query"])
    for labels, groups in ((y, None), (log["grade"].to_numpy(), log["query"].to_numpy())):
        cv = QueryTimeSeriesSplit(3, time=form(log))
        days = log["day"].to_numpy()
        found = [(days[train], days[test]) for train, test in cv.split(X, labels, groups)]
        assert [sorted(set(test)) for _, test in found] == [[3], [5], [9]]
        assert all(max(train) < min(test) for train, test in found)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("arguments", [{}, {"test_size": 1, "gap": 1}, {"max_train_size": 2}])
def test_queries_of_one_time_stay_in_one_part(frame, arguments):
    week = np.repeat([3, 0, 2, 5, 1, 4], [2, 14, 4, 8, 6, 10])  # two rows of a query
    qid = np.repeat(np.arange(22) % 11 * 2 + np.arange(22) // 11, 2)
    X = frame({"week": week})
    splits = list(QueryTimeSeriesSplit(3, time="week", **arguments).split(X, groups=qid))
    gap, most = arguments.get("gap", 0), arguments.get("max_train_size", 6)
    for (train, test), first in zip(splits, (3, 4, 5), strict=True):
        assert set(week[test]) == {first}
        assert set(week[train]) == set(range(max(0, first - gap - most), first - gap))
        assert len(test) == np.sum(week == first)


@pytest.mark.parametrize(
    ("time", "message"),
    [
        ("week", "'week'"),
        ("grade", "differs inside query"),
        (np.array([9, 1, 5, 3]), "time"),
        (LOG["day"] + LOG.index, "query 0"),
        ((LOG["day"] + LOG.index).set_axis(LOG["query"]), "query 0"),
        (pd.Series([9, 1, 5], index=[0, 1, 3]), "query 2"),
        (pd.Series([*LOG["day"][::3], *range(10)])[4:], "time"),
    ],
)
def test_times_that_are_neither_of_rows_nor_of_queries_raise(time, message):
    y = skrank.with_groups(LOG["grade"], LOG["query"])
    with pytest.raises(ValueError, match=message):
        QueryTimeSeriesSplit(2, time=time).split(LOG, y)


def test_times_are_numbers_or_dates():
    groups = ["4", "10", "11", "12"]
    days = pd.to_datetime(["2024-01-09", "2024-01-10", "2024-01-11", "2024-01-08"])

    def held_out(time):
        splits = QueryTimeSeriesSplit(2, time=time).split(np.zeros((4, 1)), groups=groups)
        return [test.tolist() for _, test in splits]

    series = pd.Series(days, index=groups)
    assert held_out(series.to_numpy()) == held_out(dict(series)) == [[1], [2]]
    with pytest.raises(ValueError, match="dict"):
        held_out(series)  # of rows or of queries?
    assert held_out({name: int(name) for name in groups}) == [[2], [3]]
    for wrong in ([1, 2, np.nan, 4], None, {one: one for one in groups}):
        with pytest.raises(ValueError, match="time"):
            held_out(wrong)


def test_train_test_split(data):
    y = skrank.with_groups(data.relevance, data.qid)
    frame = pd.DataFrame(data.X)
    X_train, X_test, y_train, y_test = query_train_test_split(frame, y, random_state=0)
    assert isinstance(X_train, pd.DataFrame)
    queries = set(y_train.index), set(y_test.index)
    assert tuple(map(len, queries)) == (46, 16)
    assert not queries[0] & queries[1]
    assert X_test.index.tolist() == np.flatnonzero(np.isin(data.qid, list(queries[1]))).tolist()
    sparse, polar = csr_array(data.X), pl.DataFrame(data.X)
    parts = query_train_test_split(
        sparse, y, polar, test_size=0.5, valid_size=0.25, stratify="n_relevant", random_state=0
    )
    assert [len(set(part.index)) for part in parts[3:6]] == [15, 16, 31]
    assert [part.shape[0] for part in parts[:3]] == [len(part) for part in parts[6:]]
    with pytest.raises(ValueError, match="every part needs"):
        query_train_test_split(frame, y, test_size=0.9, valid_size=0.1)
    with pytest.raises(ValueError, match="nothing to split"):
        query_train_test_split()
