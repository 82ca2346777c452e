"""
Boosting from a linear ranker
=============================

Trees learn weighted sums of features slowly. With ``init="linear"``, trees
start from the scores of a linear ranker that is trained on the same metric.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=150, n_docs=(10, 40), random_state=2)
y = skrank.with_groups(data.relevance, data.qid)
X, X_valid, y, y_valid = skrank.query_train_test_split(
    data.X, y, test_size=0.4, random_state=0
)

trees = lgb.LGBMRanker(
    n_estimators=120,
    learning_rate=0.05,
    num_leaves=7,
    n_jobs=1,
    random_state=0,
    verbosity=-1,
)
for init in ("linear", None):
    ranker = skrank.GroupedRanker(
        trees,
        objective="gap",
        eval_metric="gap",
        early_stopping_rounds=None,
        init=init,
    ).fit(X, y, X_val=X_valid, y_val=y_valid)
    values = ranker.evals_result_["validation"]["gap"]
    plt.plot(
        values,
        label="from equal scores" if init is None else "from a linear ranker",
    )
plt.xlabel("rounds")
plt.ylabel("GAP on held-out queries")
plt.legend()
plt.show()
