"""The log of the value of every query in every round equals the metric, in both boosters."""

import copy
import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost

QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "metric": "None"}
METRICS = ("gap@5", "err")


class Data:
    def __init__(self, seed, n_queries=20):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, 12, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 3)).astype(np.float32)
        self.y = np.clip(np.floor(self.X[:, 0] + rng.normal(size=len(self.X))), 0, 4)
        self.y[self.qid == 4] = 0
        self.y[0] = 4

    def per_query(self, name, scores):
        return skrank.metric(name).per_query(self.y, scores, groups=self.qid).to_numpy()


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 15)


def train_lightgbm(train, valid, log, rounds=4):
    return lgb.train(
        QUIET | {"objective": skrank.lightgbm.objective("gap")},
        lgb.Dataset(train.X, train.y, group=train.sizes),
        rounds,
        [lgb.Dataset(one.X, one.y, group=one.sizes) for one in (train, valid)],
        feval=skrank.lightgbm.eval_metric(*METRICS, per_query=log),
    )


def train_xgboost(train, valid, log, rounds=4):
    matrices = [xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)]
    return xgb.train(
        {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 3},
        matrices[0],
        rounds,
        evals=[(matrices[0], "train"), (matrices[1], "valid")],
        obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric(*METRICS, per_query=log, max_grade=4),
        verbose_eval=False,
    )


def predict(booster, data, rounds):
    if isinstance(booster, lgb.Booster):
        return booster.predict(data.X, num_iteration=rounds)
    return booster.predict(xgb.DMatrix(data.X), iteration_range=(0, rounds))


@pytest.mark.parametrize("fit", [train_lightgbm, train_xgboost])
def test_values_are_those_of_the_metric(train, valid, fit):
    log = skrank.lightgbm.QueryLog()
    booster = fit(train, valid, log)
    assert len(log) == 2
    for number, data in enumerate((train, valid)):
        for name in METRICS:
            frame = log.frame(name, number)
            assert (frame.index.name, frame.columns.name) == ("round", "query")
            assert frame.shape == (4, len(data.sizes))
            assert frame[4].isna().all()  # the query has no relevant document
            for round_ in range(4):
                expected = data.per_query(name, predict(booster, data, round_ + 1))
                np.testing.assert_allclose(frame.loc[round_], expected, atol=1e-12)
    assert log.frame("err").equals(log.frame("err", 1))
    assert log.frame("err", -2).equals(log.frame("err", 0))


def test_one_class_for_both():
    assert skrank.lightgbm.QueryLog is skrank.xgboost.QueryLog


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_ranker_writes_to_the_log_of_the_user(train, valid):
    log = skrank.lightgbm.QueryLog()  # LGBMRanker copies the eval metric
    labels = valid.y.astype(np.float32)
    ranker = lgb.LGBMRanker(
        objective=skrank.lightgbm.objective("gap"), n_estimators=3, **QUIET
    ).fit(
        train.X,
        train.y,
        group=train.sizes,
        eval_set=[(valid.X, labels), (-valid.X, labels)],  # evaluation sets with the same labels
        eval_group=[valid.sizes, valid.sizes],
        eval_metric=skrank.lightgbm.eval_metric("gap", per_query=log),
    )
    assert len(log) == 2
    for number, X in enumerate((valid.X, -valid.X)):
        expected = valid.per_query("gap", ranker.predict(X))
        np.testing.assert_allclose(log.frame("gap", number).iloc[-1], expected)


def test_copies_share_a_log_and_files_keep_it(train, valid):
    log = skrank.xgboost.QueryLog()
    metric = skrank.xgboost.eval_metric("gap", per_query=log)
    data = xgb.DMatrix(valid.X, valid.y, qid=valid.qid)
    scores = np.random.default_rng(0).normal(size=len(valid.y))
    copy.deepcopy(metric)(scores, data)
    assert log.frame("gap").shape == (1, 15)
    again = pickle.loads(pickle.dumps(metric))
    again(scores, data)
    assert [frame.shape for frame in (again.per_query.frame("gap", 0), log.frame("gap"))] == [
        (1, 15), (1, 15),
    ]  # fmt: skip
    assert len(again.per_query) == 2
    assert again.per_query.frame("gap", 0).equals(log.frame("gap"))


def test_another_training_is_another_data_set(train, valid):
    log = skrank.lightgbm.QueryLog()
    for _ in range(2):
        train_lightgbm(train, valid, log, 2)
    assert [len(log.frame("gap@5", number)) for number in range(len(log))] == [2, 2, 2, 2]


def test_what_is_not_there(train, valid):
    log = skrank.xgboost.QueryLog()
    with pytest.raises(ValueError, match="data=-1: 0 data sets were evaluated"):
        log.frame("gap")
    train_xgboost(train, valid, log, 1)
    with pytest.raises(ValueError, match="data=2: 2 data sets"):
        log.frame("gap@5", 2)
    with pytest.raises(ValueError, match=r"gap was not evaluated: choose one of gap@5, err"):
        log.frame("gap")
    with pytest.raises(ValueError, match="must be a QueryLog"):
        skrank.lightgbm.eval_metric("gap", per_query=[])


def test_a_log_of_one_worker_is_refused(valid, monkeypatch):
    monkeypatch.setattr(xgb.collective, "get_world_size", lambda: 2)
    monkeypatch.setattr(xgb.collective, "allreduce", lambda values, op: values)
    metric = skrank.xgboost.eval_metric("gap", per_query=skrank.xgboost.QueryLog())
    with pytest.raises(ValueError, match="queries of one worker only"):
        metric(np.zeros(len(valid.y)), xgb.DMatrix(valid.X, valid.y, qid=valid.qid))
