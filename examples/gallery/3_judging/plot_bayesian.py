"""
How likely is it that a system is better?
=========================================

A p-value does not answer this question. A posterior does, and also gives the probability that the
difference is too small to matter.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank
from skrank import stats
from skrank.datasets import make_ranking
from skrank.plotting import PosteriorDisplay

data = make_ranking(n_queries=60, n_docs=(10, 30), random_state=0)
rng = np.random.default_rng(0)
names = ["new", "changed", "old"]
gap = skrank.metric("gap")
values = np.column_stack(
    [
        gap.per_query(
            data.relevance,
            data.relevance + spread * rng.normal(size=len(data.qid)),
            groups=data.qid,
        )
        for spread in (1.3, 1.45, 1.5)
    ]
)

# %%
# Differences of less than .02 do not matter here.

found = stats.bayesian_comparison(values, rope=0.02)
PosteriorDisplay(found, names=names).plot()
plt.show()

# %%
# The density of one pair: "changed" against "old".

PosteriorDisplay(found, names=names, pair=2).plot()
plt.show()
