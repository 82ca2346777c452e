"""GroupedRanker: errors, and the interface of scikit-learn's estimators."""

import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import skrank
from skrank import GroupedRanker
from skrank.model_selection import QueryKFold
from skrank.scoring import scorer
from tests.helpers.rankers import STOP, cat, hist, lgbm, routing, xgb

# groups and errors --------------------------------------------------------------------------------


def test_wrong_groups_raise(data, y):
    fit = GroupedRanker(lgbm()).fit
    with pytest.raises(ValueError, match=r"GroupedRanker\.fit needs the query.*with_groups"):
        fit(data.X, data.relevance)
    with pytest.raises(ValueError, match="entries for"):
        fit(data.X, data.relevance, data.qid[1:])
    with pytest.raises(ValueError, match="look like group sizes"):
        fit(data.X, data.relevance, np.bincount(data.qid))
    with pytest.raises(ValueError, match="disagree"):
        fit(data.X, y, data.qid + 1)
    with pytest.raises(ValueError, match="at least 2 training queries"):
        GroupedRanker(lgbm(), **STOP).fit(data.X[:5], data.relevance[:5], np.zeros(5))
    with pytest.raises(TypeError, match="put the GroupedRanker into the pipeline"):
        GroupedRanker(make_pipeline(StandardScaler(), lgbm())).fit(data.X, y)


def test_a_search_without_groups_raises(data):
    tool = GridSearchCV(GroupedRanker(lgbm()), {}, scoring=scorer("gap"), cv=QueryKFold(3))
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        tool.fit(data.X, data.relevance, groups=data.qid)


def test_qid_is_another_name_of_groups(data):
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
        (hist(early_stopping=True), {}, "holds out single rows, which splits queries"),
        (xgb(early_stopping_rounds=3), {}, "needs validation queries"),
        (xgb(eval_metric=max), {}, "weigh queries by their size"),
    ],
    ids=str,
)
def test_unsupported_combinations_raise(estimator, parameters, message, data, y):
    with pytest.raises(ValueError, match=message):
        GroupedRanker(estimator, **parameters).fit(data.X, y)


def test_a_query_column_is_reported(data, y):
    frame = pd.DataFrame(data.X, columns=data.feature_names).assign(qid=data.qid)
    with pytest.warns(UserWarning, match="is a feature of the model"):
        GroupedRanker(lgbm()).fit(frame, y)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        GroupedRanker(lgbm()).fit(frame, data.relevance)
    assert any("taken from the column" in str(one.message) for one in seen)


# an estimator of scikit-learn ---------------------------------------------------------------------


def test_metadata_requests():
    ranker = GroupedRanker(lgbm())
    assert ranker.get_metadata_routing().fit.requests["groups"] is True
    assert ranker.get_metadata_routing().score.requests["groups"] is True
    assert "qid" not in ranker.get_metadata_routing().fit.requests
    assert sklearn.utils.get_tags(ranker).input_tags.sparse
    assert sklearn.utils.get_tags(GroupedRanker(cat())).input_tags.allow_nan
    assert not sklearn.utils.get_tags(GroupedRanker(Ridge())).input_tags.allow_nan


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "sample_weight of row 7 is -1.0: it must be finite and not negative"),
        (np.nan, "sample_weight of row 7 is nan"),
        (np.inf, "sample_weight of row 7 is inf"),
        (None, "Sample weights must contain at least one non-zero number"),
    ],
)
@pytest.mark.parametrize("estimator", [Ridge(), hist(), cat(catboost.CatBoostRegressor)], ids=str)
def test_weights_of_rows_are_weights(estimator, weight, message):
    """Otherwise, some estimators would train on other weights, and some raise other errors."""
    rows = np.random.default_rng(0).normal(size=(40, 3))
    weights = np.zeros(40)
    if weight is not None:
        weights = np.ones(40)
        weights[7] = weight
    with pytest.raises(ValueError, match=message):
        GroupedRanker(estimator).fit(rows, np.arange(40) % 3, sample_weight=weights)


# unusual estimators -------------------------------------------------------------------------------


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
