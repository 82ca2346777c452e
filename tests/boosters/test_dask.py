"""Objectives and metrics of skrank in the boosters' own trainings on Dask."""

import itertools

import numpy as np
import pytest
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.dask_runs import (
    PATIENCE,
    QUIET,
    XGB,
    Data,
    da,
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


def matrix(client, data, n_parts=2):
    """Partitions of whole queries on the workers."""
    rows = tuple(int(sizes.sum()) for sizes in np.array_split(data.sizes, n_parts))
    given = ((data.X, (rows, 4)), (data.y, rows), (data.qid, rows))
    X, y, qid = client.persist([da.from_array(array, chunks=chunks) for array, chunks in given])
    return dxgb.DaskDMatrix(client, X, y, qid=qid)


HOW = {
    "obj": skrank.xgboost.objective("gap", tie_order="stable"), "verbose_eval": False,
    "custom_metric": skrank.xgboost.eval_metric(*METRICS, max_grade=4),
}  # fmt: skip


def train_dask(client, parts, evals, rounds):
    return within(lambda: dxgb.train(client, XGB, parts, rounds, evals=evals, **HOW))


@pytest.mark.parametrize(("n_train", "n_valid"), [(2, 1), (1, 2)])
def test_workers_without_a_part_of_the_data(client, n_train, n_valid):
    log, alone = {}, [xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)]
    evals = list(zip(alone, ("train", "valid"), strict=True))
    params = XGB | {"tree_method": "hist"}
    expected = xgb.train(params, alone[0], 4, evals=evals, evals_result=log, **HOW)
    dtrain, dvalid = matrix(client, train, n_train), matrix(client, valid, n_valid)
    found = train_dask(client, dtrain, [(dtrain, "train"), (dvalid, "valid")], 4)
    for name, metric in itertools.product(("train", "valid"), METRICS):
        np.testing.assert_allclose(found["history"][name][metric], log[name][metric], atol=1e-6)
    scores = found["booster"].predict(xgb.DMatrix(valid.X))
    np.testing.assert_allclose(scores, expected.predict(xgb.DMatrix(valid.X)), atol=1e-4)


def test_an_error_on_one_worker_reaches_the_user(client):
    wrong = Data(0)
    wrong.y[-1] = -1
    bad = matrix(client, wrong)
    with pytest.raises(ValueError, match="is -1"):
        train_dask(client, bad, [(bad, "train")], 4)
    good = matrix(client, train)
    assert len(train_dask(client, good, [(good, "train")], 4)["history"]["train"]["err"]) == 4
