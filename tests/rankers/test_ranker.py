"""GroupedRanker: one estimator for all that rank, in every tool of scikit-learn."""

import copy
import functools
import pickle
import sys
import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import xgboost
from joblib import parallel_config
from scipy.sparse import coo_matrix, csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    validation_curve,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank import GroupedRanker
from skrank.datasets import make_ranking
from skrank.metrics import gap_score
from skrank.model_selection import QueryKFold
from skrank.scoring import scorer

MODES = ("carried", "routed")
CV = QueryKFold(3, stratify="n_relevant")


def lgbm(**parameters):
    defaults = {"n_estimators": 25, "num_leaves": 7, "verbosity": -1, "n_jobs": 1}
    return lightgbm.LGBMRanker(**defaults | parameters)


def xgb(**parameters):
    return xgboost.XGBRanker(**{"n_estimators": 25, "max_depth": 3, "n_jobs": 1} | parameters)


def cat(cls=catboost.CatBoostRanker, **parameters):
    defaults = {"iterations": 20, "verbose": False, "allow_writing_files": False}
    return cls(**defaults | {"thread_count": 1, "random_seed": 0} | parameters)


def hist(**parameters):
    return HistGradientBoostingRegressor(**{"max_iter": 25} | parameters)


STOP = {"validation_fraction": 0.25, "early_stopping_rounds": 5, "random_state": 0}
SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))
HIST_VALIDATES = SKLEARN >= (1, 7)  # it takes X_val from then on
RANKERS = {
    "lightgbm": GroupedRanker(lgbm()),
    "lightgbm-gap": GroupedRanker(lgbm(), objective="gap", eval_metric="gap@10", **STOP),
    "xgboost": GroupedRanker(xgb()),
    "xgboost-gap": GroupedRanker(xgb(), objective="gap", eval_metric="gap@10", **STOP),
    "catboost": GroupedRanker(cat(), **STOP),
    "hist-gap": GroupedRanker(hist(), eval_metric="gap@10", **STOP),
    "ridge": GroupedRanker(Ridge()),
    "pipeline": make_pipeline(StandardScaler(), GroupedRanker(lgbm(), objective="ndcg")),
}
STOPPING_HISTS = [hist()] if HIST_VALIDATES else []
if not HIST_VALIDATES:
    RANKERS["hist-gap"] = GroupedRanker(hist(), max_queries=60, random_state=0)
every_ranker = pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
every_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=80, n_docs=(5, 25), n_features=8, random_state=0)


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


def validate(ranker, data, mode, scoring, rows=slice(None), **parameters):
    """`cross_validate` in either mode."""
    X, relevance, qid = data.X[rows], data.relevance[rows], data.qid[rows]
    if mode == "carried":
        y = skrank.with_groups(relevance, qid)
        return cross_validate(ranker, X, y, cv=CV, scoring=scoring, **parameters)
    with routing():
        return cross_validate(
            ranker, X, relevance, cv=CV, scoring=scoring, params={"groups": qid}, **parameters
        )


def search(ranker, grid, data, mode, tool=GridSearchCV, **parameters):
    """A fitted search in either mode."""
    parameters = {"scoring": scorer("gap"), "cv": CV} | parameters
    if mode == "carried":
        y = skrank.with_groups(data.relevance, data.qid)
        return tool(ranker, grid, **parameters).fit(data.X, y)
    with routing():
        return tool(ranker, grid, **parameters).fit(data.X, data.relevance, groups=data.qid)


# tools of scikit-learn ----------------------------------------------------------------------------


@every_ranker
def test_cross_validate_gives_the_same_scores_in_both_modes(ranker, data):
    scoring = scorer("gap", "ndcg@10")
    carried, routed = (validate(ranker, data, mode, scoring) for mode in MODES)
    for name in ("test_gap", "test_ndcg@10"):
        assert carried[name].tolist() == routed[name].tolist()
        assert carried[name].min() > 0.5


@every_ranker
def test_interleaving_the_rows_of_queries_changes_no_score(ranker, data):
    """Rows of a query keep their order, which decides among ties; the queries are torn asunder."""
    rng = np.random.default_rng(0)
    place = np.concatenate([np.sort(rng.random(size)) for size in np.bincount(data.qid)])
    rows = np.argsort(place)
    assert np.any(data.qid[rows][1:] < data.qid[rows][:-1])
    if "ridge" in repr(ranker).lower() or "hist" in repr(ranker).lower():
        tolerance = 1e-3  # sums of floats in another order
    else:
        tolerance = 1e-9
    scores, again = (
        validate(ranker, data, "carried", scorer("gap"), rows=order)["test_score"]
        for order in (slice(None), rows)
    )
    assert again == pytest.approx(scores, abs=tolerance)


def test_shuffled_rows_change_no_score_of_a_model_without_ties(data):
    rows = np.random.default_rng(1).permutation(len(data.qid))
    scores = validate(GroupedRanker(Ridge()), data, "carried", scorer("gap"))["test_score"]
    shuffled = validate(GroupedRanker(Ridge()), data, "carried", scorer("gap"), rows=rows)
    assert shuffled["test_score"] == pytest.approx(scores, abs=1e-3)


