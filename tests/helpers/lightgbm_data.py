"""Data for LightGBM: ragged queries, some without a relevant document."""

import lightgbm as lgb
import numpy as np

import skrank
import skrank.lightgbm

QUIET = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 5, "metric": "None"}
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
        self.weight = rng.choice([0.5, 1.0, 2.0], n_queries)[self.qid]

    def dataset(self, weight=False, **kwargs):
        weight = self.weight if weight else None
        fields = {"group": self.sizes, "weight": weight, "params": dict(QUIET)}
        return lgb.Dataset(self.X, self.y, **fields | kwargs)

    def score(self, name, scores, weight=False):
        weight = self.weight if weight else None
        return skrank.metric(name)(self.y, scores, groups=self.qid, sample_weight=weight)


def fit(data, objective, rounds=15, weight=False, **params):
    return lgb.train(QUIET | {"objective": objective} | params, data.dataset(weight), rounds)
