"""GroupedRanker.fit with a model whose training continues, and callbacks in a refit."""

from functools import partial

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

import skrank
from skrank import GroupedRanker
from tests.helpers.rankers import STOP, cat, data, lgbm, xgb, y

TEST = data.qid >= 60
TRAIN, VALID = {"X": data.X[~TEST], "y": y[~TEST]}, {"X_val": data.X[TEST], "y_val": y[TEST]}
CAT = partial(cat, loss_function="QueryRMSE")
# estimator with a number of rounds, objective, argument of fit, and number of rounds of a model
BOOSTERS = {
    "lightgbm": (lgbm, None, "init_model", lambda model: model.booster_.current_iteration()),
    "lightgbm gap": (lgbm, "gap", "init_model", lambda model: model.booster_.current_iteration()),
    "xgboost": (xgb, None, "xgb_model", lambda model: model.get_booster().num_boosted_rounds()),
    "xgboost gap": (xgb, "gap", "xgb_model", lambda one: one.get_booster().num_boosted_rounds()),
    "catboost": (CAT, None, "init_model", lambda model: model.tree_count_),
}


@pytest.fixture(params=BOOSTERS, scope="module")
def booster(request):
    make, objective, name, count = BOOSTERS[request.param]
    rounds = "iterations" if request.param == "catboost" else "n_estimators"

    def ranker(n_rounds, **options):
        return GroupedRanker(make(**{rounds: n_rounds}), objective=objective, **options)

    return ranker, name, count, ranker(12).fit(data.X, y)


def test_a_ranker_continues_as_its_estimator_and_as_its_file(booster, tmp_path):
    ranker, name, count, old = booster
    path = str(tmp_path / "model.json")
    model = old.estimator_
    getattr(model, "booster_", model).save_model(path)
    found = [ranker(5).fit(**TRAIN, **{name: one}) for one in (old, model, path)]
    assert [count(one.estimator_) for one in found] == [17] * 3
    assert [one.best_iteration_ for one in found] == [17] * 3
    first, *others = (one.predict(data.X) for one in found)
    assert all(first.tolist() == scores.tolist() for scores in others)
    assert not np.allclose(first, old.predict(data.X))


@pytest.mark.parametrize("refit", [False, True])
def test_the_log_measures_predictions_and_a_refit_adds_the_best_new_rounds(booster, refit):
    ranker, name, count, old = booster
    stopping = ranker(40, eval_metric=["ndcg@5", "gap"], early_stopping_rounds=3, random_state=0)
    if not refit:
        model = stopping.fit(**TRAIN, **VALID, **{name: old})
        value = skrank.metric("ndcg@5")(VALID["y_val"], model.predict(VALID["X_val"]))
        assert max(model.evals_result_["validation"]["ndcg@5"]) == pytest.approx(value, abs=2e-6)
    else:
        stopping.set_params(validation_fraction=0.3, refit=True)
        model = stopping.fit(data.X, y, **{name: old})
        assert count(model.estimator_) == model.best_iteration_
    log = model.evals_result_["validation"]["ndcg@5"]
    assert model.best_iteration_ == 12 + np.argmax(log) + 1
    # a model that stopped early continues after its best round, and does not stay at this round
    again = ranker(4).fit(data.X, y, **{name: model})
    assert again.best_iteration_ == model.best_iteration_ + 4
    assert not np.allclose(again.predict(data.X), model.predict(data.X))


def test_a_model_with_a_start_becomes_the_start(booster):
    ranker, name, count, plain = booster
    started = ranker(12, init="linear").fit(**TRAIN)
    new = ranker(6, init="linear", eval_metric="ndcg@5", early_stopping_rounds=None)
    new.fit(**TRAIN, **VALID, **{name: started})
    assert count(new.estimator_) <= 6
    assert new.init_ is started
    scores = new.predict(VALID["X_val"])
    rounds = new.estimator_.predict(VALID["X_val"]) if new.best_iteration_ else 0
    assert scores == pytest.approx(started.predict(VALID["X_val"]) + rounds, abs=1e-5)
    log = new.evals_result_["validation"]["ndcg@5"]
    last = -1 if new.best_iteration_ else 0
    assert log[last] == pytest.approx(skrank.metric("ndcg@5")(VALID["y_val"], scores), abs=2e-6)
    for model in (started.estimator_, plain):
        with pytest.raises(ValueError, match=rf"init of GroupedRanker and {name}= of fit"):
            clone(new).fit(**TRAIN, **VALID, **{name: model})


