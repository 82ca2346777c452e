"""LambdaRank: gradients of pairs, weighted by the change of the metric if they swap ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.judgments import Judgments
from skrank.objectives._pairs import PairObjective, PairRounds


@dataclass(frozen=True)
class LambdaRank(PairObjective):
    """LambdaRank on a metric.

    A pair of documents whose labels differ, the better with score s_i, the worse with s_j, has the
    loss ``|delta| log(1 + exp(-sigmoid (s_i - s_j)))``, where delta is the change of the metric if
    the two documents swap ranks. The gradient treats delta as a constant.

    Parameters
    ----------
    metric : str or Metric
        Any metric of the quadratic and the cascade family. gap, ap, q, ndcg and nerr are divided by
        their best value at the cut-off, for any `normalize`, so that the best value of every query
        is 1. Other metrics, such as dcg, err, pfound, rbp, precision and recall, are not divided.
    sigmoid : float
        Slope of the loss of a pair, above 0.
    truncation_level : int, optional
        A pair counts only if one of its ranks is at most this, and the best value has this cut-off.
        Default: all pairs; LightGBM uses 30, XGBoost 32.
    norm : bool
        Default of `score_norm` and `sum_norm`. True, as in LightGBM and by default in XGBoost.
    score_norm : bool, optional
        Divide the delta of a pair by ``0.01 + |s_i - s_j|``, in queries whose scores differ.
        Default: `norm`.
    sum_norm : bool, optional
        Multiply the gradients of a query by log2(1 + S) / S, where S is the sum of the absolute
        gradients of all pairs on both documents. Default: `norm`.
    perturbations : int, optional
        Average the deltas over this number of orders, drawn anew each round by adding Gumbel noise
        to the scores, as in YetiRank. So the first rounds, and ties, see more orders. The time of a
        round is multiplied by this number. Default: only the order of the scores.
    temperature : float
        Scale of the noise in units of the scores, above 0: at 1, orders have the probabilities of
        a Plackett-Luce model of the scores.
    pairs : {"all", "adjacent"}
        Pairs of documents that count: all, or adjacent ranks only, which is faster. YetiRank uses
        adjacent ranks with perturbations.
    tie_order : {"random", "stable"}
        Order of documents with equal scores: random, drawn anew each round, or by row, as in
        LightGBM and XGBoost. All documents tie in the first round, so that with "stable" the model
        depends on the order of rows.
    random_state : int
        Seed of the random order.

    References
    ----------
    C. Burges, R. Ragno, Q. V. Le, Learning to Rank with Nonsmooth Cost Functions, NIPS 2006.
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82.
    A. Gulin, I. Kuralenok, D. Pavlov, Winning The Transfer Learning Track of Yahoo!'s Learning To
    Rank Challenge with YetiRank, JMLR W&CP 14, 2011.

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.LambdaRank("gap")([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 1.184, -0.935, -0.249])
    """

    name = "lambdarank"

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> PairRounds:
        """The objective bound to judgments, with one weight per query."""
        plan = self.metric.bind(judgments, max_grade=max_grade)
        return PairRounds(self, plan, weights, plan.tables.lambda_kernels(judgments))
