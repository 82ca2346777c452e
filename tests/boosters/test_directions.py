"""Early stopping and tuners maximise or minimise metrics of skrank as `greater_is_better` says."""

import optuna
import pytest
import xgboost as xgb
from optuna_integration.lightgbm import LightGBMTuner

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.boosters import XGB

QUIET = {"verbosity": -1, "num_threads": 1}


def boosted(train, valid, metrics, rounds=30, **how):
    """A booster of XGBoost on GAP."""
    objective, metric = (skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric(*metrics))
    return xgb.train(
        XGB | how.pop("params", {}), train.matrix(), rounds, evals=[(valid.matrix(), "valid")],
        obj=objective, custom_metric=metric, verbose_eval=False, **how,
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
def test_early_stopping_of_xgboost_in_the_right_direction_works(train, valid, metrics, stop):
    booster = boosted(train, valid, metrics, **stop)
    scores = booster[: booster.best_iteration + 1].predict(valid.matrix())
    assert booster.best_score == pytest.approx(valid.score(metrics[-1], scores), abs=1e-5)
    assert booster.best_iteration > 0


@pytest.mark.parametrize(
    ("stop", "evaluated"), [("gap@10", "gap(max_grade=4)@10"), ("gap(max_grade=4)@10", "gap@10")]
)
def test_stopping_on_a_metric_that_is_not_evaluated_names_the_others(train, valid, stop, evaluated):
    callback = skrank.xgboost.early_stopping(stop, rounds=3)
    with pytest.raises(ValueError, match=r"not an evaluated metric: gap.*, ndcg@5\. Pass"):
        boosted(train, valid, [evaluated, "ndcg@5"], callbacks=[callback])


def test_dart_cannot_stop_early(train, valid):
    dart = {"booster": "dart"}
    stop = skrank.xgboost.early_stopping("gap", rounds=3)
    with pytest.raises(ValueError, match="XGBoost with dart cannot stop early"):
        boosted(train, valid, ["gap"], params=dart, callbacks=[stop])
    options = {"objective": "gap", "folds": 2, "early_stopping_rounds": 3}
    with pytest.raises(ValueError, match="XGBoost with dart cannot stop early"):
        skrank.xgboost.cv(XGB | dart, train.matrix(), **options)
    boosted(train, valid, ["gap"], rounds=3, params=dart)


# Optuna -------------------------------------------------------------------------------------------


def test_the_tuner_of_optuna_minimises(train, valid):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    params = {"objective": skrank.lightgbm.objective("gap"), "metric": "error@5"} | QUIET
    tuner = LightGBMTuner(
        params, train.dataset(), num_boost_round=3, show_progress_bar=False,
        valid_sets=[valid.dataset()], feval=skrank.lightgbm.eval_metric("gap@10", "error@5"),
    )  # fmt: skip
    tuner.tune_feature_fraction(2)
    assert 0 < tuner.best_score < 1
    assert tuner.best_score == min(trial.value for trial in tuner.study.trials)
