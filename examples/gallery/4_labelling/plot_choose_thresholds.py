"""
Choose the thresholds of GAP
============================

With grades 0 to 3 the thresholds of GAP are three shares that sum to 1. With
the best thresholds, the value of GAP is most informative: the precision-recall
curve that the value implies is closest to the real one.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank import informativeness, trec

rng = np.random.default_rng(0)
n_queries, n_docs = 6, 40
qid = np.repeat(np.arange(n_queries), n_docs)
docid = np.tile(np.arange(n_docs), n_queries)
labels = rng.choice(4, p=[0.4, 0.22, 0.2, 0.18], size=len(qid))
qrels = trec.Qrels.from_arrays(qid, docid, labels)
runs = [
    trec.Run.from_arrays(
        qid,
        docid,
        labels + spread * rng.normal(size=len(qid)),
        name=f"{spread}",
    )
    for spread in (1.0, 2.0)
]

choice = informativeness.select_thresholds(qrels, runs, n_steps=5)
print("best thresholds:", choice.thresholds)

# %%
# Error of the inferred curves, for each choice of (g_1, g_2, g_3):

errors = choice.table["criterion"]
thresholds = np.array(errors.index.tolist())
plt.scatter(thresholds[:, 0], thresholds[:, 2], c=errors, cmap="viridis_r")
plt.xlabel("g_1")
plt.ylabel("g_3 (g_2 = 1 - g_1 - g_3)")
plt.colorbar(label="mean error")
plt.show()
