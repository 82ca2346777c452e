"""Early stopping of GroupedRanker, on whole queries."""

from types import SimpleNamespace
from unittest import mock

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import GroupedRanker, LinearRanker
from skrank.metrics import GAP
from skrank.scoring import scorer
from tests.helpers.rankers import RANKERS, STOP, First, cat, data, hist, lgbm, routing, xgb, y

CAT = cat(iterations=40, depth=3, learning_rate=0.4)
QUIET = {
    "depth": 3,
    "thread_count": 1,
    "random_seed": 0,
    "verbose": False,
    "allow_writing_files": False,
}
LGBM_REGRESSOR = lgbm(lightgbm.LGBMRegressor)
TRAIN = [one[data.qid < 60] for one in (data.X, data.relevance, data.qid)]
ROWS = np.random.default_rng(0).permutation(np.flatnonzero(data.qid >= 60))
VALIDATION = {"X_val": data.X[ROWS], "y_val": data.relevance[ROWS], "groups_val": data.qid[ROWS]}


@pytest.mark.parametrize(
    ("estimator", "objective"),
    [
        (lgbm(n_estimators=200), None),
        (lgbm(n_estimators=200), "gap"),
        (xgb(n_estimators=200), None),
        (xgb(n_estimators=200), "gap"),
        (CAT, None),
        (cat(catboost.CatBoostRegressor, iterations=200, learning_rate=0.4), None),
        (xgb(tree_method="exact"), "ndcg"),
    ],
    ids=str,
)
@pytest.mark.parametrize("metrics", [("gap@10", "error@5"), ("error@5", "gap@10")])
def test_training_stops_on_the_first_metric_in_its_direction(estimator, objective, metrics):
    model = GroupedRanker(estimator, objective=objective, eval_metric=metrics, **STOP)
    log = model.fit(data.X, y).evals_result_["validation"]
    assert list(log) == list(metrics)
    best = np.argmax if metrics[0] == "gap@10" else np.argmin
    assert model.best_iteration_ == best(log[metrics[0]]) + 1
    n_rounds = len(log[metrics[0]])
    assert n_rounds == model.best_iteration_ + 5 or n_rounds == 25


def test_whole_queries_are_held_out_whatever_the_order_of_rows():
    fit = lightgbm.LGBMRanker.fit

    def held_out(rows=slice(None), seed=0):
        ranker = clone(RANKERS["lightgbm-gap"]).set_params(random_state=seed)
        with mock.patch.object(
            lightgbm.LGBMRanker, "fit", autospec=True, side_effect=fit
        ) as called:
            ranker.fit(data.X[rows], y.iloc[rows])
        trained = {row.tobytes() for row in np.ascontiguousarray(called.call_args.args[1])}
        used = np.array([row.tobytes() in trained for row in data.X])
        assert not set(data.qid[used]) & set(data.qid[~used])
        return set(data.qid[~used].tolist())

    assert len(held_out()) == 20
    assert held_out(np.random.default_rng(0).permutation(len(y))) == held_out()
    assert held_out(seed=1) != held_out()


@pytest.mark.parametrize(
    "estimator",
    [
        lgbm(), xgb(), LGBM_REGRESSOR, hist(), CAT,
        cat(loss_function="QueryRMSE", boosting_type="Ordered"), cat(catboost.CatBoostRegressor),
    ],
    ids=str,
)  # fmt: skip
def test_logged_values_equal_the_metric(estimator):
    ranker = GroupedRanker(estimator, eval_metric=["err@5", "gap"], early_stopping_rounds=10)
    log = ranker.fit(*TRAIN, **VALIDATION).evals_result_["validation"]
    X, labels, groups = VALIDATION.values()
    expected = scorer("err@5", "gap")(ranker, X, labels, groups=groups)
    error = 1e-12 if type(estimator).__module__.startswith("catboost") else 1e-5
    for name in ("err@5", "gap"):
        assert log[name][ranker.best_iteration_ - 1] == pytest.approx(expected[name], abs=error)


