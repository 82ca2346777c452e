"""Arguments and columns that the boosters take in their own `fit` raise a clear error."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.datasets import make_ranking
from tests.helpers.rankers import cat, lgbm, xgb

DATA = make_ranking(n_queries=30, n_docs=(4, 12), n_features=8, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
GAP = skrank.scorer("gap")


@pytest.mark.parametrize(("make", "name"), [(lgbm, "group"), (xgb, "group"), (cat, "group_id")])
@pytest.mark.parametrize("group", [np.bincount(DATA.qid), DATA.qid, np.ones(len(Y))])
def test_group_of_the_boosters_in_a_search(make, name, group):
    """Sizes cannot be sliced, ids are taken for sizes, and sizes of 1 train nothing."""
    search = GridSearchCV(
        skrank.GroupedRanker(make()), {"max_queries": [9]}, scoring=GAP, cv=skrank.QueryKFold(3)
    )
    with pytest.raises(ValueError, match=f"{name}= is for the estimator's own fit: give .* ids?"):
        search.fit(DATA.X, Y, **{name: group})


def test_scores_of_rows_that_are_queries_of_their_own_warn():
    model = Ridge().fit(DATA.X, DATA.relevance)
    with pytest.warns(UserWarning, match="every ranking is perfect"):
        assert GAP(model, DATA.X, DATA.relevance, groups=np.arange(len(Y))) == 1


@pytest.mark.filterwarnings("ignore:groups are taken from the column")
@pytest.mark.filterwarnings("ignore:the column .qid. of X is a feature")
@pytest.mark.parametrize("objective", [None, "gap"])
def test_a_qid_column_for_xgboost(objective):
    """XGBoost would read it as queries in `fit`, and as a feature in `train`."""
    frame = pd.DataFrame(DATA.X, columns=list(DATA.feature_names)).assign(qid=DATA.qid)
    ranker = skrank.GroupedRanker(xgb(), objective=objective)
    with pytest.raises(ValueError, match=r"X.set_index\('qid'"):
        ranker.fit(frame, DATA.relevance)
    ranker.fit(frame.set_index("qid"), DATA.relevance)


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
def test_early_stopping_of_the_estimator_has_no_queries(estimator, parameters):
    ranker = skrank.GroupedRanker(estimator, **parameters)
    with pytest.raises(ValueError, match="early_stopping_rounds"):
        ranker.fit(DATA.X, Y)
