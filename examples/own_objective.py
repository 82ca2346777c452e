"""An objective of your own: squared hinge loss of pairs, with its tests.

python examples/own_objective.py
"""

# objective
from dataclasses import dataclass
from itertools import pairwise

import lightgbm
import numpy as np

import skrank
from skrank.datasets import make_ranking
from skrank.extending import BoundObjective, Judgments


@dataclass(frozen=True)
class PairHinge(skrank.Objective):
    """Loss ``max(0, margin - (s_i - s_j))**2 / 2`` of pairs, i better."""

    margin: float = 1.0

    @property
    def is_function(self) -> bool:
        """True: the gradient is the derivative of `losses`, which is tested."""
        return True

    def bind(self, judgments: Judgments, weights=None, *, max_grade=None):
        """Compute what depends on labels only, once per data set."""
        return BoundPairHinge(self.margin, judgments, weights)


class BoundPairHinge(BoundObjective):
    """The objective on one data set."""

    def __init__(self, margin: float, judgments: Judgments, weights) -> None:
        self.margin = margin
        y = judgments.labels[judgments.codes]
        self.queries = [slice(a, b) for a, b in pairwise(judgments.indptr)]
        self.better = [np.greater.outer(y[q], y[q]) for q in self.queries]
        ones = np.ones(len(self.queries))
        self.weight = ones if weights is None else weights

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray):
        """Return losses by query; write gradient and curvature by row."""
        if not np.isfinite(scores).all():
            raise ValueError("Scores must be finite: lower the learning rate.")
        losses = np.zeros(len(self.queries))
        for number, rows in enumerate(self.queries):
            differences = np.subtract.outer(scores[rows], scores[rows])
            hinge = np.maximum(self.margin - differences, 0)
            hinge *= self.better[number]
            weight = self.weight[number]
            losses[number] = weight * (hinge**2).sum() / 2
            grad[rows] = weight * (hinge.sum(axis=0) - hinge.sum(axis=1))
            active = hinge > 0
            hess[rows] = weight * (active.sum(axis=0) + active.sum(axis=1))
        return losses


data = make_ranking(n_queries=200, n_docs=12, random_state=0)
y = skrank.with_groups(data.relevance, data.qid)
X, X_test, y, y_test = skrank.query_train_test_split(data.X, y, random_state=0)
model = lightgbm.LGBMRanker(n_estimators=50, n_jobs=1, verbosity=-1)
objectives = {
    "pairs": PairHinge(),
    "pairs and GAP": 0.5 * PairHinge() + 0.5 * skrank.LambdaRank("gap"),
}
for name, objective in objectives.items():
    ranker = skrank.GroupedRanker(model, objective=objective).fit(X, y)
    print(f"{name:14} nDCG@10 {ranker.score(X_test, y_test):.2f}")


# test
from skrank.testing import check_objective  # noqa: E402

print(len(check_objective(PairHinge())), "properties hold")