@pytest.mark.parametrize("estimator", [hist(), CAT, cat(metric_period=3)], ids=str)
def test_training_rows_with_equal_labels_are_not_used_for_validation(estimator):
    X_val = data.X + np.random.default_rng(0).normal(size=data.X.shape)
    stopping = GroupedRanker(estimator, eval_metric="gap@10", early_stopping_rounds=4)
    ranker = stopping.fit(data.X, y, X_val=X_val, y_val=y)
    values, rounds = ranker.evals_result_["validation"]["gap@10"], ranker.best_iteration_
    staged = ranker.estimator_.staged_predict(X_val)
    expected = [GAP(k=10, max_grade=4)(y, scores) for scores in staged]
    np.testing.assert_allclose(values[:rounds], expected[:rounds], rtol=1e-12)
    assert np.argmax(values) + 1 == rounds


@pytest.mark.parametrize("estimator", [lgbm(), xgb(), cat()], ids=lambda x: type(x).__name__)
def test_weights_of_held_out_queries_weigh_the_metric(estimator):
    """Rounds hardly change the start scores, since their steps are tiny."""
    tiny = clone(estimator).set_params(learning_rate=1e-5)
    start = FrozenEstimator(First().fit(data.X, y))
    weight = np.where(data.qid % 2 == 0, 1.0, 3.0)
    values = []
    for weights in (None, weight):
        ranker = GroupedRanker(tiny, eval_metric="gap", init=start, init_scale=None, **STOP)
        ranker.fit(data.X, y, sample_weight=weights)
        assert np.ptp(ranker.predict(data.X) - data.X[:, 0]) < 0.01
        values.append(ranker.evals_result_["validation"]["gap"][0])
    assert abs(values[0] - values[1]) > 2e-3


@pytest.mark.parametrize(
    ("estimator", "power"), [(LGBM_REGRESSOR, 1), (xgb(xgboost.XGBRegressor), 2)], ids=str
)
def test_validation_labels_of_a_regressor_may_be_negative(estimator, power):
    X, labels, _ = TRAIN
    below = VALIDATION | {"y_val": VALIDATION["y_val"] - 2.0}
    del below["groups_val"]
    model = GroupedRanker(estimator, early_stopping_rounds=None).fit(X, labels - 2.0, **below)
    (values,) = model.evals_result_["validation"].values()
    errors = model.predict(below["X_val"]) - below["y_val"]
    assert values[-1] ** power == pytest.approx(np.mean(errors**2))
    with pytest.raises(ValueError, match="labels"):
        model.set_params(eval_metric="gap").fit(X, labels, **VALIDATION | below)


def test_external_validation_needs_its_groups():
    test = data.qid >= 60
    ranker = GroupedRanker(lgbm(), eval_metric="gap")
    given = {"X_val": data.X[test], "y_val": data.relevance[test]}
    with pytest.raises(ValueError, match="groups_val"):
        ranker.fit(*TRAIN, **given)
    logged = ranker.fit(*TRAIN, **given, groups_val=data.qid[test]).evals_result_
    assert ranker.fit(*TRAIN, **given | {"y_val": y[test]}).evals_result_ == logged
    with pytest.raises(ValueError, match=r"7 features.* 8"):
        ranker.fit(*TRAIN, **VALIDATION | {"X_val": VALIDATION["X_val"][:, 1:]})
    with pytest.raises(ValueError, match="one of the two"):
        clone(ranker).set_params(validation_fraction=0.2).fit(*TRAIN, **VALIDATION)


def test_external_validation_is_routed_through_a_pipeline():
    X, labels, groups = TRAIN
    ranker = GroupedRanker(lgbm(n_estimators=200), objective="gap", early_stopping_rounds=5)
    with routing():
        ranker.set_fit_request(X_val=True, y_val=True, groups_val=True)
        pipe = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        pipe.fit(X, labels, groups=groups, **VALIDATION)
    assert pipe["rank"].best_iteration_ < 200


