"""Data and trainings for LightGBM and XGBoost: ragged queries, some without a relevant document."""

import copy

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost

LGB = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "metric": "None"}
XGB = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 4}
METRICS = ["gap@10", "gap", "ap@5", "ndcg@10", "ndcg(gain=linear)@3", "err", "rr", "precision@5"]


class Data:
    """Ragged queries, some without a relevant document, with features that tell a part."""

    def __init__(self, seed, n_queries=60, *, max_grade=4, empty=(3, 4, 11)):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(1, 40, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 6))
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, max_grade)
        self.y[np.isin(self.qid, empty)] = 0
        self.query_weight = rng.choice([0.5, 1.0, 2.0], n_queries)
        self.weight = self.query_weight[self.qid]

    def dataset(self, weighted=False, **fields):
        weight = self.weight if weighted else None
        fields = {"label": self.y, "group": self.sizes, "weight": weight} | fields
        return lgb.Dataset(self.X, params=dict(LGB), **fields)

    def matrix(self, weighted=False, kind=xgb.DMatrix, **fields):
        fields = {"label": self.y, "group": self.sizes} | fields
        return kind(self.X, **({"weight": self.query_weight} if weighted else {}) | fields)

    def part(self, rows):
        """The data of whole queries, in the order of `rows`; not of a part."""
        other = copy.copy(self)
        queries = list(dict.fromkeys(self.qid[rows].tolist()))
        other.sizes, other.query_weight = self.sizes[queries], self.query_weight[queries]
        for name in ("X", "y", "qid", "weight"):
            setattr(other, name, getattr(self, name)[rows])
        return other

    def score(self, name, scores, weighted=False):
        weight = self.weight if weighted else None
        return skrank.metric(name)(self.y, scores, groups=self.qid, sample_weight=weight)


class LightGBM:
    module = skrank.lightgbm
    name, source, margin, curvature = "lightgbm", "the lightgbm.Dataset", "init_score", 1

    @staticmethod
    def build(data, **fields):
        return data.dataset(free_raw_data=False, **fields).construct()

    @staticmethod
    def set_weights(dataset, weights):
        dataset.set_weight(np.repeat(weights, dataset.get_group()))

    @staticmethod
    def train(dataset, objective, rounds=15, valid=(), metric=None, **params):
        log = {}
        callbacks = [lgb.record_evaluation(log)] if valid else []
        params = LGB | {"objective": objective} | params
        booster = lgb.train(params, dataset, rounds, list(valid), feval=metric, callbacks=callbacks)
        return booster, log

    @staticmethod
    def scores(booster, data):
        return booster.predict(data.X)


class XGBoost:
    module = skrank.xgboost
    name, source, margin, curvature = "xgboost", "the DMatrix", "base_margin", 2

    @staticmethod
    def build(data, **fields):
        return data.matrix(**fields)

    @staticmethod
    def set_weights(matrix, weights):
        matrix.set_weight(weights)

    @staticmethod
    def train(matrix, obj=None, rounds=15, valid=(), metric=None, callbacks=(), **params):
        log = {}
        booster = xgb.train(
            XGB | params, matrix, rounds, obj=obj, custom_metric=metric, evals_result=log,
            evals=[(one, f"valid_{number}") for number, one in enumerate(valid)],
            callbacks=list(callbacks), verbose_eval=False,
        )  # fmt: skip
        return booster, log

    @staticmethod
    def scores(booster, data):
        return booster.predict(data.matrix(), output_margin=True)


LIBRARIES = (LightGBM, XGBoost)
