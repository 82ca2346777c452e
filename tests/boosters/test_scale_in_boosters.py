"""Eval metrics of boosters use the highest grade of the training set."""

from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pytest

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.boosters import LGB, LIBRARIES, Data, LightGBM, XGBoost

METRICS = ["err", "rbp", "gap"]
SCALE = r"err depends on the highest grade"
LOW = Data(1, 20, max_grade=2)  # labels of the training part are up to 4


def by_hand(scores):
    """Values with the highest grade of the training part."""
    metrics = [skrank.metric(name, max_grade=4) for name in METRICS]
    return [one(LOW.y, scores, groups=LOW.qid) for one in metrics]


@pytest.mark.parametrize(
    ("library", "given", "error"),
    [(LightGBM, {}, 1e-12), (XGBoost, {"max_grade": 4}, 1e-6), (XGBoost, {}, None)],
)
def test_training(train, library, given, error):
    """XGBoost passes the data of the validation part only."""
    data = library.build(train)
    valid = library.build(LOW, **({"reference": data} if library is LightGBM else {}))
    metric = library.module.eval_metric(*METRICS, **given)
    with nullcontext() if error else pytest.raises(ValueError, match=SCALE):
        booster, log = library.train(data, library.module.objective("gap"), 5, [valid], metric)
    if error:
        found = [log["valid_0"][name][-1] for name in METRICS]
        assert found == pytest.approx(by_hand(library.scores(booster, LOW)), abs=error)


@pytest.mark.parametrize("max_grade", [4, None])
def test_lgbm_ranker(train, max_grade):
    """LightGBM passes the labels of the validation part only."""
    metric = skrank.lightgbm.eval_metric(*METRICS, max_grade=max_grade)
    ranker = lgb.LGBMRanker(objective=skrank.lightgbm.objective("gap"), n_estimators=5, **LGB)
    with nullcontext() if max_grade else pytest.raises(ValueError, match=SCALE):
        ranker.fit(
            train.X, train.y, group=train.sizes,
            eval_X=(LOW.X,), eval_y=(LOW.y,), eval_group=[LOW.sizes], eval_metric=metric,
        )  # fmt: skip
    if max_grade:
        found = [ranker.evals_result_["valid_0"][name][-1] for name in METRICS]
        assert found == pytest.approx(by_hand(ranker.predict(LOW.X)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_outside_of_a_training(library, train):
    make = library.module.eval_metric

    def call(metric, data):
        if library is XGBoost:
            return metric(np.zeros(len(data.y)), data.matrix())
        return metric(data.y, np.zeros(len(data.y)), None, data.sizes)

    with pytest.raises(ValueError, match=rf"{SCALE}.*max_grade="):
        call(make("err"), LOW)
    for metric in ("gap", skrank.metric("err", max_grade=4)):
        call(make(metric), LOW)
    with pytest.raises(ValueError, match="max_grade=2"):
        call(make("err", max_grade=2), train)
    with pytest.raises(ValueError, match="max_grade=0"):
        make("err", max_grade=0)