def test_predictions_come_in_the_order_of_the_rows(data, y):
    rows = np.random.default_rng(0).permutation(len(y))
    for estimator in (lgbm(), xgb(), cat(), Ridge()):
        model = GroupedRanker(estimator).fit(data.X[rows], y.iloc[rows])
        assert model.predict(data.X[rows]) == pytest.approx(model.predict(data.X)[rows])
        assert model.score(data.X, y) > 0.6


@every_mode
@pytest.mark.parametrize("name", ["lightgbm-gap", "xgboost-gap", "hist-gap"])
def test_grid_search(name, mode, data):
    grid = {"estimator__learning_rate": [0.01, 0.3]}
    found = search(RANKERS[name], grid, data, mode)
    assert len(found.cv_results_["params"]) == 2
    assert not np.isnan(found.cv_results_["mean_test_score"]).any()
    assert found.best_score_ == max(found.cv_results_["mean_test_score"])
    assert found.best_estimator_.best_iteration_ >= 1


@every_mode
def test_grid_search_of_a_pipeline_on_several_metrics(mode, data, y):
    grid = {"groupedranker__estimator__num_leaves": [2, 7]}
    scoring = scorer("gap", "ndcg@10", "neg_error@5")
    found = search(RANKERS["pipeline"], grid, data, mode, scoring=scoring, refit="gap")
    results = found.cv_results_
    assert found.best_index_ == np.argmax(results["mean_test_gap"])
    assert {"mean_test_ndcg@10", "mean_test_neg_error@5"} < set(results)
    assert np.all(results["mean_test_neg_error@5"] < 0)
    assert scorer("gap")(found, data.X, y) > 0.6


@every_mode
def test_without_scoring_the_ranker_scores_itself(mode, data):
    ranker = GroupedRanker(lgbm(), objective="err@5", scoring="gap@10")
    found = search(ranker, {"estimator__num_leaves": [7]}, data, mode, scoring=None)
    explicit = search(ranker, {"estimator__num_leaves": [7]}, data, mode, scoring=scorer("gap@10"))
    assert found.best_score_ == explicit.best_score_


@every_mode
def test_a_search_over_objectives_measures_all_of_them_by_one_metric(mode, data):
    """Each used to be measured by the metric that it was trained on."""
    grid = {
        "objective": ["gap(thresholds=[1,0,0,0])", "gap(thresholds=[0.1,0.2,0.3,0.4])"],
        "eval_metric": ["err", "p@1"],
    }
    found = search(GroupedRanker(lgbm(), **STOP), grid, data, mode, scoring=None)
    fixed = search(GroupedRanker(lgbm(), **STOP), grid, data, mode, scoring=scorer("ndcg@10"))
    assert found.cv_results_["mean_test_score"].tolist() == (
        fixed.cv_results_["mean_test_score"].tolist()
    )


def test_what_score_measures_is_one_metric(data, y):
    model = GroupedRanker(lgbm(), objective="gap", scoring="error@5").fit(data.X, y)
    assert model.score(data.X, y) == scorer("error@5")(model, data.X, y) < 0
    assert model.set_params(scoring=skrank.metric("gap")).score(data.X, y) > 0
    with pytest.raises(ValueError, match="did you mean 'ndcg'"):
        GroupedRanker(lgbm(), scoring="ndgc").fit(data.X, y)


@every_mode
def test_objectives_can_be_searched(mode, data):
    grid = {"objective": [None, "gap", skrank.LambdaRank("ndcg", truncation_level=5)]}
    found = search(GroupedRanker(lgbm()), grid, data, mode, tool=RandomizedSearchCV, n_iter=3)
    assert len(set(found.cv_results_["mean_test_score"])) == 3


@every_mode
def test_halving_over_queries(mode, data):
    found = search(
        GroupedRanker(lgbm(), random_state=0),
        {"estimator__learning_rate": [0.001, 0.01, 0.1, 0.3]},
        data,
        mode,
        tool=HalvingGridSearchCV,
        resource="max_queries",
        max_resources=60,
        min_resources=15,
        factor=2,
        random_state=0,
    )
    assert found.n_resources_ == [15, 30, 60]
    assert found.best_score_ > 0.6


@every_mode
def test_learning_curve_over_queries(mode, data, y):
    arguments = {"param_name": "max_queries", "param_range": [5, 20, 50], "cv": CV}
    ranker = GroupedRanker(lgbm(min_child_samples=2), random_state=0)
    if mode == "carried":
        _, scores = validation_curve(ranker, data.X, y, scoring=scorer("gap"), **arguments)
    else:
        with routing():
            _, scores = validation_curve(
                ranker, data.X, data.relevance, scoring=scorer("gap"), **arguments,
                params={"groups": data.qid},
            )  # fmt: skip
    means = scores.mean(axis=1)
    assert means[0] < means[-1]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_parallel_searches_give_the_same_numbers(backend, data):
    grid = {"estimator__learning_rate": [0.1, 0.3]}
    one = search(RANKERS["lightgbm-gap"], grid, data, "carried")
    with parallel_config(backend):
        two = search(RANKERS["lightgbm-gap"], grid, data, "carried", n_jobs=2)
    scores = "mean_test_score"
    assert two.cv_results_[scores].tolist() == one.cv_results_[scores].tolist()


