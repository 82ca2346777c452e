"""Train LightGBM and XGBoost on GAP with workers of Dask.

Two worker processes receive whole queries. XGBoost stops early on GAP, the mean
over the queries of both workers; LightGBM trains a fixed number of rounds. The
values logged, or predicted, by the workers are compared with values of the
metric on one machine, and the models with models trained on one machine.

    python examples/dask_training.py
"""

from __future__ import annotations

import logging
from typing import Any

import dask.array as da
import lightgbm as lgb
import numpy as np
import xgboost as xgb
import xgboost.dask
from distributed import Client, LocalCluster

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking

N_TRAIN, N_VALID = 200, 100
GAP = skrank.metric(
    "gap@10", max_grade=4
)  # a worker knows only the grades of its own part
# Random orders of ties depend on the index of a query, which differs between
# workers.
FIRM = {"tie_order": "stable"}


class Part:
    """Documents of whole queries."""

    def __init__(self, data: Any, rows: np.ndarray) -> None:
        self.X, self.y, self.qid = (
            data.X[rows],
            data.relevance[rows],
            data.qid[rows],
        )

    @property
    def sizes(self) -> np.ndarray:
        """Rows of each query."""
        return np.unique(self.qid, return_counts=True)[1]

    def on_dask(self) -> tuple[da.Array, da.Array, da.Array, da.Array]:
        """X, labels, queries and sizes of queries, in two partitions of whole
        queries."""
        halves = np.array_split(self.sizes, 2)
        rows, queries = (
            tuple(int(one.sum()) for one in halves),
            tuple(map(len, halves)),
        )
        return (
            da.from_array(self.X, chunks=(rows, -1)),
            da.from_array(self.y, chunks=(rows,)),
            da.from_array(self.qid, chunks=(rows,)),
            da.from_array(self.sizes, chunks=(queries,)),
        )

    def gap(self, scores: np.ndarray) -> float:
        """The metric on one machine."""
        return GAP(self.y, scores, groups=self.qid)


def with_xgboost(client: Client, train: Part, valid: Part) -> None:
    """Early stopping on all workers, and on one machine."""
    params = {
        "disable_default_eval_metric": 1,
        "learning_rate": 0.1,
        "tree_method": "hist",
    }
    metric, rounds = skrank.xgboost.eval_metric(GAP), 300

    def options() -> dict[str, Any]:
        return {
            "num_boost_round": rounds,
            "obj": skrank.xgboost.objective(GAP, **FIRM),
            "custom_metric": metric,
            "callbacks": [skrank.xgboost.early_stopping(GAP, 20)],
            "verbose_eval": False,
        }

    parts = [one.on_dask() for one in (train, valid)]
    dtrain, dvalid = (
        xgb.dask.DaskDMatrix(client, X, y, qid=qid) for X, y, qid, _ in parts
    )
    found = xgb.dask.train(
        client, params, dtrain, evals=[(dvalid, "valid")], **options()
    )
    on_dask, logged = found["booster"], found["history"]["valid"][str(GAP)]
    atrain, avalid = (
        xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)
    )
    alone = xgb.train(params, atrain, evals=[(avalid, "valid")], **options())

    best = on_dask.best_iteration
    scores = on_dask.predict(avalid, iteration_range=(0, best + 1))
    same = valid.gap(scores)
    print(
        f"XGBoost  best round {best} on two workers, {alone.best_iteration} on "
        "one machine"
    )
    print(
        f"         {GAP}: logged by the workers {logged[best]:.6f}, on one "
        f"machine {same:.6f}"
    )
    print(
        f"         {GAP} of the model trained on one machine "
        f"{alone.best_score:.6f}"
    )


def with_lightgbm(client: Client, train: Part, valid: Part) -> None:
    """A fixed number of rounds on all workers, and on one machine."""
    params = {
        "metric": "None",
        "n_estimators": 100,
        "num_leaves": 15,
        "verbosity": -1,
    }
    objective = skrank.lightgbm.objective(GAP, **FIRM)
    X, y, _, sizes = train.on_dask()
    on_dask = lgb.DaskLGBMRanker(client=client, objective=objective, **params)
    on_dask.fit(X, y, group=sizes)
    alone = lgb.LGBMRanker(objective=objective, **params)
    alone.fit(train.X, train.y, group=train.sizes)

    found = valid.gap(on_dask.predict(valid.on_dask()[0]).compute())
    same = valid.gap(on_dask.to_local().predict(valid.X))
    by_one = valid.gap(alone.predict(valid.X))
    print(
        f"LightGBM {GAP}: predicted by the workers {found:.6f}, on one machine "
        f"{same:.6f}"
    )
    print(f"         {GAP} of the model trained on one machine {by_one:.6f}")


def main() -> None:
    data = make_ranking(N_TRAIN + N_VALID, random_state=0)
    train, valid = (
        Part(data, data.qid < N_TRAIN),
        Part(data, data.qid >= N_TRAIN),
    )
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        with_xgboost(client, train, valid)
        with_lightgbm(client, train, valid)


if __name__ == "__main__":
    main()
