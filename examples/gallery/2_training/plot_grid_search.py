"""
Tune LGBMRanker with GridSearchCV
=================================

scikit-learn cannot pass group sizes to an ``LGBMRanker``. ``GroupedRanker``
takes the query of each row from the index of ``y``, and every search works.
"""

import lightgbm as lgb
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.datasets import make_ranking

data = make_ranking(n_queries=90, n_docs=(10, 40), random_state=0)
y = skrank.with_groups(data.relevance, data.qid)

trees = lgb.LGBMRanker(n_estimators=40, n_jobs=1, random_state=0, verbosity=-1)
search = GridSearchCV(
    skrank.GroupedRanker(trees, objective="gap"),
    {
        "estimator__num_leaves": [3, 7, 15],
        "estimator__learning_rate": [0.05, 0.2],
    },
    scoring=skrank.scorer("gap", "ndcg@10"),
    refit="gap",
    cv=skrank.QueryKFold(3),
).fit(data.X, y)
print(search.best_params_)

# %%
# Two metrics need one prediction per fold.

found = pd.DataFrame(search.cv_results_)
for rate, rows in found.groupby("param_estimator__learning_rate"):
    plt.errorbar(
        rows["param_estimator__num_leaves"],
        rows["mean_test_gap"],
        rows["std_test_gap"],
        marker="o",
        capsize=3,
        label=f"learning rate {rate}",
    )
plt.xlabel("leaves")
plt.ylabel("GAP, cross-validated over queries")
plt.legend()
plt.show()
