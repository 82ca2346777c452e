"""GroupedRanker with unusual estimators and parameters."""

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skrank
from skrank import GroupedRanker
from tests.helpers.rankers import STOP, lgbm


def test_sample_weight_raises_if_the_estimator_has_no_weights(data, y):
    weights = np.ones(len(y))
    for model in (KNeighborsRegressor(), make_pipeline(StandardScaler(), KNeighborsRegressor())):
        with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight: fit"):
            GroupedRanker(model).fit(data.X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "options", [{"booster": "gblinear"}, {"tree_method": "exact"}], ids=["linear", "exact"]
)
def test_boosters_of_xgboost_without_bins(options, data, y):
    """They stop early by the metric on held-out queries."""
    model = xgboost.XGBRanker(n_estimators=25, n_jobs=1, **options)
    ranker = GroupedRanker(model, objective="ndcg", eval_metric="ndcg@10", **STOP)
    log = ranker.fit(data.X, y).evals_result_["validation"]["ndcg@10"]
    assert ranker.best_iteration_ == np.argmax(log) + 1
    assert ranker.score(data.X, y) > 1.2 * skrank.metric("ndcg@10")(
        data.relevance, 0 * y, groups=data.qid
    )


def test_a_regressor_stops_by_its_own_metric(data, y):
    model = xgboost.XGBRegressor(n_estimators=40, max_depth=3, learning_rate=1, n_jobs=1)
    ranker = GroupedRanker(model, **STOP).fit(data.X, y)
    (log,) = ranker.evals_result_["validation"].values()
    assert np.argmin(log) + 1 == ranker.estimator_.get_booster().num_boosted_rounds() < 40


def test_a_callable_objective_of_xgboost_cannot_follow_a_metric(data, y):
    model = xgboost.XGBRegressor(objective=lambda y_true, y_pred: (y_pred - y_true, 1 + 0 * y_true))
    with pytest.raises(ValueError, match="objective of the estimator is a function: give its name"):
        GroupedRanker(model, eval_metric="ndcg@10", **STOP).fit(data.X, y)


def test_a_classifier_of_strings_has_no_highest_grade():
    X, labels = [[0.0], [1.0]], {"y": [0, 1], "groups": ["q", "q"]}
    words = LogisticRegression().fit(X, ["bad", "good"])
    with pytest.raises(ValueError, match="depends on the highest grade of the collection"):
        skrank.scorer("err", response_method="decision_function")(words, X, **labels)
    grades = LogisticRegression().fit(X, [0, 3])
    assert skrank.scorer("err")(grades, X, **labels) == skrank.scorer("err", max_grade=3)(
        grades, X, **labels
    )


class Silent(FunctionTransformer):
    """A step without get_feature_names_out."""

    def get_feature_names_out(self, input_features=None):
        raise ValueError("they have no names")


def test_a_step_without_feature_names_causes_no_false_warning(data, y, recwarn):
    frame = pd.DataFrame(data.X, columns=[f"x{i}" for i in range(data.X.shape[1])])
    model = make_pipeline(Silent(np.asarray), lgbm()).fit(
        frame.assign(qid=data.qid), data.relevance, lgbmranker__group=np.bincount(data.qid)
    )
    score = skrank.scorer("ndcg")(model, frame.assign(qid=data.qid), y)
    assert 0 < score < 1
    assert not [one for one in recwarn if "is a feature of the model" in str(one.message)]


@pytest.mark.parametrize("make", [skrank.lightgbm.objective, skrank.xgboost.objective])
def test_positions_with_other_objectives_raise(make):
    with pytest.raises(AttributeError, match="nothing was learned about positions: train with"):
        _ = make("gap").position_bias_
