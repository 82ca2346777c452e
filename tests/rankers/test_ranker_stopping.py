"""Early stopping of GroupedRanker, on whole queries."""

import functools

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import skrank
from skrank import GroupedRanker
from skrank.metrics import gap_score
from skrank.scoring import scorer
from tests.helpers.rankers import (
    RANKERS,
    STOP,
    STOPPING_HISTS,
    cat,
    hist,
    lgbm,
    routing,
    xgb,
)

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


def test_logged_values_equal_the_metric(data, y):
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
def test_training_rows_with_equal_labels_are_not_used_for_validation(estimator, data, y):
    X_val = data.X + np.random.default_rng(0).normal(size=data.X.shape)
    y_val = skrank.with_groups(data.relevance, data.qid)
    stopping = GroupedRanker(estimator, eval_metric="gap@10", early_stopping_rounds=4)
    ranker = stopping.fit(data.X, y, X_val=X_val, y_val=y_val)
    values, rounds = ranker.evals_result_["validation"]["gap@10"], ranker.best_iteration_
    staged = ranker.estimator_.staged_predict(X_val)
    expected = [gap_score(y_val, scores, k=10, max_grade=4) for scores in staged]
    np.testing.assert_allclose(values[:rounds], expected)
    assert np.argmax(values) + 1 == rounds


def test_validation_labels_of_a_regressor_may_be_negative(data):
    test, labels = data.qid >= 60, data.relevance - 2.0
    regressor = lightgbm.LGBMRegressor(n_estimators=25, verbosity=-1)
    model = GroupedRanker(regressor, early_stopping_rounds=None)
    model.fit(data.X[~test], labels[~test], X_val=data.X[test], y_val=labels[test])
    (values,) = model.evals_result_["validation"].values()
    assert values[-1] == pytest.approx(np.mean((model.predict(data.X[test]) - labels[test]) ** 2))
    with pytest.raises(ValueError, match="labels must be at least 0"):
        model.set_params(eval_metric="gap").fit(
            data.X[~test], abs(labels[~test]), X_val=data.X[test], y_val=labels[test],
            groups_val=data.qid[test],
        )  # fmt: skip


def test_external_validation_needs_its_groups(data, y):
    test = data.qid >= 60
    ranker = GroupedRanker(lgbm(), eval_metric="gap")
    X_val, relevance = data.X[test], data.relevance[test]
    with pytest.raises(ValueError, match="groups_val"):
        ranker.fit(data.X, y, X_val=X_val, y_val=relevance)
    by_groups = ranker.fit(data.X, y, X_val=X_val, y_val=relevance, groups_val=data.qid[test])
    logged = by_groups.evals_result_
    assert ranker.fit(data.X, y, X_val=X_val, y_val=y[test]).evals_result_ == logged
    with pytest.raises(ValueError, match="has 7 features, but GroupedRanker is expecting 8"):
        ranker.fit(data.X, y, X_val=X_val[:, 1:], y_val=y[test])
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


@pytest.mark.parametrize(
    ("estimator", "objective", "name"),
    [
        (lgbm(), None, "ndcg@10"),
        (xgb(), None, "ndcg@10"),
        (xgb(eval_metric="ndcg@3"), None, "ndcg@3"),
        (lgbm(metric="map"), None, "map@1"),
        (lgbm(), "err@5", "err@5"),
    ],
)
def test_the_default_metric_of_early_stopping(estimator, objective, name, data, y):
    """That of the objective, else that of the estimator, else nDCG@10."""
    ranker = GroupedRanker(estimator, objective=objective, **STOP).fit(data.X, y)
    assert next(iter(ranker.evals_result_["validation"])) == name


@pytest.mark.parametrize("estimator", [lgbm(metric="ndcg"), xgb(eval_metric="ndcg@1")])
def test_an_objective_without_a_metric_stops_on_the_metric_of_the_estimator(estimator, data, y):
    ranker = GroupedRanker(
        estimator, objective=skrank.SquaredError(), validation_fraction=0.25,
        early_stopping_rounds=2, random_state=0,
    ).fit(data.X, y)  # fmt: skip
    values = ranker.evals_result_["validation"]["ndcg@1"]
    assert ranker.best_iteration_ == np.argmax(values) + 1 < len(values)
    assert len(values) == ranker.best_iteration_ + 2 < 25


def test_validation_without_a_relevant_document_raises(data):
    relevance = np.where(data.qid < 60, data.relevance, 0)
    test = data.qid >= 60
    for estimator in (lgbm(), xgb(), cat(), *STOPPING_HISTS):
        with pytest.raises(ValueError, match="no validation query has a relevant document"):
            GroupedRanker(estimator, eval_metric="gap").fit(
                data.X[~test], relevance[~test], data.qid[~test],
                X_val=data.X[test], y_val=relevance[test], groups_val=data.qid[test],
            )  # fmt: skip
