"""Objectives and metrics of skrank in the boosters' own trainings on Dask, and workers that die."""

import itertools
import os
import signal
import threading
import time
from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.dask_runs import (
    GAP,
    LGB,
    PATIENCE,
    QUIET,
    XGB,
    Data,
    da,
    dask,
    distributed,
    dxgb,
    start,
    within,
)

pytestmark = QUIET
train, valid = Data(0), Data(1, 30)
METRICS = "gap@10", "err"


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def collections(client, data, n_parts=2):
    """X, labels, queries and sizes of queries, in partitions of whole queries on the workers."""
    sizes = np.array_split(data.sizes, n_parts)
    rows, queries = (tuple(map(int, map(count, sizes))) for count in (sum, len))
    given = (data.X, (rows, 4)), (data.y, rows), (data.qid, rows), (data.sizes, queries)
    return client.persist([da.from_array(one, chunks=chunks) for one, chunks in given])


def matrix(client, data, n_parts=2):
    X, y, qid, _ = collections(client, data, n_parts)
    return dxgb.DaskDMatrix(client, X, y, qid=qid)


def how(callbacks=(), **own):
    """Arguments of XGBoost's trainings."""
    return {
        "obj": skrank.xgboost.objective("gap", tie_order="stable"), "verbose_eval": False,
        "custom_metric": skrank.xgboost.eval_metric(*METRICS, max_grade=4),
        "callbacks": list(callbacks),
    } | own  # fmt: skip


def train_dask(client, parts, evals, rounds=8, **own):
    return within(lambda: dxgb.train(client, XGB, parts, rounds, evals=evals, **how(**own)))


@pytest.mark.parametrize(("n_train", "n_valid"), [(2, 1), (1, 2)])
def test_workers_without_a_part_of_the_data(client, n_train, n_valid):
    log, alone = {}, [xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)]
    evals = list(zip(alone, ("train", "valid"), strict=True))
    params = XGB | {"tree_method": "hist"}
    expected = xgb.train(params, alone[0], 4, evals=evals, **how(evals_result=log))
    dtrain, dvalid = matrix(client, train, n_train), matrix(client, valid, n_valid)
    found = train_dask(client, dtrain, [(dtrain, "train"), (dvalid, "valid")], 4)
    for name, metric in itertools.product(("train", "valid"), METRICS):
        np.testing.assert_allclose(found["history"][name][metric], log[name][metric], atol=1e-6)
    scores = found["booster"].predict(xgb.DMatrix(valid.X))
    np.testing.assert_allclose(scores, expected.predict(xgb.DMatrix(valid.X)), atol=1e-4)


def test_an_error_on_one_worker_reaches_the_user(client):
    X, y, qid, _ = collections(client, train)
    labels = da.concatenate([y[:-1], da.from_array([-1.0])]).rechunk(y.chunks)
    bad = dxgb.DaskDMatrix(client, X, labels, qid=qid)
    with pytest.raises(ValueError, match="is -1"):
        train_dask(client, bad, [(bad, "train")])
    good = matrix(client, train)
    assert len(train_dask(client, good, [(good, "train")])["history"]["train"]["err"]) == 8


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
def test_a_killed_worker_is_an_error_and_no_other_model(booster):
    # tasks that can run only on a dead worker are cancelled
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}),
        start() as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE)
        kill_one_in_training(client)
        if booster == "lightgbm":
            trees = lgb.DaskLGBMRanker(client=client, **LGB | {"n_estimators": 2000})
            own = {"callbacks": [slowly]}
        else:
            trees = dxgb.DaskXGBRanker(n_estimators=2000, max_depth=3, callbacks=[Slowly()])
            own = {}
        ranker = skrank.GroupedRanker(trees, objective=GAP)
        with pytest.raises(Exception, match=r"\S") as caught:  # of Dask or of the booster
            within(partial(ranker.fit, train.X, train.y, train.qid, **own))
        assert not isinstance(caught.value, AssertionError)  # it did not hang
