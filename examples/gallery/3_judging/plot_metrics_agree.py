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

taus = report.mean.corr(stats.tau_b)
plt.imshow(taus, vmin=0.5, vmax=1)
plt.xticks(range(4), labels=taus.columns)
plt.yticks(range(4), labels=taus.columns)
plt.colorbar(label="tau_b")
plt.show()

# %%
# A point per system:

report.mean.plot.scatter("ap", "gap")
plt.show()

# %%
# All 66 pairs, in the order of their significance level. The further left a
# curve falls, the fewer significant differences the metric finds.

for name, values in report.per_query.items():
    power = stats.discriminative_power(
        values.unstack("system"), n_resamples=300
    )
    plt.plot(power.asl_curve, label=f"{name} ({power.power:.1%})")
plt.axhline(0.05, color="black", linestyle="--", label="95 % confidence")
plt.yscale("log")
plt.xlabel("pairs of systems, sorted")
plt.ylabel("achieved significance level")
plt.legend()
plt.show()
