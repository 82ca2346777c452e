"""
A linear ranker, and the uncertainty of its weights
===================================================

``LinearRanker`` maximises the metric itself. Refitting the ranker on resampled
queries shows how much the weights vary by chance.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank
from skrank.datasets import make_ranking

data = make_ranking(
    n_queries=80,
    n_docs=(10, 30),
    n_features=10,
    n_informative=5,
    random_state=0,
)
rng = np.random.default_rng(0)

weights = []
for _ in range(8):
    queries = rng.choice(80, size=80)
    rows = np.concatenate(
        [np.flatnonzero(data.qid == query) for query in queries]
    )
    copies = np.repeat(
        np.arange(80), [np.sum(data.qid == query) for query in queries]
    )
    ranker = skrank.LinearRanker("gap").fit(
        data.X[rows], data.relevance[rows], groups=copies
    )
    scaled = ranker.coef_ * ranker.feature_map_.transform(data.X).std(axis=0)
    weights.append(scaled / np.abs(scaled).sum())

weights = np.array(weights)
order = np.argsort(weights.mean(axis=0))
names = [data.feature_names[i] for i in order]
plt.errorbar(
    weights.mean(axis=0)[order],
    range(10),
    xerr=weights.std(axis=0)[order],
    fmt="o",
    capsize=3,
)
plt.yticks(range(10), names)
plt.axvline(0, color="0.5", linewidth=0.8)
plt.xlabel(
    "weight of the scaled feature, mean and standard deviation over resamples"
)
plt.tight_layout()
plt.show()
