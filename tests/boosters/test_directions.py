"""Early stopping and tuners maximise or minimise metrics of skrank as `greater_is_better` says."""

import lightgbm as lgb
import numpy as np
import optuna
import pytest
import xgboost as xgb
from optuna_integration.lightgbm import LightGBMTuner

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking

DATA = make_ranking(60, n_docs=(5, 20), random_state=0)
TRAIN, VALID = DATA.qid < 40, DATA.qid >= 40
SILENT = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 3}
QUIET = {"verbosity": -1, "num_threads": 1}


def matrix(rows):
    return xgb.DMatrix(DATA.X[rows], DATA.relevance[rows], qid=DATA.qid[rows])


def train(metrics, rounds=30, **arguments):
    return xgb.train(
        SILENT | arguments.pop("params", {}), matrix(TRAIN), rounds,
        evals=[(matrix(VALID), "valid")], obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric(*metrics), verbose_eval=False, **arguments,
    )  # fmt: skip


# XGBoost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "stop"),
    [
        (["gap@10"], {"early_stopping_rounds": 3, "maximize": True}),
        (["gap@10", "ndcg@5"], {"early_stopping_rounds": 3}),  # XGBoost maximises ndcg
        (["gap@10", "precision@5"], {"early_stopping_rounds": 3}),
        (["gap@10", "error@5"], {"early_stopping_rounds": 3}),  # lower is better
    ],
)
def test_early_stopping_of_xgboost_in_the_right_direction_works(metrics, stop):
    booster = train(metrics, **stop)
    model = booster[: booster.best_iteration + 1]
    value = skrank.metric(metrics[-1])(
        DATA.relevance[VALID], model.predict(matrix(VALID)), groups=DATA.qid[VALID]
    )
    assert booster.best_score == pytest.approx(value, abs=1e-5)
    assert booster.best_iteration > 0


def test_metrics_of_others_are_not_looked_at():
    assert train(["gap"], early_stopping_rounds=None).num_boosted_rounds() == 30
    own = xgb.callback.EarlyStopping(rounds=3, metric_name="rmse")
    booster = train(
        ["gap"], params={"disable_default_eval_metric": 0, "eval_metric": "rmse"}, callbacks=[own]
    )
    assert booster.num_boosted_rounds() == booster.best_iteration + 4  # stopped by XGBoost's rmse


@pytest.mark.parametrize(
    ("stop", "evaluated"), [("gap@10", "gap(max_grade=4)@10"), ("gap(max_grade=4)@10", "gap@10")]
)
def test_stopping_on_a_metric_that_nobody_evaluates_names_those_that_there_are(stop, evaluated):
    callback = skrank.xgboost.early_stopping(stop, rounds=3)
    with pytest.raises(ValueError, match=r"not an evaluated metric: gap.*, ndcg@5\. Pass"):
        train([evaluated, "ndcg@5"], callbacks=[callback])


def test_dart_cannot_stop_early():
    dart = {"booster": "dart"}
    stop = skrank.xgboost.early_stopping("gap", rounds=3)
    with pytest.raises(ValueError, match="XGBoost with dart cannot stop early"):
        train(["gap"], params=dart, callbacks=[stop])
    options = {"objective": "gap", "folds": 2, "early_stopping_rounds": 3}
    with pytest.raises(ValueError, match="XGBoost with dart cannot stop early"):
        skrank.xgboost.cv(SILENT | dart, matrix(TRAIN), **options)
    train(["gap"], rounds=3, params=dart)


# Optuna -------------------------------------------------------------------------------------------


def dataset(rows=TRAIN):
    sizes = np.unique(DATA.qid[rows], return_counts=True)[1]
    return lgb.Dataset(DATA.X[rows], DATA.relevance[rows], group=sizes, params=QUIET)


def test_the_tuner_of_optuna_minimises():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    params = {"objective": skrank.lightgbm.objective("gap"), "metric": "error@5"} | QUIET
    tuner = LightGBMTuner(
        params, dataset(), num_boost_round=3, show_progress_bar=False, valid_sets=[dataset(VALID)],
        feval=skrank.lightgbm.eval_metric("gap@10", "error@5"),
    )  # fmt: skip
    tuner.tune_feature_fraction(2)
    assert 0 < tuner.best_score < 1
    assert tuner.best_score == min(trial.value for trial in tuner.study.trials)
