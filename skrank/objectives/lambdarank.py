"""LambdaRank: pairs of documents pull apart as hard as their swap would change the metric."""

from __future__ import annotations

import zlib
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank._parallel import run_chunks
from skrank.metrics.base import Metric, metric
from skrank.metrics.plan import Judgments, Plan, rank_scores
from skrank.objectives.base import Objective

if TYPE_CHECKING:
    from collections.abc import Mapping

TIE_ORDERS = ("random", "stable")
_SEEDING_SCORES = 10_000  # enough to tell one round's scores from another's
# Ranges of sigmoid * score inside a query up to which exponentials of the centred scores are safe.
_WIDEST: Mapping[type, float] = {np.float32: 150.0, np.float64: 1400.0}


@dataclass(frozen=True)
class LambdaRank(Objective):
    """LambdaRank on a metric.

    A pair of documents whose labels differ, the better with score s_i, the worse with s_j, costs
    ``|delta| log(1 + exp(-sigmoid (s_i - s_j)))``, delta being the change of the metric when the
    two swap places. The gradient takes delta as constant.

    Parameters
    ----------
    metric : str or Metric
        Any metric of the quadratic and the cascade family. It is divided by the best value at the
        cut-off, whatever its `normalize` says, so that every query can reach 1.
    sigmoid : float
        Slope of the pair cost, above 0.
    truncation_level : int, optional
        Only pairs with a document within this rank count, and ideal values are taken there.
        Default: all pairs; LightGBM uses 30, XGBoost 32.
    norm : bool
        Divide the delta of a pair by 0.01 + |s_i - s_j|, and scale the gradients of a query to the
        logarithm of their sum, as LightGBM and XGBoost do.
    tie_order : {"random", "stable"}
        Order of documents with equal scores: random, drawn anew each round, or by row, as in
        LightGBM and XGBoost. All documents tie in the first round, so that row order would teach
        the model whatever the row order of the file says.
    random_state : int
        Seed of the random order.

    References
    ----------
    C. Burges, R. Ragno, Q. V. Le, Learning to Rank with Nonsmooth Cost Functions, NIPS 2006.
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82.

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.LambdaRank("gap")([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 1.184, -0.935, -0.249])
    """

    metric: Metric
    _: KW_ONLY
    sigmoid: float = 1.0
    truncation_level: int | None = None
    norm: bool = True
    tie_order: str = "random"
    random_state: int = 0

    def __post_init__(self) -> None:
        level = self.truncation_level
        if level is not None:
            level = check.check_count("truncation_level", level, "the rank that pairs must reach")
        chosen = metric(self.metric)
        if chosen.untrainable:
            raise ValueError(f"{chosen} cannot be trained on: {chosen.untrainable}")
        if chosen.condensed:
            raise ValueError(
                f"{chosen} cannot be trained on: drop the training rows without a label."
            )
        normalised = {
            "metric": chosen,
            "sigmoid": check.check_number("sigmoid", self.sigmoid, 0, 1e6, open_low=True),
            "truncation_level": level,
            "norm": check.check_flag("norm", self.norm),
            "tie_order": check.check_choice("tie_order", self.tie_order, TIE_ORDERS),
            "random_state": check.check_seed("random_state", self.random_state),
        }
        for name, value in normalised.items():
            object.__setattr__(self, name, value)

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> BoundLambdaRank:
        """The objective on judgments, with one weight per query."""
        return BoundLambdaRank(self, judgments, weights, max_grade)


class BoundLambdaRank:
    """LambdaRank on one data set: tables, normalisers, last round's order, number of rounds."""

    def __init__(
        self,
        objective: LambdaRank,
        judgments: Judgments,
        weights: np.ndarray | None,
        max_grade: int | None,
    ) -> None:
        plan = Plan(objective.metric, judgments, max_grade=max_grade)
        n_rows, n_queries = judgments.queries.n_rows, len(judgments.queries)
        self.objective = objective
        self.queries = judgments.queries
        self.indptr = judgments.indptr
        self.codes = judgments.codes
        self.kernel, self.arrays = plan.tables.lambda_kernel(n_queries)
        self.truncation = objective.truncation_level or plan.scale.longest
        self.inverse = plan.inverse_ideal(self._ideal_cutoff()) * plan.slope()
        self.weight = np.ones(n_queries) if weights is None else weights
        self.order = np.empty(n_rows, np.int32)
        self.tied = np.empty(n_rows, np.uint8)
        self.retrieved = np.empty(n_queries, np.int64)
        self.warm = False  # whether `order` holds that of an earlier round
        self.round = 0

    def _ideal_cutoff(self) -> int | None:
        """Cut-off of the best value: no pair looks deeper than k and the truncation level."""
        if self.objective.metric.ideal_cutoff == 0:
            return 0
        levels = (self.objective.metric.k, self.objective.truncation_level)
        return min((level for level in levels if level is not None), default=None)

    def _rank(self, scores: np.ndarray) -> None:
        """Order the scores, starting from last round's order, which they still resemble."""
        from skrank._kernels import ranking

        rank_scores(self.queries, scores, self.order, self.tied, self.retrieved, warm=self.warm)
        lost = np.flatnonzero(self.retrieved != self.queries.sizes)
        if len(lost):
            query = self.queries.name(int(lost[0]))
            raise ValueError(
                f"a score of query {query} is -inf: gradients need finite scores. "
                "Lower the learning rate, or drop the documents that were not retrieved."
            )
        if self.objective.tie_order == "random":
            # seeded by the scores too: callers that count no rounds get new draws as scores change
            drawn = np.ascontiguousarray(scores[:: 1 + len(scores) // _SEEDING_SCORES])
            seed = self.objective.random_state * 2**32 + zlib.crc32(drawn.data) + self.round
            seed %= 2**63
            run_chunks(ranking.shuffle_ties, self.indptr, self.tied, seed, self.order)

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        self._rank(scores)
        self.warm = True
        self.round += 1
        objective = self.objective
        run_chunks(
            self.kernel, self.indptr, self.codes, self.order, scores, *self.arrays,
            self.inverse, self.weight,
            objective.sigmoid, self.truncation, objective.norm, objective.norm,
            _WIDEST[grad.dtype.type], grad, hess,
        )  # fmt: skip
