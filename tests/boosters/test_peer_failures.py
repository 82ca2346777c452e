"""Common failures with boosters and scikit-learn's tools work in skrank, or raise a clear error."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import sklearn
import xgboost
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
)

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking

GAP = skrank.scorer("gap")
CV = skrank.QueryKFold(3)
GRID = {"estimator__n_estimators": [2]}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_docs=(4, 12), n_features=8, random_state=0)


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)


@pytest.fixture(scope="module")
def sizes(data):
    return np.bincount(data.qid)


def lgbm(**parameters):
    return lightgbm.LGBMRanker(**{"n_estimators": 3, "verbosity": -1, "n_jobs": 1} | parameters)


def xgb(**parameters):
    return xgboost.XGBRanker(**{"n_estimators": 3, "n_jobs": 1} | parameters)


def cat(**parameters):
    quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostRanker(**{"n_estimators": 3} | quiet | parameters)


def routing():
    return sklearn.config_context(enable_metadata_routing=True)


every_booster = pytest.mark.parametrize("make", [lgbm, xgb, cat])


# group= of the boosters ---------------------------------------------------------------------------


@every_booster
@pytest.mark.parametrize("of", ["sizes", "ids", "ones"])
def test_group_of_the_boosters_in_a_search(make, of, data, y, sizes):
    """Sizes cannot be sliced, ids are taken for sizes, and sizes of 1 train nothing."""
    name = "group_id" if make is cat else "group"
    group = {"sizes": sizes, "ids": data.qid, "ones": np.ones(len(y))}[of]
    search = GridSearchCV(skrank.GroupedRanker(make()), GRID, scoring=GAP, cv=CV)
    with pytest.raises(ValueError, match=f"{name}= is for the estimator's own fit: give .* ids?"):
        search.fit(data.X, y, **{name: group})


@every_booster
def test_every_row_its_own_query(make, data):
    """All candidates of such a search have equal scores."""
    rows = np.arange(len(data.qid))
    with pytest.raises(ValueError, match=r"each of the \d+ rows is a query of its own"):
        skrank.GroupedRanker(make()).fit(data.X, data.relevance, groups=rows)
    model = Ridge().fit(data.X, data.relevance)
    with pytest.warns(UserWarning, match="every ranking is perfect"):
        assert GAP(model, data.X, data.relevance, groups=rows) == 1


# groups that do not arrive ------------------------------------------------------------------------


def test_groups_for_the_splitter_reach_no_score(data):
    """A fold is not one list: without routing, scoring raises an error."""
    search = GridSearchCV(skrank.GroupedRanker(xgb()), GRID, cv=GroupKFold(3), error_score="raise")
    with pytest.raises(ValueError, match=r"needs the query of each row: use y = .*with_groups"):
        search.fit(data.X, data.relevance, groups=data.qid, qid=data.qid)


def test_folds_by_a_number_ignore_groups(data, y):
    ranker = skrank.GroupedRanker(lgbm())
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored by KFold"),
        pytest.raises(ValueError, match="needs the query of each row"),
    ):
        GridSearchCV(ranker, GRID, scoring=GAP, cv=3).fit(data.X, data.relevance, groups=data.qid)
    with pytest.warns(skrank.CutQueryWarning, match="queries are cut in the rows that are"):
        GridSearchCV(ranker, GRID, scoring=GAP, cv=3).fit(data.X, y)


# the qid column -----------------------------------------------------------------------------------


def frame(data):
    return pd.DataFrame(data.X, columns=list(data.feature_names)).assign(qid=data.qid)


@pytest.mark.filterwarnings("ignore:groups are taken from the column")
@pytest.mark.filterwarnings("ignore:the column .qid. of X is a feature")
@pytest.mark.parametrize("objective", [None, "gap"])
def test_a_qid_column_for_xgboost(objective, data):
    """XGBoost would read it as queries in `fit`, and as a feature in `train`."""
    ranker = skrank.GroupedRanker(xgb(), objective=objective)
    with pytest.raises(ValueError, match=r"move it to the index, X.set_index\('qid'\)"):
        ranker.fit(frame(data), data.relevance)
    ranker.fit(frame(data).set_index("qid"), data.relevance)


# early stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        lgbm(early_stopping_round=3),
        lgbm(early_stopping_rounds=3),
        xgb(early_stopping_rounds=3),
        cat(early_stopping_rounds=3),
        cat(od_wait=3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("parameters", [{}, {"validation_fraction": 0.3}], ids=["none", "some"])
def test_early_stopping_of_the_estimator_has_no_queries(estimator, parameters, data, y):
    """Its own rule is refused, with and without a validation part: `GroupedRanker` has a rule."""
    ranker = skrank.GroupedRanker(estimator, **parameters)
    with pytest.raises(ValueError, match="set early_stopping_rounds of GroupedRanker instead"):
        ranker.fit(data.X, y)


def test_an_eval_set_that_would_not_be_used(data, y, sizes):
    ranker = skrank.GroupedRanker(lgbm(), eval_metric="gap", validation_fraction=0.3)
    with pytest.raises(ValueError, match="eval_set= of fit: set its eval_metric"):
        ranker.fit(data.X, y, eval_set=[(data.X, data.relevance)], eval_group=[sizes])
