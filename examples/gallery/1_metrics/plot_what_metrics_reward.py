"""
What each metric rewards
========================

One relevant document moves down a list of twenty. How fast does the value of
the list fall?

Reciprocal rank, AP and ERR fall fast. nDCG falls more slowly, RBP depends on
its parameter p, and precision at 10 does not depend on the rank within the
first ten.
"""

import matplotlib.pyplot as plt
import numpy as np

import skrank

ranks = np.arange(1, 21)
metrics = [skrank.metric(name) for name in ("rr", "ndcg", "precision@10")]
metrics += [
    skrank.metric("err", max_grade=1),
    skrank.metric("rbp(p=0.8)", max_grade=1),
]
for metric in metrics:
    values = np.array([metric(ranks == rank, -ranks) for rank in ranks])
    plt.plot(
        ranks,
        values / values[0],
        marker=".",
        label=str(metric).partition("(")[0],
    )
plt.xlabel("rank of the only relevant document")
plt.ylabel("value, as part of the best one")
plt.xticks([1, 5, 10, 15, 20])
plt.legend()
plt.show()

# %%
# Grades differ in their gain. Here one document of grade 3 is ranked among nine
# of grade 1, at each rank in turn.

for metric in (
    skrank.metric("gap", max_grade=3),
    skrank.metric("ndcg"),
    skrank.metric("err", max_grade=3),
):
    values = [
        metric(np.where(ranks[:10] == rank, 3, 1), -ranks[:10])
        for rank in ranks[:10]
    ]
    plt.plot(
        ranks[:10], values, marker=".", label=str(metric).partition("(")[0]
    )
plt.xlabel("rank of the only document of grade 3")
plt.ylabel("value")
plt.legend()
plt.show()