def test_further_tools(data, y):
    ranker = GroupedRanker(lgbm(n_estimators=10))
    scores = cross_val_score(ranker, data.X, y, cv=CV, scoring=scorer("gap"))
    predicted = cross_val_predict(ranker, data.X, y, cv=CV)
    assert gap_score(y, predicted) == pytest.approx(scores.mean(), abs=0.03)
    inner = GridSearchCV(ranker, {"estimator__num_leaves": [3, 7]}, scoring=scorer("gap"), cv=CV)
    assert cross_val_score(inner, data.X, y, cv=CV, scoring=scorer("gap")).min() > 0.5
    model = ranker.fit(data.X, y)
    found = permutation_importance(
        model, data.X, y, scoring=scorer("gap"), n_repeats=2, random_state=0
    )
    assert np.argmax(found.importances_mean) == np.argmax(model.feature_importances_)
    chosen = SequentialFeatureSelector(
        GroupedRanker(lgbm(n_estimators=3)), n_features_to_select=2, scoring=scorer("gap"), cv=CV
    ).fit(data.X, y)
    assert chosen.get_support().sum() == 2


def test_tools_that_strip_the_index_need_routing(data, y):
    bag = BaggingRegressor(GroupedRanker(lgbm(n_estimators=5)), n_estimators=2, random_state=0)
    target = TransformedTargetRegressor(
        GroupedRanker(lgbm(n_estimators=5), objective="gap(labels=interp)"),
        func=np.sqrt,
        inverse_func=np.square,
    )
    for tool in (bag, target):
        with pytest.raises(ValueError, match=r"skrank\.with_groups"):
            tool.fit(data.X, y)
    with routing():
        for tool in (bag, target):
            tool.fit(data.X, data.relevance, groups=data.qid)
            assert scorer("gap")(tool, data.X, y) > 0.5


# early stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [lgbm, xgb], ids=["lightgbm", "xgboost"])
@pytest.mark.parametrize("objective", [None, "gap"])
@pytest.mark.parametrize("metrics", [("gap@10", "error@5"), ("error@5", "gap@10")])
def test_training_stops_on_the_first_metric_in_its_direction(
    estimator, objective, metrics, data, y
):
    model = GroupedRanker(
        estimator(n_estimators=200), objective=objective, eval_metric=metrics, **STOP
    ).fit(data.X, y)
    log = model.evals_result_["validation"]
    assert list(log) == list(metrics)
    best = np.argmax if metrics[0] == "gap@10" else np.argmin
    assert model.best_iteration_ == best(log[metrics[0]]) + 1
    assert len(log[metrics[0]]) == model.best_iteration_ + 5


def test_whole_queries_are_held_out_whatever_the_order_of_rows(data, y, monkeypatch):
    fit = lightgbm.LGBMRanker.fit
    trained = []

    @functools.wraps(fit)
    def noting(self, X, *arguments, **parameters):
        trained.append({row.tobytes() for row in np.ascontiguousarray(X)})
        return fit(self, X, *arguments, **parameters)

    monkeypatch.setattr(lightgbm.LGBMRanker, "fit", noting)

    def held_out(rows=slice(None), seed=0):
        ranker = clone(RANKERS["lightgbm-gap"]).set_params(random_state=seed)
        ranker.fit(data.X[rows], y.iloc[rows])
        used = np.array([row.tobytes() in trained[-1] for row in data.X])
        assert not set(data.qid[used]) & set(data.qid[~used])
        return set(data.qid[~used].tolist())

    assert len(held_out()) == 20
    assert held_out(np.random.default_rng(0).permutation(len(y))) == held_out()
    assert held_out(seed=1) != held_out()


def test_values_in_the_log_are_those_of_the_metric(data, y):
    test = data.qid >= 60
    X_val, y_val = data.X[test], y[test]
    regressor = lightgbm.LGBMRegressor(n_estimators=25, verbosity=-1)
    for estimator in (lgbm(), xgb(), regressor, *STOPPING_HISTS):
        ranker = GroupedRanker(estimator, eval_metric=["err@5", "gap"], early_stopping_rounds=10)
        model = ranker.fit(data.X[~test], y[~test], X_val=X_val, y_val=y_val)
        log = model.evals_result_["validation"]
        expected = scorer("err@5", "gap")(model, X_val, y_val)
        for name in ("err@5", "gap"):
            logged = log[name][model.best_iteration_ - 1]
            assert logged == pytest.approx(expected[name], abs=1e-5)


