"""Eval metrics of boosters use the highest grade of the training set."""

from contextlib import nullcontext

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking

MADE = make_ranking(60, n_docs=(5, 20), random_state=0)
TRAIN, VALID = MADE.qid < 40, MADE.qid >= 40
RELEVANCE = np.where(TRAIN, MADE.relevance, np.minimum(MADE.relevance, 2))
SIZES = {
    True: np.unique(MADE.qid[TRAIN], return_counts=True)[1],
    False: np.unique(MADE.qid[VALID], return_counts=True)[1],
}
QUIET = {"verbosity": -1, "num_threads": 1, "metric": "None"}
SILENT = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 3}
METRICS = ["err", "rbp", "gap"]
FIXED = [skrank.metric(name, max_grade=4) for name in ("err", "rbp", "gap")]


def expected(scores):
    """Values on the validation part with the highest grade of the training part."""
    given = RELEVANCE[VALID], scores
    return [one(*given, groups=MADE.qid[VALID]) for one in FIXED]


def test_the_parts_differ():
    assert RELEVANCE[TRAIN].max() == 4
    assert RELEVANCE[VALID].max() == 2


def test_lightgbm_train():
    train = lgb.Dataset(MADE.X[TRAIN], RELEVANCE[TRAIN], group=SIZES[True])
    valid = lgb.Dataset(MADE.X[VALID], RELEVANCE[VALID], group=SIZES[False])
    log = {}
    booster = lgb.train(
        QUIET | {"objective": skrank.lightgbm.objective("gap")}, train, 5, [valid], ["valid"],
        feval=skrank.lightgbm.eval_metric(*METRICS), callbacks=[lgb.record_evaluation(log)],
    )  # fmt: skip
    found = [log["valid"][name][-1] for name in METRICS]
    assert found == pytest.approx(expected(booster.predict(MADE.X[VALID])))


@pytest.mark.parametrize("max_grade", [4, None])
def test_lgbm_ranker(max_grade):
    """LightGBM passes the labels of the validation part only."""
    metric = skrank.lightgbm.eval_metric(*METRICS, max_grade=max_grade)
    ranker = lgb.LGBMRanker(
        objective=skrank.lightgbm.objective("gap"), n_estimators=5, verbosity=-1, metric="None"
    )
    with nullcontext() if max_grade else pytest.raises(ValueError, match="err depends on the"):
        ranker.fit(
            MADE.X[TRAIN], RELEVANCE[TRAIN], group=SIZES[True],
            eval_X=(MADE.X[VALID],), eval_y=(RELEVANCE[VALID],), eval_group=[SIZES[False]],
            eval_metric=metric,
        )  # fmt: skip
    if max_grade is None:
        return
    found = [ranker.evals_result_["valid_0"][name][-1] for name in METRICS]
    assert found == pytest.approx(expected(ranker.predict(MADE.X[VALID])))


def matrix(rows):
    return xgb.DMatrix(MADE.X[rows], RELEVANCE[rows], qid=MADE.qid[rows])


def test_xgboost_train():
    """XGBoost passes the data of the validation part only."""

    def train(metric):
        log = {}
        booster = xgb.train(
            SILENT, matrix(TRAIN), 5, evals=[(matrix(VALID), "valid")], evals_result=log,
            obj=skrank.xgboost.objective("gap"), custom_metric=metric, verbose_eval=False,
        )  # fmt: skip
        return log, booster

    log, booster = train(skrank.xgboost.eval_metric(*METRICS, max_grade=4))
    found = [log["valid"][name][-1] for name in METRICS]
    assert found == pytest.approx(expected(booster.predict(matrix(VALID))), abs=1e-6)
    with pytest.raises(ValueError, match="err depends on the highest grade"):
        train(skrank.xgboost.eval_metric(*METRICS))


def test_outside_of_a_training_a_metric_that_depends_on_the_scale_raises():
    scores = np.zeros(VALID.sum())
    with pytest.raises(ValueError, match=r"err depends on the highest grade.*max_grade="):
        skrank.xgboost.eval_metric("err")(scores, matrix(VALID))
    with pytest.raises(ValueError, match=r"err depends on the highest grade.*max_grade="):
        skrank.lightgbm.eval_metric("err")(RELEVANCE[VALID], scores, None, SIZES[False])
    for metric in ("gap", skrank.metric("err", max_grade=4)):
        skrank.xgboost.eval_metric(metric)(scores, matrix(VALID))
        skrank.lightgbm.eval_metric(metric)(RELEVANCE[VALID], scores, None, SIZES[False])


def test_labels_above_the_given_grade_are_refused():
    scores, labels = np.zeros(VALID.sum()), MADE.relevance[VALID]
    data = xgb.DMatrix(MADE.X[VALID], labels, qid=MADE.qid[VALID])
    with pytest.raises(ValueError, match=r"above max_grade=2 of err: give the highest grade"):
        skrank.xgboost.eval_metric("err", max_grade=2)(scores, data)
    with pytest.raises(ValueError, match=r"above max_grade=2 of err: give the highest grade"):
        skrank.lightgbm.eval_metric("err", max_grade=2)(labels, scores, None, SIZES[False])
    for adapter in (skrank.lightgbm, skrank.xgboost):
        with pytest.raises(ValueError, match="max_grade=0"):
            adapter.eval_metric("err", max_grade=0)
