"""Cross-validations by skrank and by hand."""

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import skrank
import skrank.lightgbm
import skrank.xgboost

LGB = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 8}
XGB = {"nthread": 1, "max_depth": 3}
FIRM = {"tie_order": "stable"}  # so that the order of queries draws nothing


class Data:
    """Ragged queries of string ids; some without a relevant document."""

    def __init__(self, seed=0, n_queries=40):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, 15, n_queries)
        self.qid = np.repeat([f"q{i:02d}" for i in rng.permutation(n_queries)], self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 4)).astype(np.float32)
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, 3)
        self.y[np.isin(self.qid, ("q03", "q17"))] = 0
        self.query_weight = rng.choice([0.5, 1.0, 3.0], n_queries)
        self.weight = np.repeat(self.query_weight, self.sizes)

    def dataset(self, weighted=False, **fields):
        weight = self.weight if weighted else None
        fields = {"group": self.sizes, "weight": weight, "params": dict(LGB)} | fields
        return lgb.Dataset(self.X, self.y, **fields)

    def matrix(self, weighted=False, rows=slice(None)):
        sizes = run_lengths(self.qid[rows])
        weight = self.weight[rows][np.cumsum(sizes) - 1] if weighted else None
        return xgb.DMatrix(self.X[rows], self.y[rows], group=sizes, weight=weight)

    def score(self, metric, scores, rows, weighted=False):
        weight = self.weight[rows] if weighted else None
        scale = {"max_grade": int(self.y.max())} if metric == "err" else {}  # of all labels
        return skrank.metric(metric, **scale)(
            self.y[rows], scores, groups=self.qid[rows], sample_weight=weight
        )

    def shuffled(self, seed):
        """The same queries in another order."""
        order = np.random.default_rng(seed).permutation(len(self.sizes))
        starts = np.cumsum(self.sizes) - self.sizes
        rows = np.concatenate([np.arange(starts[q], starts[q] + self.sizes[q]) for q in order])
        other = Data.__new__(Data)
        other.sizes, other.query_weight = self.sizes[order], self.query_weight[order]
        for name in ("qid", "X", "y", "weight"):
            setattr(other, name, getattr(self, name)[rows])
        return other


def run_lengths(values):
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    return np.diff(np.r_[starts, len(values)])


def splits(data, n_splits=3, seed=0):
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    cv = skrank.QueryKFold(n_splits, shuffle=True, random_state=seed)
    return list(cv.split(data.X, data.y, number))