@pytest.mark.parametrize("estimator", STOPPING_HISTS)
def test_training_rows_with_the_same_labels_are_not_taken_for_validation(estimator, data, y):
    X_val = data.X + np.random.default_rng(0).normal(size=data.X.shape)
    y_val = skrank.with_groups(data.relevance, data.qid)
    stopping = GroupedRanker(estimator, eval_metric="gap@10", early_stopping_rounds=4)
    ranker = stopping.fit(data.X, y, X_val=X_val, y_val=y_val)
    values, rounds = ranker.evals_result_["validation"]["gap@10"], ranker.best_iteration_
    staged = ranker.estimator_.staged_predict(X_val)
    expected = [gap_score(y_val, scores, k=10, max_grade=4) for scores in staged]
    np.testing.assert_allclose(values[:rounds], expected)
    assert np.argmax(values) + 1 == rounds


def test_external_validation_needs_its_groups(data, y):
    test = data.qid >= 60
    ranker = GroupedRanker(lgbm(), eval_metric="gap")
    X_val, relevance = data.X[test], data.relevance[test]
    with pytest.raises(ValueError, match="groups_val"):
        ranker.fit(data.X, y, X_val=X_val, y_val=relevance)
    by_groups = ranker.fit(data.X, y, X_val=X_val, y_val=relevance, groups_val=data.qid[test])
    logged = by_groups.evals_result_
    assert ranker.fit(data.X, y, X_val=X_val, y_val=y[test]).evals_result_ == logged
    with pytest.raises(ValueError, match="X_val and y_val belong together"):
        ranker.fit(data.X, y, X_val=X_val)
    with pytest.raises(ValueError, match="set one of the two"):
        clone(ranker).set_params(validation_fraction=0.2).fit(data.X, y, X_val=X_val, y_val=y[test])


