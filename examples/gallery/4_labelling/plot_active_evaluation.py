"""
Which of two rankers is better, with few labels?
================================================

Queries are labelled one by one, within a budget; informative queries are drawn
more often. The band is the 95 % interval of the difference of the rankers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank.active import ActiveComparator
from skrank.datasets import make_ranking

data = make_ranking(400, n_docs=(10, 30), random_state=0)
known, pool = data.qid < 60, data.qid >= 60
X, qid, truth = data.X[pool], data.qid[pool], data.relevance[pool]

scores = {
    "old": X[:, 0],
    "new": data.relevance[pool]
    + 1.5 * np.random.default_rng(0).normal(size=len(X)),
}
label_model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
label_model.fit(data.X[known], data.relevance[known])

# %%
# The loop requests labels; here the true labels are known.

campaign = ActiveComparator(
    scores,
    qid,
    metric="err@10",
    label_model=pd.DataFrame(
        label_model.predict_proba(X), columns=label_model.classes_
    ),
    budget=1500,
)
while (request := campaign.next_query()) is not None:
    campaign.tell(request.query, truth[request.rows])
print(campaign.decision(confidence=0.95))

progress = campaign.progress()
progress[len(progress) // 4 :].plot(  # the first intervals are very wide
    "cost",
    ["value", "low", "high"],
    drawstyle="steps-post",
    ylabel="err@10: old less new",
)
plt.axhline(0, color="0.5", linewidth=0.8)
plt.show()
