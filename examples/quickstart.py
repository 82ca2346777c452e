"""Tune, train and judge rankers on GAP, with LightGBM and with XGBoost, on data made on the spot.

Each booster is tuned by scikit-learn's GridSearchCV over whole queries, once with its own nDCG
objective and once with the GAP objective; both stop early on whole queries held out of the training
part. The table compares the four on queries that none of them has seen.

    python examples/quickstart.py
"""

from __future__ import annotations

import time

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from sklearn.model_selection import GridSearchCV

import skrank
from skrank.datasets import make_ranking

N_TRAIN, N_TEST = 300, 300
METRICS = ["gap", "ndcg@10", "ap", "precision@10", "err@20"]


def rankers() -> dict[str, tuple[skrank.GroupedRanker, dict[str, list[int]]]]:
    """A ranker and the grid to tune it on, by name."""
    common = {"validation_fraction": 0.2, "early_stopping_rounds": 30, "random_state": 0}
    trees = lgb.LGBMRanker(n_estimators=500, learning_rate=0.1, verbose=-1, random_state=0)
    boosted = xgb.XGBRanker(n_estimators=500, learning_rate=0.1, random_state=0)
    leaves = {"estimator__num_leaves": [7, 15, 31]}
    depth = {"estimator__max_depth": [3, 4, 6]}
    return {
        "LightGBM, its own nDCG": (
            skrank.GroupedRanker(trees, eval_metric="ndcg@10", **common),
            leaves,
        ),
        "LightGBM, GAP": (
            skrank.GroupedRanker(trees, objective="gap", eval_metric="gap", **common),
            leaves,
        ),
        "XGBoost, its own nDCG": (
            skrank.GroupedRanker(boosted, eval_metric="ndcg@10", **common),
            depth,
        ),
        "XGBoost, GAP": (
            skrank.GroupedRanker(boosted, objective="gap", eval_metric="gap", **common),
            depth,
        ),
    }


def main() -> None:
    data = make_ranking(N_TRAIN + N_TEST, random_state=0)
    train = data.qid < N_TRAIN
    X, X_test = data.X[train], data.X[~train]
    y = skrank.with_groups(data.relevance[train], data.qid[train])
    y_test = skrank.with_groups(data.relevance[~train], data.qid[~train])
    print(f"{N_TRAIN} queries ({len(X)} documents) to train on, {N_TEST} to test on\n")

    reports = {}
    for name, (ranker, grid) in rankers().items():
        start = time.perf_counter()
        print(f"{name}: tuning {grid} ...", end=" ", flush=True)
        search = GridSearchCV(
            ranker, grid, scoring=skrank.scorer("gap"), cv=skrank.QueryKFold(3, shuffle=False)
        ).fit(X, y)
        best = search.best_estimator_
        print(
            f"{search.best_params_}, {best.best_iteration_} rounds, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
        reports[name] = skrank.evaluate(y_test, best.predict(X_test), metrics=METRICS)
    chance = np.random.default_rng(0).standard_normal(len(X_test))
    reports["random order"] = skrank.evaluate(y_test, chance, metrics=METRICS)

    print(f"\n{'mean over test queries':24}" + "".join(f"{metric:>14}" for metric in METRICS))
    for name, report in reports.items():
        print(f"{name:24}" + "".join(f"{report.mean[metric]:>14.4f}" for metric in METRICS))


if __name__ == "__main__":
    main()
