"""An objective of your own: squared hinge loss of pairs, with its tests.

python examples/own_objective.py
"""

# objective
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import skrank
from skrank.extending import BoundObjective, Judgments
from skrank.objectives import ObjectiveMixture
from skrank.testing import check_objective, make_ranking


@dataclass(frozen=True)
class PairHinge(skrank.Objective):
    """Loss ``max(0, margin - (s_i - s_j))**2 / 2`` of pairs, i above j."""

    margin: float = 1.0

    @property
    def is_function(self) -> bool:
        """True: the gradient is the derivative of `losses`."""
        return True

    def bind(self, judgments: Judgments, weights=None, *, max_grade=None):
        """Compute everything that depends on labels only, once per data set."""
        return BoundPairHinge(self.margin, judgments, weights)


class BoundPairHinge(BoundObjective):
    """The objective on one data set."""

    def __init__(self, margin: float, judgments: Judgments, weights) -> None:
        self.margin = margin
        labels = judgments.labels[judgments.codes]
        # rows of each query
        self.queries = [slice(a, b) for a, b in pairwise(judgments.indptr)]
        self.better = [
            np.greater.outer(labels[rows], labels[rows])
            for rows in self.queries
        ]
        self.weight = np.ones(len(self.queries)) if weights is None else weights

    def losses(
        self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray
    ) -> np.ndarray:
        """Return losses of queries; write gradient and curvature of rows."""
        if not np.isfinite(scores).all():
            raise ValueError(
                "PairHinge needs finite scores: lower the learning rate."
            )
        losses = np.zeros(len(self.queries))
        for number, rows in enumerate(self.queries):
            hinge = self.margin - np.subtract.outer(scores[rows], scores[rows])
            hinge = np.where(self.better[number], np.maximum(hinge, 0), 0)
            n_active = (hinge > 0).sum(axis=0) + (hinge > 0).sum(axis=1)
            weight = self.weight[number]
            losses[number] = weight * (hinge**2).sum() / 2
            grad[rows] = weight * (hinge.sum(axis=0) - hinge.sum(axis=1))
            hess[rows] = weight * n_active
        return losses


# use
if __name__ == "__main__":
    for name in check_objective(PairHinge()):
        print("holds:", name)

    import lightgbm

    data = make_ranking(n_queries=200, n_docs=12, random_state=0)
    y = skrank.with_groups(data.relevance, data.qid)
    X_train, X_test, y_train, y_test = skrank.query_train_test_split(
        data.X, y, random_state=0
    )
    mixed = ObjectiveMixture([(0.5, PairHinge()), (0.5, "gap")])
    for name, objective in {
        "hinges": PairHinge(),
        "hinges and GAP": mixed,
        "GAP": "gap",
    }.items():
        model = lightgbm.LGBMRanker(n_estimators=50, verbosity=-1)
        ranker = skrank.GroupedRanker(model, objective=objective).fit(
            X_train, y_train
        )
        print(
            f"{ranker.score(X_test, y_test):.3f} nDCG@10 on new queries, "
            f"trained on {name}"
        )
