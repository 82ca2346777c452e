"""Eval metrics of boosters use the highest grade of the training set."""

from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pytest

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.boosters import LGB, Data, LightGBM, XGBoost

METRICS = ["err", "rbp", "gap"]
SCALE = r"err depends on the highest grade"


@pytest.fixture(scope="module")
def low():
    """Labels of at most 2; those of the training part are up to 4."""
    return Data(1, 20, max_grade=2)


def expected(data, scores):
    """Values with the highest grade of the training part."""
    metrics = [skrank.metric(name, max_grade=4) for name in METRICS]
    return [one(data.y, scores, groups=data.qid) for one in metrics]


def values(library, train, low, metric):
    """Values of the last round of a training, and those by hand."""
    data = library.build(train)
    more = {"reference": data} if library is LightGBM else {}
    booster, log = library.train(
        data, library.module.objective("gap"), 5, [library.build(low, **more)], metric
    )
    found = [log["valid_0"][name][-1] for name in METRICS]
    return found, expected(low, library.scores(booster, low))


def test_lightgbm_train(train, low):
    found, by_hand = values(LightGBM, train, low, skrank.lightgbm.eval_metric(*METRICS))
    assert found == pytest.approx(by_hand)


def test_xgboost_train(train, low):
    """XGBoost passes the data of the validation part only."""
    metric = skrank.xgboost.eval_metric(*METRICS, max_grade=4)
    found, by_hand = values(XGBoost, train, low, metric)
    assert found == pytest.approx(by_hand, abs=1e-6)
    with pytest.raises(ValueError, match=SCALE):
        values(XGBoost, train, low, skrank.xgboost.eval_metric(*METRICS))


@pytest.mark.parametrize("max_grade", [4, None])
def test_lgbm_ranker(train, low, max_grade):
    """LightGBM passes the labels of the validation part only."""
    metric = skrank.lightgbm.eval_metric(*METRICS, max_grade=max_grade)
    ranker = lgb.LGBMRanker(objective=skrank.lightgbm.objective("gap"), n_estimators=5, **LGB)
    with nullcontext() if max_grade else pytest.raises(ValueError, match=SCALE):
        ranker.fit(
            train.X, train.y, group=train.sizes,
            eval_X=(low.X,), eval_y=(low.y,), eval_group=[low.sizes], eval_metric=metric,
        )  # fmt: skip
    if max_grade:
        found = [ranker.evals_result_["valid_0"][name][-1] for name in METRICS]
        assert found == pytest.approx(expected(low, ranker.predict(low.X)))


@pytest.mark.parametrize("library", [LightGBM, XGBoost])
def test_outside_of_a_training(library, train, low):
    make = library.module.eval_metric

    def call(metric, data):
        if library is XGBoost:
            return metric(np.zeros(len(data.y)), data.matrix())
        return metric(data.y, np.zeros(len(data.y)), None, data.sizes)

    with pytest.raises(ValueError, match=rf"{SCALE}.*max_grade="):
        call(make("err"), low)
    for metric in ("gap", skrank.metric("err", max_grade=4)):
        call(make(metric), low)
    with pytest.raises(ValueError, match=r"above max_grade=2 of err: give the highest grade"):
        call(make("err", max_grade=2), train)
    with pytest.raises(ValueError, match="max_grade=0"):
        make("err", max_grade=0)
