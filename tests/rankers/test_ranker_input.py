"""GroupedRanker: errors, and the interface of scikit-learn's estimators."""

import copy
import pickle
import warnings

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import GroupedRanker
from skrank.model_selection import QueryKFold
from skrank.scoring import scorer
from tests.helpers.rankers import RANKERS, STOP, cat, every_ranker, hist, lgbm, routing, xgb

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


def test_fit_does_not_change_the_parameters(data, y):
    estimator = lgbm()
    before = estimator.get_params()
    ranker = GroupedRanker(estimator, objective="gap", eval_metric="gap", **STOP).fit(data.X, y)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "fitted_")
    assert ranker.get_params()["estimator"] is estimator
    assert ranker.objective == ranker.eval_metric == "gap"


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
