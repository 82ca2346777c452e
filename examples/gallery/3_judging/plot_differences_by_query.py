"""
Where does a ranker win?
========================

Two rankers of nearly equal means may be good at different queries.
"""

import matplotlib.pyplot as plt

import skrank
from skrank.datasets import make_ranking
from skrank.plotting import QueryComparisonDisplay

data = make_ranking(n_queries=60, n_docs=(10, 40), random_state=0)
metric, names = skrank.metric("ndcg@10"), ("feature 5", "feature 0")
first, second = (
    metric.per_query(data.relevance, data.X[:, column], groups=data.qid)
    for column in (5, 0)
)
display = QueryComparisonDisplay(
    first, second, metric=metric, names=names
).plot()
plt.show()

# %%
# The same as points, a point per query:

axes = plt.subplot(xlabel=names[0], ylabel=names[1])
axes.scatter(first, second)
plt.show()

# %%
# The same as a sentence:

print(
    display.wins,
    "wins,",
    display.losses,
    "losses,",
    display.n_empty,
    "queries without a relevant document",
)
print(
    skrank.compare(
        data.relevance,
        {"feature 5": data.X[:, 5], "feature 0": data.X[:, 0]},
        groups=data.qid,
        metrics="ndcg@10",
    )
    .to_frame()[["difference", "low", "high", "p_corrected"]]
    .round(3)
)
