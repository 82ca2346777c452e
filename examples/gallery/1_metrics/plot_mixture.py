"""
Mixtures of objectives
======================

A ranker can be trained on a weighted sum of objectives.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=120, n_docs=(10, 40), random_state=0)
train = data.qid < 60
X, y, qid = data.X[train], data.relevance[train], data.qid[train]

# %%
# Rankers are trained on mixtures of GAP, a metric of the whole list, and
# precision at 3, a metric of the first ranks.

shares = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
values = {"gap": [], "precision@3": []}
for share in shares:
    names = {0: "precision@3", 1: "gap"}
    objective = names.get(share) or (
        share * skrank.LambdaRank("gap")
        + (1 - share) * skrank.LambdaRank("precision@3")
    )
    trees = lgb.LGBMRanker(
        n_estimators=30, num_leaves=7, n_jobs=1, random_state=0, verbosity=-1
    )
    ranker = skrank.GroupedRanker(trees, objective=objective).fit(
        X, y, groups=qid
    )
    scores = ranker.predict(data.X[~train])
    for name, found in values.items():
        found.append(
            skrank.metric(name)(
                data.relevance[~train], scores, groups=data.qid[~train]
            )
        )

for name, found in values.items():
    plt.plot(shares, found, marker="o", label=name)
plt.xlabel("share of GAP in the objective")
plt.ylabel("value on held-out queries")
plt.legend()
plt.show()
