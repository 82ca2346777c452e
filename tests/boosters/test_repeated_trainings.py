"""Trainings with the same callable and data are equal bit for bit, whatever was trained before."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import LambdaLoss, LambdaRank, Softmax
from tests.helpers.engine import limit_threads

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

SIZES = np.full(150, 80)
STARTS = ("none", "tied", "continuous")
DRAWING = [
    LambdaRank("ndcg"),
    LambdaRank("gap", random_state=3),
    LambdaRank("err"),
    LambdaLoss("ndcg@10"),
    Softmax(random_gains=True),
    0.5 * LambdaRank("err") + 0.5 * Softmax(random_gains=True),
]


def make(start):
    rng = np.random.default_rng(0)
    n = SIZES.sum()
    X, y = rng.integers(0, 3, (n, 4)).astype(float), rng.integers(0, 4, n).astype(float)
    begin = {"none": None, "tied": X[:, 0] - 1, "continuous": rng.normal(size=n)}[start]
    return X, y, begin


def lightgbm_data(start):
    X, y, begin = make(start)
    params = {"verbosity": -1, "num_threads": 1}
    return lgb.Dataset(X, y, group=SIZES, init_score=begin, params=params, free_raw_data=False)


def xgboost_data(start):
    X, y, begin = make(start)
    return xgb.DMatrix(X, y, group=SIZES, base_margin=begin, nthread=1)


def train_lightgbm(objective, data):
    params = {"objective": objective, "verbosity": -1, "num_threads": 1, "num_leaves": 4}
    return lgb.train(params, data, 3).predict(make("none")[0])


def train_xgboost(objective, data):
    params = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 2}
    return xgb.train(params, data, 3, obj=objective).predict(data, output_margin=True)


BOOSTERS = {
    "lightgbm": (skrank.lightgbm.objective, lightgbm_data, train_lightgbm),
    "xgboost": (skrank.xgboost.objective, xgboost_data, train_xgboost),
}


@pytest.mark.usefixtures("every_thread")
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("objective", DRAWING, ids=str)
@pytest.mark.parametrize("booster", BOOSTERS)
def test_one_callable_and_one_data_set(booster, objective, start):
    call, data_of, train = BOOSTERS[booster]
    called, data = call(objective), data_of(start)
    with limit_threads(4):
        first = train(called, data)
    train(called, data_of("none"))
    assert_array_equal(train(called, data), first)
    with limit_threads(1):
        assert_array_equal(train(call(objective), data_of(start)), first)


def train_all(booster):
    call, data_of, train = BOOSTERS[booster]
    return [train(call(one), data_of("tied")) for one in DRAWING]


@pytest.mark.parametrize("booster", BOOSTERS)
def test_another_process(booster):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(train_all, booster).result()
    assert_array_equal(there, train_all(booster))
