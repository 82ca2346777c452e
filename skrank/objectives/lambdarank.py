"""LambdaRank: pairs of documents pull apart as hard as their swap would change the metric."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.order import rank_scores
from skrank._engine.threads import run_chunks
from skrank._kernels.arguments import Gradients, Lists, Pairs
from skrank.metrics import Metric, metric
from skrank.objectives.base import Objective, seed_of_round

if TYPE_CHECKING:
    from collections.abc import Mapping

TIE_ORDERS = ("random", "stable")
PAIRS = ("all", "adjacent")
_SEED_STEP = 0x1E3779B97F4A7C15  # between orders of a round; rounds are 1 apart
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
        Both normalisations below, as in LightGBM and by default in XGBoost, or neither.
    score_norm : bool, optional
        Divide the delta of a pair by 0.01 + |s_i - s_j|, in queries whose scores differ. Default:
        as `norm`.
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

    metric: Metric
    _: KW_ONLY
    sigmoid: float = 1.0
    truncation_level: int | None = None
    norm: bool = True
    score_norm: bool | None = None
    sum_norm: bool | None = None
    perturbations: int | None = None
    temperature: float = 1.0
    pairs: str = "all"
    tie_order: str = "random"
    random_state: int = 0

    def __post_init__(self) -> None:
        level, orders = self.truncation_level, self.perturbations
        if level is not None:
            level = check.check_count("truncation_level", level, "the rank that pairs must reach")
        if orders is not None:
            orders = check.check_count("perturbations", orders, "the number of orders")
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
            "score_norm": _switch("score_norm", self.score_norm),
            "sum_norm": _switch("sum_norm", self.sum_norm),
            "perturbations": orders,
            "temperature": check.check_number(
                "temperature", self.temperature, 0, 1e6, open_low=True
            ),
            "pairs": check.check_choice("pairs", self.pairs, PAIRS),
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


def _switch(name: str, value: bool | None) -> bool | None:
    return None if value is None else check.check_flag(name, value)


class BoundLambdaRank:
    """LambdaRank on one data set: tables, normalisers, last round's order, number of rounds.

    Attributes
    ----------
    totals : float64 ndarray (n_queries,)
        Of the last round: S of each query, before weights and `sum_norm`.
    """

    def __init__(
        self,
        objective: LambdaRank,
        judgments: Judgments,
        weights: np.ndarray | None,
        max_grade: int | None,
    ) -> None:
        plan = objective.metric.bind(judgments, max_grade=max_grade)
        n_rows, n_queries = judgments.queries.n_rows, len(judgments.queries)
        self.objective = objective
        self.queries = judgments.queries
        self.indptr = judgments.indptr
        self.kernels = plan.tables.lambda_kernels(judgments)
        self.truncation = objective.truncation_level or plan.scale.longest
        self.inverse = plan.inverse_ideal(self._ideal_cutoff()) * plan.slope()
        self.weight = np.ones(n_queries) if weights is None else weights
        self.score_norm = objective.norm if objective.score_norm is None else objective.score_norm
        self.sum_norm = objective.norm if objective.sum_norm is None else objective.sum_norm
        self.order = np.empty(n_rows, np.int32)
        self.tied = np.empty(n_rows, np.uint8)
        self.retrieved = np.empty(n_queries, np.int64)
        self.totals = np.empty(n_queries)
        self.warm = False  # whether `order` holds that of an earlier round
        self.round = 0

    def _ideal_cutoff(self) -> int | None:
        """Cut-off of the best value: no pair looks deeper than k and the truncation level."""
        if self.objective.metric.ideal_cutoff == 0:
            return 0
        levels = (self.objective.metric.k, self.objective.truncation_level)
        return min((level for level in levels if level is not None), default=None)

    def _seed(self, scores: np.ndarray) -> int:
        return seed_of_round(self.objective.random_state, self.round, scores)

    def _rank(self, scores: np.ndarray, seed: int, *, warm: bool) -> None:
        """Order the scores; `warm` starts from the last order, if they still resemble it."""
        from skrank._kernels import ranking

        rank_scores(self.queries, scores, self.order, self.tied, self.retrieved, warm=warm)
        lost = np.flatnonzero(self.retrieved != self.queries.sizes)
        if len(lost):
            query = self.queries.name(int(lost[0]))
            raise ValueError(
                f"a score of query {query} is -inf: gradients need finite scores. "
                "Lower the learning rate, or drop the documents that were not retrieved."
            )
        if self.objective.tie_order == "random":
            run_chunks(ranking.shuffle_ties, self.indptr, self.tied, seed, self.order)

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        seed = self._seed(scores)
        if self.objective.perturbations:
            self._perturbed_gradient(scores, seed, grad, hess)
        else:
            self._rank(scores, seed, warm=self.warm)
            self._pull(scores, self.sum_norm, grad, hess)
        self.warm = True
        self.round += 1

    def _pull(self, scores: np.ndarray, sum_norm: bool, grad: np.ndarray, hess: np.ndarray) -> None:
        """Gradient and curvature in the present order."""
        from skrank._kernels import lambdarank

        kernels, out = self.kernels, Gradients(grad, hess, self.totals)
        lists, pairs = self._lists(kernels.codes, scores), self._pairs(sum_norm, grad)
        if self.objective.pairs == "all":
            run_chunks(kernels.gradients, self.indptr, lists, kernels.form, pairs, out)
            return
        lead = np.empty_like(scores)
        run_chunks(kernels.neighbours, self.indptr, lists, kernels.form, self.truncation, lead)
        run_chunks(lambdarank.neighbours, self.indptr, lists, lead, pairs, out)

    def _lists(self, codes: np.ndarray, scores: np.ndarray) -> Lists:
        return Lists(codes, self.order, scores, self.inverse, self.weight)

    def _pairs(self, sum_norm: bool, grad: np.ndarray) -> Pairs:
        return Pairs(
            self.objective.sigmoid, self.truncation, self.score_norm, sum_norm,
            _WIDEST[grad.dtype.type],
        )  # fmt: skip

    def _perturbed_gradient(
        self, scores: np.ndarray, seed: int, grad: np.ndarray, hess: np.ndarray
    ) -> None:
        """Means over the orders of noisy scores."""
        from skrank._kernels import lambdarank, ranking

        n_orders = self.objective.perturbations or 0
        noisy, one_grad, one_hess = np.empty_like(scores), np.empty_like(grad), np.empty_like(hess)
        totals = np.zeros_like(self.totals)
        grad[:] = 0
        hess[:] = 0
        for number in range(n_orders):
            seed_of_order = (seed + number * _SEED_STEP) % 2**63
            arguments = (scores, self.objective.temperature, seed_of_order, noisy)
            run_chunks(ranking.add_noise, self.indptr, *arguments)
            self._rank(noisy, seed_of_order, warm=False)
            self._pull(scores, False, one_grad, one_hess)
            grad += one_grad
            hess += one_hess
            totals += self.totals
        grad /= n_orders
        hess /= n_orders
        self.totals = totals / n_orders
        if self.sum_norm:
            run_chunks(lambdarank.normalise, self.indptr, Gradients(grad, hess, self.totals))
