"""Mistakes of users of GroupedRanker that once raised unclear errors, or none."""

import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import GroupedRanker
from skrank.datasets import make_ranking
from tests.helpers.rankers import lgbm, xgb

STOP = {"validation_fraction": 0.25, "early_stopping_rounds": 3, "random_state": 0}
DATA = make_ranking(n_queries=60, n_docs=(5, 15), n_features=8, random_state=0)
X, QID = DATA.X, DATA.qid
Y = skrank.with_groups(DATA.relevance, QID)
FRAME = pd.DataFrame(X, columns=DATA.feature_names)
each_booster = pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])


# validation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"eval_metric": "gap"}, "eval_metric"),
        ({"early_stopping_rounds": 7}, "early_stopping_rounds"),
        ({"early_stopping_rounds": 50}, "early_stopping_rounds"),  # also the value of "auto"
        ({"eval_metric": "gap", "early_stopping_rounds": 7}, "eval_metric and early_stopping_rou"),
    ],
)
def test_early_stopping_without_validation_warns(parameters, names):
    stopping = GroupedRanker(lgbm(), **parameters)
    with pytest.warns(UserWarning, match=f"^{names}.* without validation rows: all rounds") as told:
        model = stopping.fit(X, Y)
    assert told[0].filename == __file__
    assert model.best_iteration_ == 25


def test_training_all_rounds_with_early_stopping_rounds_none_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GroupedRanker(lgbm()).fit(X, Y)
        GroupedRanker(lgbm(), early_stopping_rounds=None).fit(X, Y)
        GroupedRanker(lgbm(), eval_metric="gap", **STOP).fit(X, Y)


def test_the_usual_number_of_rounds_is_50():
    usual = GroupedRanker(lgbm(n_estimators=200), validation_fraction=0.25, random_state=0)
    assert clone(usual).get_params()["early_stopping_rounds"] == "auto"
    values = usual.fit(X, Y).evals_result_["validation"]["ndcg@10"]
    assert len(values) == usual.best_iteration_ + 50
    with pytest.raises(ValueError, match="early_stopping_rounds='never' must be an integer"):
        clone(usual).set_params(early_stopping_rounds="never").fit(X, Y)


@pytest.mark.parametrize("estimator", [lgbm(boosting_type="dart"), xgb(booster="dart")], ids=repr)
def test_dart_cannot_stop_early(estimator):
    with pytest.raises(ValueError, match="Ranker with dart cannot stop early"):
        GroupedRanker(estimator, objective="gap", **STOP).fit(X, Y)
    recorded = GroupedRanker(estimator, objective="gap", validation_fraction=0.25, random_state=0)
    model = recorded.set_params(early_stopping_rounds=None).fit(X, Y)
    assert len(model.evals_result_["validation"]["gap"]) == model.best_iteration_ == 25
    GroupedRanker(estimator, objective="gap").fit(X, Y)


@pytest.mark.parametrize("objective", [None, "gap"])
@pytest.mark.parametrize("metric", [None, "gap@10"])
def test_a_booster_saved_after_early_stopping_predicts_with_its_best_rounds(
    objective, metric, tmp_path
):
    frame = FRAME.assign(kind=pd.Categorical(np.array(["a", "b"])[QID % 2]))
    ranker = GroupedRanker(
        xgb(n_estimators=100, enable_categorical=True), objective=objective, eval_metric=metric,
        **STOP,
    ).fit(frame, Y)  # fmt: skip
    rounds = len(next(iter(ranker.evals_result_["validation"].values())))
    assert ranker.best_iteration_ < rounds  # it has stopped
    inner = ranker.estimator_.get_booster()
    assert inner.num_boosted_rounds() == ranker.best_iteration_ == inner.best_iteration + 1
    inner.save_model(tmp_path / "model.json")
    loaded = xgboost.Booster(model_file=tmp_path / "model.json")
    data = xgboost.DMatrix(frame, enable_categorical=True)
    assert loaded.predict(data).tolist() == ranker.predict(frame).tolist()
    text = lgbm(n_estimators=100)
    ranker = GroupedRanker(text, objective=objective, eval_metric=metric, **STOP).fit(X, Y)
    ranker.estimator_.booster_.save_model(tmp_path / "model.txt")
    loaded = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert loaded.predict(X).tolist() == ranker.predict(X).tolist()


# parameters of the estimator's own fit ------------------------------------------------------------


START = X[:, 0]
SHUFFLED = np.random.default_rng(0).permutation(len(Y))
MARGIN = {lgbm: "init_score", xgb: "base_margin"}


@each_booster
@pytest.mark.parametrize("objective", [None, "ndcg"])
def test_start_scores_are_sorted_with_the_rows(make, objective):
    objective = objective and skrank.LambdaRank(objective, tie_order="stable")
    ranker = GroupedRanker(make(), objective=objective)
    plain = clone(ranker).fit(X, Y).predict(X)
    first = clone(ranker).fit(X, Y, **{MARGIN[make]: START}).predict(X)
    assert not np.allclose(plain, first)
    kept = SHUFFLED[np.argsort(QID[SHUFFLED], kind="stable")]
    by_query = clone(ranker).fit(X[kept], Y.iloc[kept], **{MARGIN[make]: START[kept]}).predict(X)
    again = clone(ranker).fit(X[SHUFFLED], Y.iloc[SHUFFLED], **{MARGIN[make]: START[SHUFFLED]})
    assert again.predict(X).tolist() == by_query.tolist()


