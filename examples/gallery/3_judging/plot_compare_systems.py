"""
Compare systems, with intervals
===============================

Means of metrics also differ by chance. Systems are compared query by query, and
p-values are corrected for the number of comparisons.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=160, n_docs=(10, 30), random_state=0)
train = data.qid < 80
X, labels = data.X[train], data.relevance[train]
X_test, y_test = (
    data.X[~train],
    skrank.with_groups(data.relevance[~train], data.qid[~train]),
)

systems = {
    "linear, GAP": skrank.LinearRanker("gap")
    .fit(X, labels, groups=data.qid[train])
    .predict(X_test),
    "ridge": Ridge().fit(X, labels).predict(X_test),
    "regression trees": HistGradientBoostingRegressor(max_iter=30)
    .fit(X, labels)
    .predict(X_test),
    "one feature": X_test[:, 0],
}
found = skrank.compare(y_test, systems, metrics=["gap", "ndcg@10"])
print(
    found.to_frame()[
        ["metric", "system", "other", "difference", "p_corrected"]
    ].round(3)
)

# %%
# An interval without 0 is a significant difference: p-values and intervals are
# corrected for the number of comparisons.

found.plot("gap")
plt.show()