def test_external_validation_is_routed_through_a_pipeline(data):
    train = data.qid < 60
    ranker = GroupedRanker(lgbm(n_estimators=200), objective="gap", early_stopping_rounds=5)
    with routing():
        ranker.set_fit_request(X_val=True, y_val=True, groups_val=True)
        pipe = Pipeline([("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"])
        pipe.fit(
            data.X[train], data.relevance[train], groups=data.qid[train],
            X_val=data.X[~train], y_val=data.relevance[~train], groups_val=data.qid[~train],
        )  # fmt: skip
    assert pipe["rank"].best_iteration_ < 200


def test_rounds_without_early_stopping(data, y):
    for estimator in (lgbm(), xgb(), cat(), hist(max_iter=20)):
        rounds = 20 if isinstance(estimator, HistGradientBoostingRegressor) else None
        plain = GroupedRanker(estimator).fit(data.X, y)
        assert plain.best_iteration_ == rounds or plain.best_iteration_ in (20, 25)
        assert plain.evals_result_ == {}
    recorded = GroupedRanker(lgbm(), eval_metric="gap", validation_fraction=0.2, random_state=0)
    recorded.set_params(early_stopping_rounds=None).fit(data.X, y)
    assert len(recorded.evals_result_["validation"]["gap"]) == 25
    assert recorded.best_iteration_ == 25


@pytest.mark.parametrize("name", ["lightgbm-gap", "xgboost-gap", "catboost", "hist-gap"])
def test_refit_uses_all_queries_for_the_best_number_of_rounds(name, data, y):
    stopped = clone(RANKERS[name]).fit(data.X, y)
    refitted = clone(RANKERS[name]).set_params(refit=True).fit(data.X, y)
    assert refitted.evals_result_ == stopped.evals_result_
    assert refitted.best_iteration_ == stopped.best_iteration_
    by_hand = clone(RANKERS[name]).set_params(
        validation_fraction=None, eval_metric=None, early_stopping_rounds=None
    )
    rounds = {"catboost": "iterations", "hist-gap": "max_iter"}.get(name, "n_estimators")
    by_hand.set_params(**{f"estimator__{rounds}": stopped.best_iteration_})
    expected = by_hand.fit(data.X, y).predict(data.X)
    assert refitted.predict(data.X) == pytest.approx(expected)


def test_predictions_use_the_best_rounds(data, y):
    for make, name in ((lgbm, "n_estimators"), (xgb, "n_estimators")):
        model = GroupedRanker(make(n_estimators=100), eval_metric="gap", **STOP).fit(data.X, y)
        short = GroupedRanker(
            make(**{name: model.best_iteration_}), eval_metric="gap", **STOP
        ).set_params(early_stopping_rounds=None)
        assert model.predict(data.X) == pytest.approx(short.fit(data.X, y).predict(data.X))


def test_a_plain_ranker_stops_on_ndcg_unless_it_has_its_own_metric(data, y):
    for make in (lgbm, xgb):
        model = GroupedRanker(make(), **STOP).fit(data.X, y)
        assert list(model.evals_result_["validation"]) == ["ndcg@10"]
    own = GroupedRanker(xgb(eval_metric="ndcg@3"), **STOP).fit(data.X, y)
    assert list(own.evals_result_["validation"]) == ["ndcg@3"]
    own = GroupedRanker(lgbm(metric="map"), **STOP).fit(data.X, y)
    assert next(iter(own.evals_result_["validation"])).startswith("map@")
    trained = GroupedRanker(lgbm(), objective="err@5", **STOP).fit(data.X, y)
    assert list(trained.evals_result_["validation"]) == ["err@5"]


def test_validation_without_a_relevant_document_raises(data):
    relevance = np.where(data.qid < 60, data.relevance, 0)
    test = data.qid >= 60
    for estimator in (lgbm(), xgb(), *STOPPING_HISTS):
        with pytest.raises(ValueError, match="no validation query has a relevant document"):
            GroupedRanker(estimator, eval_metric="gap").fit(
                data.X[~test], relevance[~test], data.qid[~test],
                X_val=data.X[test], y_val=relevance[test], groups_val=data.qid[test],
            )  # fmt: skip


# training -----------------------------------------------------------------------------------------


def test_it_is_what_one_would_write_by_hand(data, y):
    sizes = np.bincount(data.qid)
    model = GroupedRanker(lgbm()).fit(data.X, y)
    by_hand = lgbm().fit(data.X, data.relevance, group=sizes)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()
    model = GroupedRanker(xgb()).fit(data.X, y)
    by_hand = xgb().fit(data.X, data.relevance, group=sizes)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()
    objective = skrank.lightgbm.objective("gap")
    by_hand = lgbm(objective=objective, metric="None").fit(data.X, data.relevance, group=sizes)
    model = GroupedRanker(lgbm(), objective="gap").fit(data.X, y)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()


def test_early_stopping_on_a_metric_leaves_the_training_of_xgboost_alone(data, y):
    """`xgboost.train` stands in for `XGBRanker.fit`: its trees are the same."""
    model = GroupedRanker(xgb(), eval_metric="gap", **STOP).set_params(early_stopping_rounds=None)
    plain = GroupedRanker(xgb(eval_metric="ndcg"), **STOP).set_params(early_stopping_rounds=None)
    ours, own = (one.fit(data.X, y).estimator_.get_booster() for one in (model, plain))
    assert ours.get_dump() == own.get_dump()


def test_the_fitted_xgboost_ranker_is_complete(data, y, tmp_path):
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = RANKERS["xgboost-gap"]
    model = clone(model).fit(frame, y)
    inner = model.estimator_
    assert isinstance(inner, xgboost.XGBRanker)
    assert inner.predict(frame).tolist() == model.predict(frame).tolist()
    assert inner.best_iteration + 1 == model.best_iteration_
    assert inner.feature_importances_.tolist() == model.feature_importances_.tolist()
    assert inner.evals_result()["validation_0"] == model.evals_result_["validation"]
    contributions = inner.get_booster().predict(xgboost.DMatrix(frame), pred_contribs=True)
    assert contributions.shape == (len(y), 9)
    inner.save_model(tmp_path / "model.json")
    loaded = xgboost.XGBRanker()
    loaded.load_model(tmp_path / "model.json")
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    assert clone(inner).get_params() == clone(xgb()).get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(frame).tolist() == model.predict(frame).tolist()


def test_weights(data, y):
    weight = np.where(data.qid < 20, 5.0, 1.0)
    for estimator in (lgbm(), xgb(), cat(), Ridge(), hist(), make_pipeline(Ridge())):
        plain, weighted = GroupedRanker(estimator), GroupedRanker(estimator)
        plain.fit(data.X, y)
        weighted.fit(data.X, y, sample_weight=weight)
        assert not np.allclose(plain.predict(data.X), weighted.predict(data.X))
        rows = np.random.default_rng(0).permutation(len(y))
        again = GroupedRanker(estimator).fit(data.X[rows], y.iloc[rows], sample_weight=weight[rows])
        assert gap_score(y, again.predict(data.X)) == pytest.approx(
            gap_score(y, weighted.predict(data.X)), abs=0.1
        )
    for estimator in (lgbm(), xgb(), cat()):
        with pytest.raises(ValueError, match="varies inside query"):
            GroupedRanker(estimator).fit(data.X, y, sample_weight=np.arange(len(y)) + 1.0)
    stopped = GroupedRanker(lgbm(), objective="gap", **STOP)
    for name in ("lightgbm-gap", "xgboost-gap", "hist-gap", "catboost"):
        stopped = clone(RANKERS[name]).fit(data.X, y, sample_weight=weight)
        assert stopped.score(data.X, y, sample_weight=weight) > 0.5


def test_parameters_with_an_entry_per_row_follow_the_rows(data, y):
    rows = np.random.default_rng(0).permutation(len(y))
    base = data.X[:, 0]
    sorted_fit = GroupedRanker(lgbm()).fit(data.X, y, init_score=base)
    shuffled = GroupedRanker(lgbm()).fit(data.X[rows], y.iloc[rows], init_score=base[rows])
    back = shuffled.predict(data.X)
    assert gap_score(y, back) == pytest.approx(gap_score(y, sorted_fit.predict(data.X)), abs=0.1)
    interleaved = np.argsort(
        np.concatenate([np.arange(n) for n in np.bincount(data.qid)]), kind="stable"
    )
    again = GroupedRanker(lgbm()).fit(
        data.X[interleaved], y.iloc[interleaved], init_score=base[interleaved]
    )
    assert again.predict(data.X) == pytest.approx(sorted_fit.predict(data.X))


def test_max_queries_draws_more_that_include_the_fewer(data, y):
    class Seen(BaseEstimator):
        def fit(self, X, y):
            self.rows_ = {row.tobytes() for row in np.ascontiguousarray(X)}
            return self

        def predict(self, X):
            return X[:, 0]

    few, many, all_of_them = (
        GroupedRanker(Seen(), max_queries=n, random_state=0).fit(data.X, y).estimator_.rows_
        for n in (10, 30, 1000)
    )
    assert few < many < all_of_them
    assert len(all_of_them) == len(y)


def test_the_scale_of_grades_is_that_of_all_labels(data):
    relevance = np.where(data.qid == 0, data.relevance, np.minimum(data.relevance, 2))
    relevance[0] = 4
    model = GroupedRanker(lgbm(), objective="gap", **STOP).fit(data.X, relevance, data.qid)
    assert model.max_grade_ == 4
    narrow = data.qid > 0
    found = scorer("err")(model, data.X[narrow], relevance[narrow], groups=data.qid[narrow])
    by_hand = skrank.metric("err", max_grade=4)(
        relevance[narrow], model.predict(data.X[narrow]), groups=data.qid[narrow]
    )
    assert found == by_hand


def test_float_labels_train(data):
    relevance = data.relevance + 0.5 * (data.X[:, 0] > 0)
    for estimator in (lgbm(), xgb()):
        ranker = GroupedRanker(estimator, objective="gap(labels=interp)", **STOP)
        assert ranker.fit(data.X, relevance, data.qid).score(data.X, relevance, data.qid) > 0.6


def test_classifiers_are_trained_on_grades(data, y):
    model = GroupedRanker(LogisticRegression(max_iter=2000)).fit(data.X, y)
    expected = model.estimator_.predict_proba(data.X) @ np.arange(5)
    assert model.predict(data.X) == pytest.approx(expected)


def test_other_rankers_get_the_queries(data, y):
    class Other(BaseEstimator):
        def fit(self, X, y, qid):
            assert np.all(np.diff(qid) >= 0)
            self.n_queries_ = len(set(qid.tolist()))
            return self

        def predict(self, X):
            return X[:, 0]

    rows = np.random.default_rng(0).permutation(len(y))
    assert GroupedRanker(Other()).fit(data.X[rows], y.iloc[rows]).estimator_.n_queries_ == 80
    with pytest.raises(ValueError, match="needs the query of each row"):
        GroupedRanker(Other()).fit(data.X, data.relevance)


def test_unjudged_rows(data):
    relevance = data.relevance.astype(float)
    relevance[::7] = np.nan
    judged = ~np.isnan(relevance)
    with pytest.raises(ValueError, match="row 0 was not judged"):
        GroupedRanker(lgbm()).fit(data.X, relevance, data.qid)
    dropped = GroupedRanker(lgbm(), unjudged="drop").fit(data.X, relevance, data.qid)
    alone = GroupedRanker(lgbm()).fit(data.X[judged], relevance[judged], data.qid[judged])
    assert dropped.predict(data.X).tolist() == alone.predict(data.X).tolist()
    zero = GroupedRanker(lgbm(), unjudged="zero").fit(data.X, relevance, data.qid)
    filled = GroupedRanker(lgbm()).fit(data.X, np.nan_to_num(relevance), data.qid)
    assert zero.predict(data.X).tolist() == filled.predict(data.X).tolist()
    ridge = GroupedRanker(Ridge(), unjudged="drop").fit(data.X, relevance)
    assert ridge.predict(data.X) == pytest.approx(
        Ridge().fit(data.X[judged], relevance[judged]).predict(data.X)
    )
    with pytest.raises(ValueError, match="every document is unjudged"):
        GroupedRanker(lgbm(), unjudged="drop").fit(
            data.X, np.full(len(relevance), np.nan), data.qid
        )


# containers ---------------------------------------------------------------------------------------


def test_containers(data, y):
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    for estimator in (lgbm(), xgb(), hist()):
        expected = GroupedRanker(estimator).fit(data.X, y).predict(data.X)
        for X in (frame, pl.DataFrame(data.X, data.feature_names)):
            model = GroupedRanker(estimator).fit(X, y)
            assert model.predict(X) == pytest.approx(expected)
            assert model.feature_names_in_.tolist() == data.feature_names
            assert model.n_features_in_ == 8
    relevance, qid = pl.Series(data.relevance), pl.Series(data.qid)
    model = GroupedRanker(lgbm()).fit(pl.DataFrame(data.X), relevance, qid)
    assert model.score(pl.DataFrame(data.X), relevance, qid) > 0.6
    GroupedRanker(Ridge()).fit(data.X.tolist(), data.relevance.tolist())


@pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])
def test_sparse_and_missing_values(make, data, y):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    for sparse in (csr_array(X), coo_matrix(X)):
        model = GroupedRanker(make(), objective="gap", eval_metric="gap", **STOP).fit(sparse, y)
        assert scorer("gap")(model, csr_array(X), y) > 0.6
    X[::3, 1] = np.nan
    assert GroupedRanker(make(), objective="gap", **STOP).fit(X, y).score(X, y) > 0.6


