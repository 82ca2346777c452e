"""Arguments and columns that the boosters take in their own `fit` raise a clear error."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import skrank
from skrank.datasets import make_ranking
from tests.helpers.rankers import xgb

DATA = make_ranking(n_queries=30, n_docs=(4, 12), n_features=8, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
GAP = skrank.scorer("gap")


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