@pytest.mark.parametrize(
    "ranker",
    [*map(GroupedRanker, (lgbm(), xgb(), cat(), hist())), LinearRanker()],
    ids=lambda ranker: type(getattr(ranker, "estimator", ranker)).__name__,
)
def test_validation_without_a_value_of_the_metric_raises(ranker):
    ranker = clone(ranker).set_params(eval_metric="gap")
    with pytest.raises(ValueError, match="validation query"):
        ranker.fit(*TRAIN, **VALIDATION | {"y_val": 0 * VALIDATION["y_val"]})
    strict = clone(ranker).set_params(eval_metric=skrank.metric("gap", empty="nan"))
    first = VALIDATION["groups_val"] == VALIDATION["groups_val"][0]
    with pytest.raises(ValueError, match="validation query"):
        strict.fit(*TRAIN, **VALIDATION | {"y_val": np.where(first, 0, VALIDATION["y_val"])})
    odd = data.qid % 2 == 1
    weight = (odd | (data.qid == 0)).astype(float)  # relevant documents of one query count
    with pytest.raises(ValueError, match="validation query"):
        ranker.set_params(validation_fraction=0.2, random_state=0).fit(
            data.X, np.where(odd, 0, data.relevance), data.qid, sample_weight=weight
        )


@pytest.mark.parametrize("names", [["eval_metric"], ["early_stopping_rounds"]])
def test_early_stopping_without_validation_warns(names):
    given = {"eval_metric": "gap", "early_stopping_rounds": 50}  # also the value of "auto"
    stopping = GroupedRanker(lgbm(), **{name: given[name] for name in names})
    with pytest.warns(UserWarning, match=f"^{names[0]}"):
        assert stopping.fit(data.X, y).best_iteration_ == 25
    with pytest.warns(UserWarning, match=f"^{names[0]} of LinearRanker"):
        LinearRanker(**{name: given[name] for name in names}).fit(data.X, y)


@pytest.mark.parametrize(
    ("estimator", "changing", "init"),
    [
        (lgbm(), None, None),
        (lgbm(boosting="DART"), "dart", "linear"),
        (xgb(booster="dart"), "dart", None),
        (xgb(booster="gblinear", max_depth=None), "gblinear", "linear"),
        (cat(iterations=25, learning_rate=1), None, None),
        (cat(iterations=25, learning_rate=1), None, "linear"),
        (hist(), None, None),
    ],
    ids=str,
)
def test_all_rounds_are_used_without_early_stopping(estimator, changing, init):
    ranker = GroupedRanker(estimator, eval_metric="gap", init=init, **STOP)
    if changing:
        with pytest.raises(ValueError, match=changing):
            ranker.fit(data.X, y)
    model = ranker.set_params(early_stopping_rounds=None).fit(data.X, y)
    assert model.best_iteration_ == 25
    assert len(model.evals_result_["validation"]["gap"]) == 25 + (init is not None)


def test_the_usual_number_of_rounds_is_50():
    usual = GroupedRanker(lgbm(n_estimators=200), validation_fraction=0.25, random_state=0)
    assert clone(usual).get_params()["early_stopping_rounds"] == "auto"
    values = usual.fit(data.X, y).evals_result_["validation"]["ndcg@10"]
    assert len(values) == usual.best_iteration_ + 50


@pytest.mark.parametrize(
    ("estimator", "objective", "name"),
    [
        (lgbm(), None, "ndcg@10"),
        (lgbm(metric="None"), None, "ndcg@10"),
        (xgb(eval_metric="ndcg@3"), None, "ndcg@3"),
        (lgbm(metric="map"), None, "map@1"),
        (lgbm(), "err@5", "err@5"),
        (xgboost.XGBRegressor(n_estimators=40, learning_rate=1, n_jobs=1), None, "rmse"),
        (xgb(eval_metric="ndcg@1"), skrank.SquaredError(), "ndcg@1"),
    ],
    ids=str,
)
def test_the_default_metric_of_early_stopping(estimator, objective, name):
    """That of the objective, else that of the estimator, else nDCG@10."""
    ranker = GroupedRanker(estimator, objective=objective, **STOP).fit(data.X, y)
    log = ranker.evals_result_["validation"]
    values = next(values for logged, values in log.items() if logged.startswith(name))
    best = np.argmin if name == "rmse" else np.argmax
    assert ranker.best_iteration_ == best(values) + 1
    assert len(values) <= ranker.best_iteration_ + 5


