"""LambdaRank: gradients of pairs, weighted by the change of the metric when they are swapped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.judgments import Judgments
from skrank.objectives._pairs import PairObjective, PairRounds


@dataclass(frozen=True)
class LambdaRank(PairObjective):
    """LambdaRank on a metric.

    A pair of documents whose labels differ, the better with score s_i, the worse with s_j, costs
    ``|delta| log(1 + exp(-sigmoid (s_i - s_j)))``, delta being the change of the metric when the
    two swap places. The gradient takes delta as constant.

    Parameters
    ----------
    metric : str or Metric
        Any metric of the quadratic and the cascade family. gap, ap, q, ndcg and nerr are divided by
        their best value at the cut-off, whatever `normalize` says, so that every query can reach
        1. All others, such as dcg, err, pfound, rbp, precision and recall, are taken as they are.
    sigmoid : float
        Slope of the pair cost, above 0.
    truncation_level : int, optional
        Only pairs with a document within this rank count, and ideal values are taken there.
        Default: all pairs; LightGBM uses 30, XGBoost 32.
    norm : bool
        Both normalisations below, as in LightGBM and by default in XGBoost, or neither.
    score_norm : bool, optional
        Divide the delta of a pair by ``0.01 + |s_i - s_j|``, in queries whose scores differ.
        Default: as `norm`.
    sum_norm : bool, optional
        Scale the gradients of a query from their sum S, twice that of its pairs, to log2(1 + S).
        Default: as `norm`.
    perturbations : int, optional
        Average the deltas over so many orders, drawn anew each round by adding Gumbel noise to the
        scores: ties and the first rounds are explored, as in YetiRank. A round takes so many times
        as long. Default: the one order of the scores.
    temperature : float
        Scale of the noise in units of the scores, above 0: at 1, orders have the probabilities of
        a Plackett-Luce model of the scores.
    pairs : {"all", "adjacent"}
        Pairs of documents that count: all, or neighbours in the order, which is faster and, as in
        YetiRank, goes with perturbations.
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
        """The objective on judgments, with one weight per query."""
        plan = self.metric.bind(judgments, max_grade=max_grade)
        return PairRounds(self, plan, weights, plan.tables.lambda_kernels(judgments))