@each_booster
@pytest.mark.parametrize("objective", [None, "gap"])
def test_held_out_rows_use_their_start_scores(make, objective):
    """The start scores are the labels, so that the first value of the metric is about 1."""
    stopping = GroupedRanker(
        make(learning_rate=1e-9), objective=objective, eval_metric="gap", **STOP
    )
    start = {MARGIN[make]: 10.0 * DATA.relevance}
    values = clone(stopping).fit(X, Y, **start).evals_result_["validation"]["gap"]
    assert values[0] == pytest.approx(1)
    assert clone(stopping).fit(X, Y).evals_result_["validation"]["gap"][0] < 0.9


@each_booster
def test_start_scores_with_x_val_raise(make):
    with pytest.raises(ValueError, match=r"but not of X_val: hold out"):
        GroupedRanker(make(), objective="gap").fit(X, Y, X_val=X, y_val=Y, **{MARGIN[make]: START})


def test_feature_weights_of_xgboost():
    weights = np.zeros(8)
    weights[2] = 1.0
    ranker = GroupedRanker(xgb(colsample_bynode=0.1), objective="gap")
    model = ranker.fit(X, Y, feature_weights=weights)
    assert np.flatnonzero(model.feature_importances_).tolist() == [2]


@each_booster
@pytest.mark.parametrize("name", ["eval_set", "eval_qid", "sample_weight_eval_set"])
def test_validation_arguments_of_the_booster_raise_with_the_remedy(make, name):
    with pytest.raises(ValueError, match=f"overwrite {name}= of fit: .*X_val, y_val"):
        GroupedRanker(make(), objective="gap").fit(X, Y, **{name: [(X, Y)]})


# names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "metric"), [("lambdarank", "ndcg"), ("rank:ndcg", "ndcg"), ("rank:map", "ap")]
)
def test_an_objective_of_the_booster_is_recognised(name, metric):
    hint = f"objective='{name}' is an objective of the booster.*such as objective='{metric}'"
    with pytest.raises(ValueError, match=hint):
        GroupedRanker(lgbm(), objective=name).fit(X, Y)
    for module in (skrank.lightgbm, skrank.xgboost):
        with pytest.raises(ValueError, match=hint):
            module.objective(name)


def test_a_column_name_as_groups_raises():
    with pytest.raises(ValueError, match=r"groups='qid' is a single name.*groups=frame\['qid'\]"):
        GroupedRanker(lgbm()).fit(FRAME.assign(qid=QID).drop(columns="qid"), Y, groups="qid")
    with pytest.raises(ValueError, match="groups='qid' is a single name"):
        skrank.evaluate(DATA.relevance, X[:, 0], groups="qid")


# classifiers and scorers --------------------------------------------------------------------------


def test_a_grouped_classifier_has_predict_proba():
    ranker = GroupedRanker(LogisticRegression(max_iter=2000))
    assert is_classifier(ranker)
    model = ranker.fit(X, Y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.predict(X) == pytest.approx(model.predict_proba(X) @ model.classes_)
    regressor = GroupedRanker(Ridge())
    assert is_regressor(regressor)
    assert not hasattr(regressor, "predict_proba")
    assert not hasattr(regressor.fit(X, Y), "classes_")


def test_to_sklearn_makes_a_scorer_of_scikit_learn():
    made = make_scorer(skrank.metric("gap@5"))
    assert "gap@5" in repr(made)
    scores = cross_val_score(Ridge(), X, Y, cv=skrank.QueryKFold(3), scoring=made)
    own = cross_val_score(Ridge(), X, Y, cv=skrank.QueryKFold(3), scoring=skrank.scorer("gap@5"))
    assert scores.tolist() == own.tolist()


def test_tools_that_read_private_attributes_of_scorers_raise_with_the_remedy():
    binary = (Y > 1).astype(int)
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(max_iter=2000), scoring=skrank.scorer("gap"), cv=skrank.QueryKFold(2)
    )
    with pytest.raises(AttributeError, match=r"no _score_func.*to_sklearn\(\).*decision threshold"):
        tuned.fit(X, binary)
    tuned.set_params(scoring=skrank.scorer("gap").to_sklearn()).fit(X, binary)
    assert not hasattr(skrank.scorer("gap"), "anything_else")


# which queries ------------------------------------------------------------------------------------


def test_max_queries_draws_at_random():
    """The first queries of a file may not be a random sample."""

    class Seen(Ridge):
        def fit(self, X, y, sample_weight=None):
            self.rows_ = {row.tobytes() for row in np.ascontiguousarray(X)}
            return super().fit(X, y)

    def drawn(seed, count=20):
        model = GroupedRanker(Seen(), max_queries=count, random_state=seed).fit(X, Y)
        used = np.array([row.tobytes() in model.estimator_.rows_ for row in X])
        return frozenset(QID[used].tolist())

    seen = [drawn(seed) for seed in range(5)]
    assert {len(queries) for queries in seen} == {20}
    assert len(set(seen)) == 5
    assert drawn(3, 10) < drawn(3) == seen[3] < drawn(3, 1000)
    assert frozenset(range(20)) not in seen
    assert len(frozenset.union(*seen) - frozenset(range(20))) > 20
