"""Data for XGBoost: ragged queries, some without a relevant document."""

import numpy as np
import xgboost as xgb

import skrank
import skrank.xgboost

QUIET = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 4}
METRICS = ["gap@10", "gap", "ap@5", "ndcg@10", "ndcg(gain=linear)@3", "err", "rr", "precision@5"]


class Data:
    """Ragged queries, some without a relevant document, with features that tell a part."""

    def __init__(self, seed, n_queries=60):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(1, 40, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 6)).astype(np.float32)
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, 4)
        self.y[np.isin(self.qid, (3, 4, 11))] = 0
        self.weight = rng.choice([0.5, 1.0, 2.0], n_queries)

    def matrix(self, weighted=False, kind=xgb.DMatrix, **fields):
        fields = {"label": self.y, "qid": self.qid} | fields
        return kind(self.X, **({"weight": self.weight} if weighted else {}) | fields)

    def score(self, name, scores, weight=False):
        weight = self.weight[self.qid] if weight else None
        return skrank.metric(name)(self.y, scores, groups=self.qid, sample_weight=weight)


def fit(matrix, obj=None, rounds=15, **params):
    return xgb.train(QUIET | params, matrix, rounds, obj=obj)


def margins(booster, data):
    return booster.predict(data.matrix(), output_margin=True)


def train_until(train, valid, stop, *metrics, **kwargs):
    log = {}
    booster = xgb.train(
        QUIET | {"learning_rate": 0.5},
        train.matrix(),
        150,
        evals=[(valid.matrix(), "valid"), (train.matrix(), "train")],
        obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric(*metrics, max_grade=4),
        callbacks=[stop],
        evals_result=log,
        verbose_eval=False,
    )
    return booster, log["valid"]