@pytest.mark.parametrize(
    ("ranker", "rounds"),
    [
        (RANKERS["lightgbm-gap"], "n_estimators"),
        (RANKERS["xgboost-gap"], "n_estimators"),
        (RANKERS["catboost"], "iterations"),
        (RANKERS["hist-gap"], "max_iter"),
        (GroupedRanker(lgbm(num_iterations=40), **STOP), "num_iterations"),
        (GroupedRanker(catboost.CatBoostRanker(num_trees=20, **QUIET), **STOP), "num_trees"),
        (
            GroupedRanker(catboost.CatBoostRegressor(n_estimators=300, eta=0.8, **QUIET), **STOP),
            "n_estimators",
        ),
    ],
    ids=str,
)
def test_refit_uses_all_queries_for_the_best_number_of_rounds(ranker, rounds):
    stopped = clone(ranker).fit(data.X, y)
    refitted = clone(ranker).set_params(options={"refit": True}).fit(data.X, y)
    assert refitted.evals_result_ == stopped.evals_result_
    assert refitted.best_iteration_ == stopped.best_iteration_
    by_hand = clone(ranker).set_params(
        validation_fraction=None, eval_metric=None, early_stopping_rounds=None,
        **{f"estimator__{rounds}": stopped.best_iteration_},
    )  # fmt: skip
    expected = by_hand.fit(data.X, y).predict(data.X)
    assert refitted.predict(data.X) == pytest.approx(expected)


@pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])
@pytest.mark.parametrize("objective", [None, "gap"])
@pytest.mark.parametrize("metric", [None, "gap@10"])
def test_a_booster_saved_after_early_stopping_predicts_with_its_best_rounds(
    make, objective, metric, tmp_path
):
    options = {"objective": objective, "eval_metric": metric, **STOP}
    ranker = GroupedRanker(make(n_estimators=100), **options).fit(data.X, y)
    rounds = len(next(iter(ranker.evals_result_["validation"].values())))
    assert ranker.best_iteration_ < rounds  # it has stopped
    path = str(tmp_path / "model.json")
    if make is xgb:
        inner = ranker.estimator_.get_booster()
        assert inner.num_boosted_rounds() == ranker.best_iteration_ == inner.best_iteration + 1
        inner.save_model(path)
        found = xgboost.Booster(model_file=path).predict(xgboost.DMatrix(data.X))
    else:
        ranker.estimator_.booster_.save_model(path)
        found = lightgbm.Booster(model_file=path).predict(data.X)
    assert found.tolist() == ranker.predict(data.X).tolist()


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
def test_callbacks_see_all_rounds_and_are_not_run_again(objective):
    options = {"objective": objective, "eval_metric": "gap", **STOP}
    curve, count = {}, CountRounds()
    model = GroupedRanker(lgbm(), **options)
    model.fit(data.X, y, callbacks=[lightgbm.record_evaluation(curve)])
    assert curve["validation"]["gap"] == model.evals_result_["validation"]["gap"]
    model = GroupedRanker(xgb(callbacks=[count]), **options).fit(data.X, y)
    assert count.n_rounds == len(model.evals_result_["validation"]["gap"])
    stop = xgboost.callback.EarlyStopping(rounds=2)
    model.set_params(estimator=xgb(booster="gblinear", max_depth=None, callbacks=[stop]))
    model.set_params(early_stopping_rounds=None).fit(data.X, y)
    assert model.best_iteration_ == model.estimator_.get_booster().num_boosted_rounds()
    with pytest.raises(ValueError, match="callbacks"):
        model.set_params(options={"refit": True}).fit(data.X, y)
    seen = []
    watch = SimpleNamespace(after_iteration=lambda info: seen.append(info.iteration) or True)
    model = GroupedRanker(cat(), eval_metric="gap", **STOP).fit(data.X, y, callbacks=[watch])
    assert len(seen) == len(model.evals_result_["validation"]["gap"])


@pytest.mark.parametrize("estimator", [lgbm(), xgb(), cat()], ids=lambda x: type(x).__name__)
def test_a_bar_counts_rounds(estimator, capsys):
    GroupedRanker(estimator, progress=True).fit(data.X, y)
    rounds = {"CatBoostRanker": 20}.get(type(estimator).__name__, 25)
    assert f"{rounds:.1f}/{rounds:.1f} [" in capsys.readouterr().err
    LinearRanker(progress=True).fit(data.X, y)
    assert "steps/s]" in capsys.readouterr().err