def test_categories_pass_through(data, y):
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    frame["kind"] = pd.Categorical(np.array(["a", "b", "c"])[data.qid % 3])
    for estimator in (
        lgbm(),
        xgb(enable_categorical=True),
        *(one.set_params(categorical_features="from_dtype") for one in map(clone, STOPPING_HISTS)),
    ):
        metric = None if "Hist" in repr(estimator) else "gap"
        ranker = GroupedRanker(estimator, objective=metric, eval_metric="gap", **STOP)
        assert ranker.fit(frame, y).score(frame, y) > 0.6


@pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])
def test_frames_of_polars_are_read_without_pyarrow(make, data, y, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    kinds = np.array(["a", "b", "c"])[data.qid % 3]
    some = pl.Series([None if row % 7 == 0 else row for row in range(len(y))])
    columns = {"flag": data.X[:, 0] > 0, "some": some, "kind": pl.Series(kinds, dtype=pl.String)}
    frame = pl.DataFrame(data.X, data.feature_names).with_columns(**columns)
    enum = frame.with_columns(kind=frame["kind"].cast(pl.Enum(["c", "a", "b", "d"])))
    ranker = GroupedRanker(make(**{"enable_categorical": True} if make is xgb else {}))
    ranker.set_params(eval_metric="gap", **STOP).fit(enum, y)
    same = {"flag": columns["flag"], "some": 0}
    known = pd.DataFrame(data.X, columns=data.feature_names).assign(**same)
    known["some"] = some.to_numpy()
    known["kind"] = pd.Categorical(kinds, categories=["c", "a", "b", "d"])
    again = clone(ranker).fit(known, y)
    assert ranker.predict(enum).tolist() == again.predict(known).tolist()
    assert ranker.predict(enum[:5]).tolist() == again.predict(known[:5]).tolist()
    with pytest.raises(ValueError, match=r"'kind' is a Categorical.*polars\.Enum"):
        ranker.fit(frame.with_columns(kind=frame["kind"].cast(pl.Categorical)), y)


# groups and errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["lightgbm", "lightgbm-gap", "xgboost-gap", "catboost", "hist-gap"]
)
def test_missing_or_wrong_groups_raise(name, data, y):
    ranker = clone(RANKERS[name])
    with pytest.raises(ValueError, match=r"GroupedRanker\.fit needs the query.*with_groups"):
        ranker.fit(data.X, data.relevance)
    with pytest.raises(ValueError, match="entries for"):
        ranker.fit(data.X, data.relevance, data.qid[1:])
    with pytest.raises(ValueError, match="look like group sizes"):
        ranker.fit(data.X, data.relevance, np.bincount(data.qid))
    with pytest.raises(ValueError, match="disagree"):
        ranker.fit(data.X, y, data.qid + 1)
    with pytest.raises(ValueError, match="two names"):
        ranker.fit(data.X, data.relevance, data.qid, qid=data.qid)
    by_qid = ranker.fit(data.X, data.relevance, qid=data.qid).predict(data.X)
    assert by_qid.tolist() == clone(ranker).fit(data.X, y).predict(data.X).tolist()


