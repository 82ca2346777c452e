"""
When judgments are missing
==========================

Judgments are rarely complete. Which metric still ranks the systems alike when
most judgments are removed?
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank import trec
from skrank.incompleteness import robustness

rng = np.random.default_rng(0)
n_queries, n_docs = 30, 80
qid = np.repeat(np.arange(n_queries), n_docs)
docid = np.tile(np.arange(n_docs), n_queries)
labels = rng.choice(3, p=[0.75, 0.18, 0.07], size=len(qid))
qrels = trec.Qrels.from_arrays(qid, docid, labels)
runs = [
    trec.Run.from_arrays(
        qid,
        docid,
        labels + spread * rng.normal(size=len(qid)),
        name=f"{spread:.2f}",
    )
    for spread in np.linspace(0.8, 1.8, 12)
]

# %%
# Metrics on raw lists count unjudged documents as not relevant. Condensed
# metrics remove unjudged documents.

metrics = ["ap", "ap(condensed=True)", "gap", "gap(condensed=True)", "bpref"]
found = robustness(
    qrels,
    runs,
    metrics,
    percents=(100, 60, 30, 15),
    n_repeats=3,
    n_resamples=200,
)
found.pivot("tau_b").T.plot(ylabel="tau_b").invert_xaxis()
plt.show()

# %%
# The share of pairs of systems with a significant difference:

found.pivot("power").T.plot(ylabel="discriminative power").invert_xaxis()
plt.show()
