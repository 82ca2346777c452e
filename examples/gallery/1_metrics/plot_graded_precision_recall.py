"""
Graded precision and recall
===========================

Average precision is the area under precision over recall. GAP is the area under
*graded* precision over graded recall. Both count each document with the share
of users who find it relevant.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from skrank.datasets import make_ranking
from skrank.metrics import eleven_point_curve
from skrank.plotting import PrecisionRecallDisplay

data = make_ranking(n_queries=100, n_docs=(10, 40), random_state=0)
train = data.qid < 50
X, y, qid = data.X[~train], data.relevance[~train], data.qid[~train]
model = Ridge().fit(data.X[train], data.relevance[train])

fig, ax = plt.subplots()
for name, scores in {"ridge": model.predict(X), "one feature": X[:, 0]}.items():
    PrecisionRecallDisplay.from_predictions(
        y, scores, groups=qid, name=name, ax=ax
    )
plt.show()

# %%
# TREC plots the interpolated precision at eleven levels of recall, which
# ignores grades.

fig, ax = plt.subplots()
for name, scores in {"ridge": model.predict(X), "one feature": X[:, 0]}.items():
    points = eleven_point_curve(y, scores, groups=qid)
    ax.plot(np.arange(11) / 10, points, marker="o", label=name)
ax.set(xlabel="Recall", ylabel="Interpolated precision")
ax.legend()
plt.show()
