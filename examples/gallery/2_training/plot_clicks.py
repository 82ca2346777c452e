"""
Training on clicks
==================

People look at the first documents of a list more often than at the others. A ranker that is trained
on clicks as if they were grades learns to repeat the ranker that made the lists. Two objectives of
skrank estimate the effect of positions during the training.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import numpy as np

import skrank
import skrank.lightgbm

# %%
# Lists of ten, ordered by an old ranker that uses a feature without predictive value. People look
# at rank r with probability 1 / r, and click on good documents.

rng = np.random.default_rng(0)
n_queries, n = 400, 10
rank = np.tile(np.arange(1, n + 1), n_queries)
qid = np.repeat(np.arange(n_queries), n)
X = rng.normal(size=(n_queries * n, 4))
X = X[np.lexsort((-(0.3 * X[:, 0] + X[:, 1]), qid))]
good = rng.random(len(X)) < 1 / (1 + np.exp(1.5 - 2 * X[:, 0]))
clicks = good & (rng.random(len(X)) < 1 / rank)

# %%
# The same trees, trained without and with each of the two position biases:

data = lgb.Dataset(X, clicks, group=[n] * n_queries)
values = {}
for name, trained_on in {
    "clicks as grades": "ndcg",
    "AdditivePositionBias": skrank.AdditivePositionBias("ndcg"),
    "UnbiasedLambdaRank": skrank.UnbiasedLambdaRank("ndcg"),
}.items():
    objective = skrank.lightgbm.objective(trained_on)
    params = {"objective": objective, "num_leaves": 8, "verbosity": -1, "num_threads": 1}
    booster = lgb.train(params | {"metric": "None"}, data, 40)
    values[name] = skrank.metric("ndcg@5")(good, booster.predict(X), groups=qid)

plt.barh(list(values), list(values.values()), color=["0.6", "tab:blue", "tab:cyan"])
plt.xlim(min(values.values()) - 0.05, None)
plt.xlabel("nDCG@5 by what is really good")
plt.tight_layout()
plt.show()
