"""Partitions of whole queries on Dask, and training on them."""

import itertools
import os
import signal
import sys
import threading
import time
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.dask import partition_queries
from skrank.dask._partitions import _even_cuts
from tests.helpers.dask_runs import (
    GAP,
    LGB,
    PATIENCE,
    QUIET,
    XGB,
    Data,
    da,
    dask,
    dd,
    distributed,
    dxgb,
    start,
    within,
)

pytestmark = QUIET


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


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
    with pytest.raises(ValueError, match=r"query \d+.*frame.shuffle"):
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
        ((*chunked(train, train.sizes[0] + 1),), {}, "query 1"),
        ((X, y.rechunk((len(train.y),)), qid), {}, "partitions: take all collections from one"),
        ((X.rechunk((None, 2)), y, qid), {}, r"\bX\b"),
        ((X, train.y, qid), {}, r"\by\b"),
        ((X, y, None), {}, "needs groups="),
        ((X, y, qid), {"n_partitions": 2}, "for data in memory"),
        ((X, y, qid), {"sample_weight": da.from_array(weight, chunks=y.chunks)}, "varies inside"),
        ((train.X, train.y, train.qid), {"sample_weight": weight}, "varies inside query"),
        ((train.X, train.y, train.qid), {"n_partitions": 41}, "40 queries .* 41"),
        ((train.X, train.y, train.qid), {"n_partitions": 0}, "n_partitions=0"),
        ((train.X, train.y, None), {}, "partition_queries"),
        ((train.X, train.y, train.qid[1:]), {}, "one query id per row"),
        ((train.X, train.y[1:], train.qid), {}, "entries for"),
        ((train.X, train.y - 1, train.qid), {}, r"label of row \d+ is -1: labels must be"),
        ((train.X, train.y * np.nan, train.qid), {}, "label of row 0"),
        ((X, y - 1, qid), {}, r"label of row \d+ is -1: labels must be"),
    ]
    for args, options, message in cases:
        with pytest.raises(ValueError, match=message):
            partition_queries(*args, **options)


def test_no_client_and_no_dask(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"skrank\[dask\]"):
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


@pytest.fixture(scope="module")
def valid():
    return Data(1, 30)


# XGBoost ----------------------------------------------------------------------------------------


def matrix(client, parts):
    return dxgb.DaskDMatrix(client, parts.X, parts.y, qid=parts.qid)


METRICS = "gap@10", "err"


def how(callbacks=(), **own):
    """Arguments of XGBoost's trainings."""
    return {
        "obj": skrank.xgboost.objective("gap", tie_order="stable"), "verbose_eval": False,
        "custom_metric": skrank.xgboost.eval_metric(*METRICS, max_grade=4),
        "callbacks": list(callbacks),
    } | own  # fmt: skip


def train_dask(client, parts, evals, rounds=8, **own):
    return within(lambda: dxgb.train(client, XGB, parts, rounds, evals=evals, **how(**own)))


def train_alone(train, valid, rounds=8, **own):
    matrices = [xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)]
    log, evals = {}, list(zip(matrices, ("train", "valid"), strict=True))
    params = XGB | {"tree_method": "hist"}
    own = how(evals_result=log, **own)
    return xgb.train(params, matrices[0], rounds, evals=evals, **own), log


def test_workers_without_a_part_of_the_data(client, train, valid):
    whole, single = (
        matrix(client, partition_queries(one.X, one.y, one.qid, n_partitions=count))
        for one, count in ((train, 2), (valid, 1))
    )
    for dtrain, dvalid, data, other in (
        (whole, single, train, valid),
        (single, whole, valid, train),
    ):
        found = train_dask(client, dtrain, [(dtrain, "train"), (dvalid, "valid")], 4)
        alone, log = train_alone(data, other, 4)
        history = found["history"]
        for name, metric in itertools.product(("train", "valid"), METRICS):
            np.testing.assert_allclose(history[name][metric], log[name][metric], atol=1e-6)
        scores = found["booster"].predict(xgb.DMatrix(other.X))
        np.testing.assert_allclose(scores, alone.predict(xgb.DMatrix(other.X)), atol=1e-4)


def test_an_error_on_one_worker_reaches_the_user(client, train):
    parts = partition_queries(train.X, train.y, train.qid)
    labels = da.concatenate([parts.y[:-1], da.from_array([-1.0])]).rechunk(parts.y.chunks)
    bad = dxgb.DaskDMatrix(client, parts.X, labels, qid=parts.qid)
    with pytest.raises(ValueError, match=r"-1.*labels"):
        train_dask(client, bad, [(bad, "train")])
    good = matrix(client, parts)
    assert len(train_dask(client, good, [(good, "train")])["history"]["train"]["err"]) == 8


# A worker dies ----------------------------------------------------------------------------------


class Slowly(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        distributed.get_worker().epoch = epoch
        time.sleep(0.05)
        return False


def slowly(env):
    distributed.get_worker().epoch = env.iteration
    time.sleep(0.05)


def kill_one_in_training(client):
    """Kill a worker as soon as it has trained some rounds."""
    address = max(client.nthreads())
    pid = client.run(os.getpid)[address]

    def rounds(dask_worker):
        return getattr(dask_worker, "epoch", -1)

    def watch():
        while client.run(rounds, workers=[address])[address] < 2:
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_a_killed_worker_is_an_error_and_no_other_model(train, booster):
    # tasks that can run only on a dead worker are cancelled
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}),
        start() as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE)
        parts = partition_queries(train.X, train.y, train.qid)
        kill_one_in_training(client)
        if booster == "lightgbm":
            options = LGB | {"objective": skrank.lightgbm.objective(GAP), "n_estimators": 2000}
            fit = lgb.DaskLGBMRanker(client=client, **options).fit
            call = partial(fit, parts.X, parts.y, group=parts.group, callbacks=[slowly])
        else:
            dtrain = matrix(client, parts)
            evals = [(dtrain, "train")]
            call = partial(train_dask, client, dtrain, evals, 2000, callbacks=[Slowly()])
        with pytest.raises(Exception, match=r"\S") as caught:  # of Dask or of the booster
            within(call)
        assert not isinstance(caught.value, AssertionError)  # it did not hang
