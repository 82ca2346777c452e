"""What the tests of position bias share."""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import AdditivePositionBias, UnbiasedLambdaRank
from tests.helpers.engine import judge

STABLE = {"tie_order": "stable"}

QUIET = {
    "verbosity": -1, "num_threads": 1, "min_data_in_leaf": 20, "num_leaves": 8, "metric": "None",
}  # fmt: skip

BOTH = [UnbiasedLambdaRank("ndcg"), AdditivePositionBias("ndcg")]
both = pytest.mark.parametrize("objective", BOTH, ids=lambda one: type(one).__name__)


class Clicks:
    """Lists in the order of a weak ranker; users look at a rank by chance, and click what is good.

    Attributes
    ----------
    seen : chance that a rank is looked at
    good : whether each document is good, which only `score` knows
    """

    def __init__(self, seed, n_queries=400, n=10, ragged=False, taste=0.3):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(2, n + 1, n_queries) if ragged else np.full(n_queries, n)
        rows = int(self.sizes.sum())
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.rank = np.concatenate([np.arange(1, size + 1) for size in self.sizes])
        self.X = rng.normal(size=(rows, 4))
        self.worth = 1 / (1 + np.exp(1.5 - 2 * self.X[:, 0]))
        shown = taste * self.X[:, 0] + self.X[:, 1]  # the old ranker likes the second feature
        self._sort(np.lexsort((-shown, self.qid)))
        self.seen = 1 / np.arange(1, n + 1)
        self.good = rng.random(rows) < self.worth
        self.y = (self.good & (rng.random(rows) < self.seen[self.rank - 1])).astype(float)

    def _sort(self, order):
        self.X, self.worth = self.X[order], self.worth[order]

    @property
    def log_odds(self):
        return np.log(self.worth / (1 - self.worth))

    def dataset(self, **kwargs):
        return lgb.Dataset(self.X, self.y, **{"group": self.sizes, "params": dict(QUIET)} | kwargs)

    def dmatrix(self):
        return xgb.DMatrix(self.X, self.y, qid=self.qid, nthread=1)

    def score(self, predictions):
        return skrank.metric("ndcg@5")(self.good, predictions, groups=self.qid)


class Literal:
    """Unbiased LambdaMART by the double loop."""

    def __init__(self, metric, data, *, bias_norm=0.0, norm=False, sigmoid=1.0,
                 truncation_level=None, positions=None, weight=None):  # fmt: skip
        self.metric, self.data, self.norm, self.sigmoid = skrank.metric(metric), data, norm, sigmoid
        self.level = truncation_level
        self.power = 1 / (1 + bias_norm)
        self.positions = data.rank if positions is None else positions
        self.weight = np.ones(len(data.y)) if weight is None else weight
        self.plus = dict.fromkeys(np.unique(self.positions).tolist(), 1.0)
        self.minus = dict(self.plus)

    def step(self, scores):
        grad, hess = np.zeros((2, len(scores)))
        self.costs = {True: dict.fromkeys(self.plus, 0.0), False: dict.fromkeys(self.plus, 0.0)}
        self.shown = dict.fromkeys(self.plus, 0.0)
        for query in np.unique(self.data.qid):
            rows = np.flatnonzero(self.data.qid == query)
            grad[rows], hess[rows] = self.query(rows, scores[rows])
        for ratios, clicked in ((self.plus, True), (self.minus, False)):
            means = {p: c / self.shown[p] for p, c in self.costs[clicked].items()}
            first = means[min(means)]
            if first <= 1e-16:
                continue
            ratios.update({p: (mean / first) ** self.power for p, mean in means.items()})
        return grad, hess

    def query(self, rows, scores):
        n = len(rows)
        grad, hess, total = np.zeros(n), np.zeros(n), 0.0
        order = np.argsort(-scores, kind="stable")
        labels, weight = self.data.y[rows], self.weight[rows[0]]
        plan = self.metric.bind(judge(labels[order]))
        cuts = [cut for cut in (self.metric.k, self.level) if cut is not None]
        cut = 0 if self.metric.ideal_cutoff == 0 else min(cuts, default=None)
        inverse = plan.inverse_ideal(cut)[0]
        if inverse == 0:
            return grad, hess
        deltas = np.abs(plan.tables.deltas(plan.judgments.codes)) * inverse
        for row in rows:
            self.shown[self.positions[row]] += weight
        for a in range(min(n, self.level or n)):
            for b in range(a + 1, n):
                if labels[order[a]] == labels[order[b]]:
                    continue
                i, j = order[[a, b] if labels[order[a]] > labels[order[b]] else [b, a]]
                gap, delta = scores[i] - scores[j], deltas[a, b]
                if self.norm and scores[order[0]] != scores[order[-1]]:
                    delta /= 0.01 + abs(gap)
                p, q = self.positions[rows[i]], self.positions[rows[j]]
                plus, minus = (t if t > 1e-16 else 1.0 for t in (self.plus[p], self.minus[q]))
                wrong = expit(-self.sigmoid * gap)
                pull = self.sigmoid * delta * wrong / (plus * minus)
                grad[i] -= pull
                grad[j] += pull
                hess[[i, j]] += self.sigmoid * pull * expit(self.sigmoid * gap)
                total += 2 * pull
                cost = np.logaddexp(0, -self.sigmoid * gap)
                self.costs[True][p] += weight * delta * cost / minus
                self.costs[False][q] += weight * delta * cost / plus
        factor = np.log2(1 + total) / total if self.norm and total > 0 else 1.0
        return weight * factor * grad, weight * factor * hess


def trained(objective, data, rounds=4, dtype=np.float64, weight=None, positions=None):
    """Gradients of rounds that move against them, and what is learned about positions."""
    per_query = None if weight is None else weight[np.unique(data.qid, return_index=True)[1]]
    bound = objective.bind(judge(data.y, data.qid), per_query, positions=positions)
    scores = np.zeros(len(data.y))
    parts = []
    for _ in range(rounds):
        grad, hess = np.empty((2, len(scores)), dtype)
        bound.gradient(scores, grad, hess)
        parts.append((scores, grad, hess))
        scores = scores - 0.5 * grad.astype(float)
    return parts, bound.position_bias.frame()


def train_lightgbm(objective, train, rounds=40):
    return lgb.train(QUIET | {"objective": objective}, train.dataset(), rounds).predict


def train_xgboost(objective, train, rounds=40):
    params = {"nthread": 1, "max_depth": 3, "eta": 0.1, "disable_default_eval_metric": 1}
    booster = xgb.train(params, train.dmatrix(), rounds, obj=objective)
    return lambda X: booster.predict(xgb.DMatrix(X, nthread=1))


BOOSTERS = {
    "lightgbm": (skrank.lightgbm.objective, train_lightgbm),
    "xgboost": (skrank.xgboost.objective, train_xgboost),
}
