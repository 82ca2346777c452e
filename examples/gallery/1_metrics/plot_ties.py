"""
Ties, and how tools break them
==============================

Trees with few leaves, rounded scores and documents without a match cause ties.
A tool that breaks ties by the order of the rows measures the order of the file.
skrank computes the exact mean over all orders of tied documents.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank

rng = np.random.default_rng(0)
n_queries, n = 200, 20
qid = np.repeat(np.arange(n_queries), n)
labels = rng.choice(3, p=[0.6, 0.3, 0.1], size=n_queries * n)
fine = labels + rng.normal(size=len(labels))

# %%
# Scores are rounded more and more coarsely, and the file has good documents
# first. In the order of the file ("stable"), coarser scores get higher values.
# If ties are broken against the ranker ("worst"), they get values below those
# of a random order. The mean over orders falls to the value of a random order.

order = np.lexsort((-labels, qid))
labels, fine = labels[order], fine[order]
steps = [0.01, 0.5, 1, 2, 4, 8, 100]
for ties in ("best", "stable", "average", "worst"):
    metric = skrank.metric("ndcg@10", ties=ties)
    values = [
        metric(labels, np.floor(fine / step), groups=qid) for step in steps
    ]
    plt.plot(range(len(steps)), values, marker="o", label=f'ties="{ties}"')
plt.xticks(range(len(steps)), steps)
plt.xlabel("scores are rounded down to multiples of")
plt.ylabel("nDCG@10")
plt.legend()
plt.show()

# %%
# A constant scorer has the value of a random order:

metric = skrank.metric("ndcg@10")
random = [
    metric(labels, rng.random(len(labels)), groups=qid) for _ in range(30)
]
print(
    round(metric(labels, np.zeros(len(labels)), groups=qid), 3),
    round(np.mean(random), 3),
)
