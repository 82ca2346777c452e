"""The installed libraries have the local names that skrank/_callers.py reads.

A failure here means that a new version has changed them: add its names there.
"""

import lightgbm
import numpy as np
import pytest
import sklearn
import xgboost
from optuna_integration.lightgbm import LightGBMTuner, LightGBMTunerCV
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)

from skrank._callers import lightgbm_training, splitting_tools, xgboost_training

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 3
SIZES = [4] * 10
CV = GroupKFold(5)
FOLDS = list(CV.split(X, Y, np.repeat(np.arange(10), SIZES)))
SEEN = []


class Probe(RegressorMixin, BaseEstimator):
    """Notes what is found while it is fitted."""

    def __init__(self, alpha=1):
        self.alpha = alpha

    def fit(self, X, y):
        SEEN.extend(dict(variables) for variables in splitting_tools())
        self.coef_ = np.arange(float(X.shape[1]))
        return self

    def predict(self, X):
        return X[:, 0]


TOOLS = {
    "cross_validate": lambda: cross_validate(Probe(), X, Y, cv=FOLDS),
    "cross_val_predict": lambda: cross_val_predict(Probe(), X, Y, cv=FOLDS),
    "learning_curve": lambda: learning_curve(Probe(), X, Y, cv=FOLDS, train_sizes=[1.0]),
    "validation_curve": lambda: validation_curve(
        Probe(), X, Y, cv=FOLDS, param_name="alpha", param_range=[1]
    ),
    "permutation_test_score": lambda: permutation_test_score(
        Probe(), X, Y, cv=FOLDS, n_permutations=1
    ),
    "GridSearchCV": lambda: GridSearchCV(Probe(), {"alpha": [1]}, cv=FOLDS, refit=False).fit(X, Y),
    "SequentialFeatureSelector": lambda: SequentialFeatureSelector(
        Probe(), cv=FOLDS, n_features_to_select=1
    ).fit(X, Y),
    "RFECV": lambda: RFECV(Probe(), cv=FOLDS).fit(X, Y),
}


@pytest.mark.parametrize("name", TOOLS)
def test_scikit_learn_splits_rows_where_it_is_looked_for(name):
    SEEN.clear()
    TOOLS[name]()
    found = {
        (tuple(one["train"]), tuple(one["test"])) for one in SEEN if len(one["X"]) == len(one["y"])
    }
    expected = {(tuple(train), tuple(test)) for train, test in FOLDS}
    assert expected <= found, (
        f"{name} of scikit-learn {sklearn.__version__} has no variables X, y, train and test"
    )


def test_nothing_is_found_where_a_user_calls():
    assert list(splitting_tools()) == []
    assert lightgbm_training() is None
    assert xgboost_training() is None


QUIET = {"verbosity": -1, "min_data_in_leaf": 1}


def lightgbm_data():
    return lightgbm.Dataset(X, Y, group=SIZES, params=QUIET)


def test_lightgbm_asks_through_its_booster():
    asked = []

    def note(kind):
        training = lightgbm_training()
        assert training is not None, f"LightGBM {lightgbm.__version__} asks from elsewhere"
        assert isinstance(training.booster, lightgbm.Booster)
        assert training.tuner is None
        assert callback in training.argument("callbacks")
        assert metric in [getattr(one, "func", one) for one in training.argument("feval")]
        asked.append(kind)

    def objective(scores, data):
        note("objective")
        return scores - Y, np.ones(len(scores))

    def metric(scores, data):
        note("metric")
        return "one", 0.0, True

    def callback(env):
        pass

    data = lightgbm_data()
    lightgbm.train(
        {"objective": objective, "metric": "None"} | QUIET,
        data, 2, [data, lightgbm.Dataset(X, Y, group=SIZES, reference=data)],
        feval=metric, callbacks=[callback],
    )  # fmt: skip
    assert asked == ["objective", "metric", "metric"] * 2


@pytest.mark.parametrize("cross_validates", [False, True])
def test_xgboost_asks_from_its_container_of_callbacks(cross_validates):
    found = []

    def metric(scores, data):
        found.append(xgboost_training())
        return "one", 0.5

    data = xgboost.DMatrix(X, Y)
    stop = xgboost.callback.EarlyStopping(rounds=5, metric_name="one", maximize=True)
    if cross_validates:
        xgboost.cv({}, data, 2, custom_metric=metric, callbacks=[stop])
    else:
        xgboost.train(
            {}, data, 2, evals=[(data, "train")], custom_metric=metric, callbacks=[stop],
            verbose_eval=False,
        )  # fmt: skip
    assert found
    for training in found:
        assert training is not None, f"XGBoost {xgboost.__version__} asks from elsewhere"
        assert stop in training.callbacks
        assert training.data is data
    assert (stop.metric_name, stop.maximize) == ("one", True)


@pytest.mark.parametrize("tool", [LightGBMTuner, LightGBMTunerCV])
def test_optuna_tunes_from_an_object_that_knows_the_direction(tool):
    found = []

    def metric(scores, data):
        found.append(lightgbm_training().tuner)
        return "one", 0.5, True

    data = lightgbm_data()
    rest = {"valid_sets": [data]} if tool is LightGBMTuner else {"folds": FOLDS}
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [3]} | QUIET
    tuner = tool(params, data, num_boost_round=1, feval=metric, show_progress_bar=False, **rest)
    tuner.tune_feature_fraction(1)
    assert found
    for one in found:
        assert one is not None, "Optuna trains from elsewhere"
        assert one.higher_is_better() is True
        assert one.lgbm_params["metric"] == "ndcg"