def test_a_search_without_carried_groups_fails_loudly(data):
    tool = GridSearchCV(GroupedRanker(lgbm()), {}, scoring=scorer("gap"), cv=QueryKFold(3))
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        tool.fit(data.X, data.relevance, groups=data.qid)


def test_groups_may_go_by_another_name(data):
    with routing():
        tool = GridSearchCV(
            GroupedRanker(lgbm()).set_fit_request(groups="session"),
            {},
            scoring=scorer("gap").set_score_request(groups="session"),
            cv=QueryKFold(3),
        )
        user = data.qid // 2
        tool.fit(data.X, data.relevance, groups=user, session=data.qid)
    assert tool.best_score_ > 0.5


def test_bad_labels_raise(data):
    for wrong, message in ((-1, "labels must be at least 0"), (np.inf, "infinity")):
        relevance = data.relevance.astype(float)
        relevance[3] = wrong
        with pytest.raises(ValueError, match=message):
            GroupedRanker(lgbm()).fit(data.X, relevance, data.qid)


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (Ridge(), {"objective": "gap"}, "Ridge cannot train on objective='gap'"),
        (cat(), {"objective": "gap"}, "CatBoost calls objectives on blocks of rows"),
        (lightgbm.LGBMRegressor(), {"objective": "gap"}, "LGBMRanker and XGBRanker can"),
        (Ridge(), {"eval_metric": "gap"}, "cannot follow eval_metric"),
        (cat(catboost.CatBoostClassifier), {"eval_metric": "gap"}, "cannot follow eval_metric"),
        (Ridge(), {"validation_fraction": 0.2}, "does not train in rounds"),
        (lgbm(), {"validation_fraction": 1.0}, "leaves nothing to train on"),
        (lgbm(), {"validation_fraction": 2}, "number in"),
        (lgbm(), {"objective": "gpa"}, "did you mean 'gap'"),
        (lgbm(), {"eval_metric": []}, "at least one"),
        (lgbm(), {"max_queries": 0}, "at least 1"),
        (lgbm(), {"early_stopping_rounds": 0.5}, "integer"),
        (lgbm(), {"unjudged": "ignore"}, "unjudged='ignore' is not a choice"),
        (hist(early_stopping=True), {}, "tears queries apart"),
        (xgb(early_stopping_rounds=3), {}, "needs queries to validate on"),
        (xgb(eval_metric=max), {}, "weigh queries by their size"),
    ],
    ids=str,
)
def test_what_cannot_be_done_raises(estimator, parameters, message, data, y):
    with pytest.raises(ValueError, match=message):
        GroupedRanker(estimator, **parameters).fit(data.X, y)


