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
from tests.helpers.boosters import LGB, LightGBM, XGBoost

METRICS = ("gap@5", "err")


def per_query(data, name, scores):
    return skrank.metric(name).per_query(data.y, scores, groups=data.qid).to_numpy()


def boosted(library, train, valid, log, rounds=4):
    metric = library.module.eval_metric(*METRICS, per_query=log, max_grade=4)
    objective, data = library.module.objective("gap"), library.build(train)
    return library.train(data, objective, rounds, [data, library.build(valid)], metric)[0]


def predict(booster, data, rounds):
    if isinstance(booster, lgb.Booster):
        return booster.predict(data.X, num_iteration=rounds)
    return booster.predict(xgb.DMatrix(data.X), iteration_range=(0, rounds))


@pytest.mark.parametrize("library", [LightGBM, XGBoost])
def test_values_are_those_of_the_metric(train, valid, library):
    log = library.module.QueryLog()
    booster = boosted(library, train, valid, log)
    assert len(log) == 2
    for number, data in enumerate((train, valid)):
        for name in METRICS:
            frame = log.frame(name, number)
            assert (frame.index.name, frame.columns.name) == ("round", "query")
            assert frame.shape == (4, len(data.sizes))
            assert frame[4].isna().all()  # the query has no relevant document
            for round_ in range(4):
                expected = per_query(data, name, predict(booster, data, round_ + 1))
                np.testing.assert_allclose(frame.loc[round_], expected, atol=1e-12)
    assert log.frame("err").equals(log.frame("err", 1))
    assert log.frame("err", -2).equals(log.frame("err", 0))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_ranker_writes_to_the_log_of_the_user(train, valid):
    log = skrank.lightgbm.QueryLog()  # LGBMRanker copies the eval metric
    labels = valid.y.astype(np.float32)
    ranker = lgb.LGBMRanker(objective=skrank.lightgbm.objective("gap"), n_estimators=3, **LGB).fit(
        train.X, train.y, group=train.sizes,
        eval_set=[(valid.X, labels), (-valid.X, labels)],  # evaluation sets with the same labels
        eval_group=[valid.sizes, valid.sizes],
        eval_metric=skrank.lightgbm.eval_metric("gap", per_query=log),
    )  # fmt: skip
    assert len(log) == 2
    for number, X in enumerate((valid.X, -valid.X)):
        expected = per_query(valid, "gap", ranker.predict(X))
        np.testing.assert_allclose(log.frame("gap", number).iloc[-1], expected)


def test_copies_share_a_log_and_files_store_it(valid):
    log = skrank.xgboost.QueryLog()
    metric = skrank.xgboost.eval_metric("gap", per_query=log)
    data, scores = valid.matrix(), np.random.default_rng(0).normal(size=len(valid.y))
    copy.deepcopy(metric)(scores, data)
    again = pickle.loads(pickle.dumps(metric))
    again(scores, data)
    assert (len(log), len(again.per_query)) == (1, 2)
    assert log.frame("gap").shape == (1, 40)
    for number in (0, 1):
        assert again.per_query.frame("gap", number).equals(log.frame("gap"))


def test_another_training_is_another_data_set(train, valid):
    log = skrank.lightgbm.QueryLog()
    for _ in range(2):
        boosted(LightGBM, train, valid, log, 2)
    assert [len(log.frame("gap@5", number)) for number in range(len(log))] == [2, 2, 2, 2]


def test_what_was_not_evaluated_is_refused(train, valid):
    log = skrank.xgboost.QueryLog()
    with pytest.raises(ValueError, match="data=-1"):
        log.frame("gap")
    boosted(XGBoost, train, valid, log, 1)
    with pytest.raises(ValueError, match="data=2"):
        log.frame("gap@5", 2)
    with pytest.raises(ValueError, match=r"gap .*gap@5, err"):
        log.frame("gap")
    with pytest.raises(ValueError, match="QueryLog"):
        skrank.lightgbm.eval_metric("gap", per_query=[])
