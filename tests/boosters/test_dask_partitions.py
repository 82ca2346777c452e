"""Partitions of whole queries on the workers of Dask."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import skrank
from skrank.dask import partition_queries
from skrank.dask._partitions import _even_cuts
from tests.helpers.dask_runs import QUIET, Data, da, dask, dd

pytestmark = QUIET


@pytest.fixture(scope="module")
def train():
    return Data(0)


# Partitions -------------------------------------------------------------------------------------


def assert_whole(parts, X, y, qid, weight=None):
    """Each query is in one partition, with its rows in the original order."""
    found, labels = parts.X.compute(), parts.y.compute()
    numbers, sizes = parts.qid.compute(), parts.group.compute()
    found = found.to_numpy() if hasattr(found, "to_numpy") else found
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(numbers, np.repeat(np.arange(len(sizes)), sizes))
    assert sorted(parts.queries.tolist()) == sorted(set(np.asarray(qid).tolist()))
    for number, query in enumerate(parts.queries):
        there = np.asarray(qid) == query
        np.testing.assert_array_equal(found[numbers == number], X[there])
        np.testing.assert_array_equal(labels[numbers == number], y[there])
        if weight is not None:
            own = parts.weight.compute()[numbers == number]
            np.testing.assert_array_equal(own, weight[there])
    ends = np.cumsum(sizes)
    of_parts = np.cumsum([len(piece) for piece in dask.compute(*parts.y.to_delayed().ravel())])
    assert set(of_parts) <= set(ends)
    assert len({one.npartitions for one in (parts.X, parts.y, parts.qid, parts.group)}) == 1
    np.testing.assert_array_equal(np.cumsum(parts.y.chunks[0]), of_parts)
    assert sum(parts.group.chunks[0]) == len(sizes)


@pytest.mark.parametrize("n_partitions", [None, 1, 3, 7])
def test_data_in_memory(client, train, n_partitions):
    order = np.random.default_rng(0).permutation(len(train.y))
    X, y, weight = train.X[order], train.y[order], train.weight[order]
    qid = np.array([f"query {one}" for one in train.qid[order]])
    parts = partition_queries(X, y, qid, sample_weight=weight, n_partitions=n_partitions)
    assert_whole(parts, X, y, qid, weight)
    assert parts.X.npartitions == (n_partitions or 2)
    rows = np.array(parts.y.chunks[0])
    assert rows.max() - rows.min() <= 2 * train.sizes.max()
    held = [len(keys) for keys in client.has_what().values()]
    assert n_partitions == 1 or min(held) > 0


def test_kinds_of_data_in_memory(client, train):
    frame = pd.DataFrame(train.X, columns=list("abcd"))
    labels = skrank.with_groups(train.y, train.qid)
    frame.index = labels.index
    parts = partition_queries(frame, labels)
    assert isinstance(parts.X, dd.DataFrame)
    assert_whole(parts, train.X, train.y, train.qid)
    parts = partition_queries(sp.csr_matrix(train.X), train.y, train.qid)
    blocks = dask.compute(*parts.X.to_delayed().ravel())
    assert all(sp.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sp.vstack(blocks).toarray(), train.X)
    parts = partition_queries(train.X.tolist(), train.y.tolist(), train.qid.tolist())
    assert_whole(parts, train.X, train.y, train.qid)
    assert parts.weight is None


def chunked(data, *ends):
    """Collections split after these rows; a repeated end makes an empty partition."""
    chunks = tuple(np.diff([0, *ends, len(data.y)]).tolist())
    X = da.from_array(data.X, chunks=(chunks, 4))
    return X, da.from_array(data.y, chunks=(chunks,)), da.from_array(data.qid, chunks=(chunks,))


def test_collections_of_whole_queries(client, train):
    ends = np.cumsum(train.sizes)[[9, 9, 25]]
    X, y, qid = chunked(train, *ends)
    weight = da.from_array(train.weight, chunks=y.chunks)
    parts = partition_queries(X, y, qid, sample_weight=weight)
    assert parts.X.npartitions == 3
    assert_whole(parts, train.X, train.y, train.qid, train.weight)


def test_frames_are_shuffled_by_query(client, train):
    order = np.random.default_rng(0).permutation(len(train.y))
    frame = pd.DataFrame(train.X, columns=list("abcd")).assign(y=train.y, qid=train.qid)
    torn = dd.from_pandas(frame.iloc[order].reset_index(drop=True), npartitions=3)
    with pytest.raises(ValueError, match=r"query \d+ lies in partitions 0 and 1.*frame.shuffle"):
        partition_queries(torn[list("abcd")], torn["y"], torn["qid"])
    whole = torn.shuffle("qid").persist()
    features = whole[list("abcd")]
    parts = partition_queries(features, whole["y"], whole["qid"])
    rows = whole.compute()
    assert_whole(parts, rows[list("abcd")].to_numpy(), rows["y"].to_numpy(), rows["qid"])


def test_partitions_that_are_refused(client, train):
    X, y, qid = chunked(train, train.sizes[0])
    weight = train.weight.copy()
    weight[1:3] = [3, 4]
    cases = [
        ((*chunked(train, train.sizes[0] + 1),), {}, "query 1 lies in partitions 0 and 1"),
        ((X, y.rechunk((len(train.y),)), qid), {}, "partitions: take all collections from one"),
        ((X.rechunk((None, 2)), y, qid), {}, "X is cut by columns"),
        ((X, train.y, qid), {}, "y must be a Dask collection"),
        ((X, y, None), {}, "needs groups="),
        ((X, y, qid), {"n_partitions": 2}, "for data in memory"),
        ((X, y, qid), {"sample_weight": da.from_array(weight, chunks=y.chunks)}, "varies inside"),
        ((train.X, train.y, train.qid), {"sample_weight": weight}, "varies inside query"),
        ((train.X, train.y, train.qid), {"n_partitions": 41}, "40 queries do not fill 41"),
        ((train.X, train.y, train.qid), {"n_partitions": 0}, "n_partitions=0 must be at least 1"),
        ((train.X, train.y, None), {}, "partition_queries needs the query of each row"),
        ((train.X, train.y, train.qid[1:]), {}, "one query id per row"),
        ((train.X, train.y[1:], train.qid), {}, "entries for"),
        ((train.X, train.y - 1, train.qid), {}, r"label of row \d+ is -1: labels must be"),
        ((train.X, train.y * np.nan, train.qid), {}, "label of row 0 is missing"),
        ((X, y - 1, qid), {}, r"label of row \d+ is -1: labels must be"),
    ]
    for args, options, message in cases:
        with pytest.raises(ValueError, match=message):
            partition_queries(*args, **options)


def test_no_client_and_no_dask(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ImportError, match=r"needs dask and distributed: pip install skrank\[dask\]"
    ):
        partition_queries(train.X, train.y, train.qid)


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_even_and_leave_no_part_empty(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 2 + 100 * (seed % 2), 30)
    sizes[rng.integers(30)] = 3000
    for count in (1, 2, 5, 29, 30):
        cuts = _even_cuts(sizes, count)
        assert [first for first, _ in cuts[1:]] == [last for _, last in cuts[:-1]]
        assert (cuts[0][0], cuts[-1][1], len(cuts)) == (0, 30, count)
        assert min(last - first for first, last in cuts) > 0
    even = _even_cuts(np.full(40, 10), 4)
    assert even == [(0, 10), (10, 20), (20, 30), (30, 40)]
