"""
Would more queries help?
========================

A learning curve over *queries* shows whether labels of more queries would
improve the ranker. ``max_queries`` draws whole queries, and a larger number
includes the queries of a smaller one.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
from sklearn.model_selection import validation_curve

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=160, n_docs=(10, 30), random_state=0)
y = skrank.with_groups(data.relevance, data.qid)
sizes = [10, 20, 40, 80, 120]

rankers = {
    "linear": skrank.LinearRanker("gap", random_state=0),
    "trees": skrank.GroupedRanker(
        lgb.LGBMRanker(
            n_estimators=40,
            num_leaves=7,
            n_jobs=1,
            random_state=0,
            verbosity=-1,
        ),
        objective="gap",
        random_state=0,
    ),
}
for name, ranker in rankers.items():
    _, found = validation_curve(
        ranker,
        data.X,
        y,
        param_name="max_queries",
        param_range=sizes,
        scoring=skrank.scorer("gap"),
        cv=skrank.QueryKFold(4),
    )
    plt.errorbar(
        sizes,
        found.mean(axis=1),
        found.std(axis=1) / 2,
        marker="o",
        capsize=3,
        label=name,
    )
plt.xscale("log")
plt.xticks(sizes, sizes)
plt.xlabel("training queries")
plt.ylabel("GAP, mean of four folds and its standard error")
plt.legend()
plt.show()
