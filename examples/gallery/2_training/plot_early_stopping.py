"""
Early stopping on the metric that matters
=========================================

Whole queries are held out, and training stops when the metric that you name
does not improve on them.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=120, n_docs=(10, 40), random_state=1)
y = skrank.with_groups(data.relevance, data.qid)

trees = lgb.LGBMRanker(
    n_estimators=200,
    learning_rate=0.1,
    num_leaves=15,
    n_jobs=1,
    random_state=0,
    verbosity=-1,
)
ranker = skrank.GroupedRanker(
    trees,
    objective="gap",
    eval_metric=["gap", "ndcg@10"],
    validation_fraction=0.3,
    early_stopping_rounds=40,
    random_state=0,
).fit(data.X, y)

# %%
# The first metric decides. The others are recorded.

for name, values in ranker.evals_result_["validation"].items():
    plt.plot(range(1, len(values) + 1), values, label=name)
plt.axvline(
    ranker.best_iteration_, color="0.5", linestyle=":", label="best round"
)
plt.xlabel("rounds")
plt.ylabel("value on the queries held out")
plt.legend()
plt.show()