def test_bagging_by_query_is_refused(data, y):
    estimator = lgbm(bagging_by_query=True, subsample=0.5, subsample_freq=1)
    with pytest.raises(ValueError, match="trains nothing"):
        GroupedRanker(estimator, objective="gap").fit(data.X, y)


def test_a_pipeline_around_a_ranker_is_refused(data, y):
    with pytest.raises(TypeError, match="put the GroupedRanker into the pipeline"):
        GroupedRanker(make_pipeline(StandardScaler(), lgbm())).fit(data.X, y)


def test_one_query_cannot_be_split(data, y):
    one = data.qid == 0
    with pytest.raises(ValueError, match="at least 2 training queries"):
        GroupedRanker(lgbm(), **STOP).fit(data.X[one], y[one])


def test_a_query_column_is_reported(data, y):
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(qid=data.qid)
    with pytest.warns(UserWarning, match="is a feature of the model"):
        GroupedRanker(lgbm()).fit(frame, y)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        GroupedRanker(lgbm()).fit(frame, data.relevance)
    assert any("taken from the column" in str(one.message) for one in seen)


def test_prediction_checks_its_input(data, y):
    with pytest.raises(NotFittedError):
        GroupedRanker(lgbm()).predict(data.X)
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = GroupedRanker(lgbm()).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[data.feature_names[::-1]])
    with pytest.raises(ValueError, match="7 features"):
        GroupedRanker(lgbm()).fit(data.X, y).predict(data.X[:, 1:])


# an estimator of scikit-learn ---------------------------------------------------------------------


@every_ranker
def test_clones_and_pickles(ranker, data, y):
    ranker = clone(ranker)
    before = repr(ranker)
    model = ranker.fit(data.X, y)
    assert repr(ranker) == before
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.predict(data.X).tolist() == model.predict(data.X).tolist()
    assert clone(model).fit(data.X, y).predict(data.X).tolist() == model.predict(data.X).tolist()


def test_fitting_leaves_the_parameters_alone(data, y):
    estimator = lgbm()
    before = estimator.get_params()
    ranker = GroupedRanker(estimator, objective="gap", eval_metric="gap", **STOP).fit(data.X, y)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "fitted_")
    assert ranker.get_params()["estimator"] is estimator
    assert ranker.objective == ranker.eval_metric == "gap"


def test_requests():
    ranker = GroupedRanker(lgbm())
    assert ranker.get_metadata_routing().fit.requests["groups"] is True
    assert ranker.get_metadata_routing().score.requests["groups"] is True
    assert "qid" not in ranker.get_metadata_routing().fit.requests
    assert sklearn.utils.get_tags(ranker).input_tags.sparse
    assert sklearn.utils.get_tags(GroupedRanker(cat())).input_tags.allow_nan
    assert not sklearn.utils.get_tags(GroupedRanker(Ridge())).input_tags.allow_nan


class OneQuery(GroupedRanker):
    """Takes all rows for one query: scikit-learn's checks know no groups."""

    def fit(self, X, y, groups=None, **parameters):
        if groups is None and y is not None:
            groups = np.zeros(len(y), int)
        return super().fit(X, y, groups, **parameters)

    def score(self, X, y, groups=None, sample_weight=None):
        return super().score(X, y, np.zeros(len(y), int), sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = tags.regressor_tags = None  # whose checks have labels below 0
        return tags


NO_GROUPS = "a ranking cannot be scored without groups"
EXPECTED = {
    GroupedRanker: {
        "check_fit_score_takes_y": NO_GROUPS,
        "check_pipeline_consistency": NO_GROUPS,
    },
    OneQuery: {},
}


@parametrize_with_checks(
    [
        GroupedRanker(Ridge()),
        GroupedRanker(hist(max_iter=3)),
        OneQuery(lgbm(n_estimators=3, min_child_samples=2)),
        OneQuery(xgb(n_estimators=3)),
    ],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator)],
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