def test_any_fitted_ranker_is_a_start_if_it_is_frozen(booster):
    ranker, name, _, old = booster
    linear = skrank.LinearRanker().fit(data.X, y)
    with pytest.raises(ValueError, match=rf"{name}= of fit is LinearRanker.*FrozenEstimator"):
        ranker(5).fit(data.X, y, **{name: linear})
    for one in (linear, old):
        model = ranker(5, init=FrozenEstimator(one), init_scale=None)
        model.fit(**TRAIN, sample_weight=np.ones(len(TRAIN["X"])))
        rounds = model.estimator_.predict(data.X)
        assert model.predict(data.X) == pytest.approx(one.predict(data.X) + rounds, abs=1e-5)


def test_wrong_arguments_are_named(booster):
    ranker, name, _, old = booster
    other = {"init_model": "xgb_model", "xgb_model": "init_model"}[name]
    with pytest.raises(ValueError, match=rf"{other}= of fit.*give it as {name}="):
        ranker(5).fit(data.X, y, **{other: old})
    margin = {"xgb_model": "base_margin"}.get(name, "init_score")
    if isinstance(old.estimator_, (lightgbm.LGBMModel, xgboost.XGBModel)):
        with pytest.raises(ValueError, match=f"{margin}= and {name}= of fit"):
            ranker(5).fit(data.X, y, **{name: old, margin: data.X[:, 0]})


def test_regressors_continue():
    old = GroupedRanker(xgb(xgboost.XGBRegressor, n_estimators=6)).fit(data.X, y)
    stopping = GroupedRanker(xgb(xgboost.XGBRegressor), eval_metric="ndcg@5", **STOP)
    assert clone(stopping).fit(data.X, y, xgb_model=old).best_iteration_ > 6
    with pytest.raises(ValueError, match="xgb_model="):
        stopping.fit(data.X, y, xgb_model=clone(old).set_params(init="linear").fit(data.X, y))


# callbacks ----------------------------------------------------------------------------------------


class CountRounds(xgboost.callback.TrainingCallback):
    def __init__(self):
        self.n_rounds = 0

    def after_iteration(self, model, epoch, evals_log):
        assert "validation" in evals_log or "validation_0" in evals_log
        self.n_rounds += 1
        return False

    def __deepcopy__(self, memo):  # as a callback with a handle that cannot be copied
        return CountRounds()


@pytest.mark.parametrize("objective", [None, "gap"])
def test_callbacks_run_in_the_search_and_schedules_in_the_refit_too(objective):
    options = {"objective": objective, "eval_metric": "gap", "refit": True, **STOP}
    rates = (0.3 * 0.9 ** np.arange(25)).tolist()
    curve = {}
    record, schedule = lightgbm.record_evaluation(curve), lightgbm.reset_parameter
    model = GroupedRanker(lgbm(), **options)
    model.fit(data.X, y, callbacks=[record, schedule(learning_rate=rates)])
    assert curve["validation"]["gap"] == model.evals_result_["validation"]["gap"]
    by_hand = GroupedRanker(lgbm(n_estimators=model.best_iteration_), objective=objective)
    by_hand.fit(data.X, y, callbacks=[schedule(learning_rate=rates[: model.best_iteration_])])
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()

    count, falling = CountRounds(), xgboost.callback.LearningRateScheduler(rates)
    model = GroupedRanker(xgb(callbacks=[count, falling]), **options).fit(data.X, y)
    assert count.n_rounds == len(model.evals_result_["validation"]["gap"])
    by_hand = xgb(n_estimators=model.best_iteration_, callbacks=[falling])
    by_hand = GroupedRanker(by_hand, objective=objective).fit(data.X, y)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()


def test_callbacks_of_catboost_run_in_the_search():
    class Watch:
        def after_iteration(self, info):
            seen.append(info.metrics["validation"])
            return True

    seen = []
    model = GroupedRanker(cat(), refit=True, **STOP).fit(data.X, y, callbacks=[Watch()])
    assert 0 < model.best_iteration_ <= len(seen)
