"""
Do metrics agree, and which metric distinguishes systems?
=========================================================

Systems are ranked by several metrics. Kendall's tau measures how much the
rankings agree, and the achieved significance levels of all pairs show how many
differences each metric finds.
"""

import matplotlib.pyplot as plt
import numpy as np

from skrank import stats, trec
from skrank.plotting import LinesDisplay, TauMatrixDisplay

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(40), 50)
docid = np.tile(np.arange(50), 40)
labels = rng.choice(4, p=[0.7, 0.15, 0.1, 0.05], size=len(qid))
qrels = trec.Qrels.from_arrays(qid, docid, labels)
runs = [
    trec.Run.from_arrays(
        qid,
        docid,
        np.minimum(labels, 1 + number % 3) + 1.2 * rng.normal(size=len(qid)),
        name=f"run{number}",
    )
    for number in range(12)
]
report = trec.evaluate(qrels, runs, ["gap", "ap", "ndcg@10", "err@10"])

TauMatrixDisplay(report.mean).plot()
plt.show()

# %%
# A point per system:

report.mean.plot.scatter("ap", "gap")
plt.show()

# %%
# All 66 pairs, in the order of their significance level. The further left a
# curve falls, the fewer significant differences the metric finds.

powers = {
    name: stats.discriminative_power(values.unstack("system"), n_resamples=300)
    for name, values in report.per_query.items()
}
LinesDisplay.from_powers(powers)
plt.show()
