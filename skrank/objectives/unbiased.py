"""Unbiased LambdaMART: pairs of a clicked and another document, weighted by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.judgments import Judgments
from skrank._engine.parameters import choice, count, number
from skrank._engine.plan import Plan
from skrank._engine.tables import LambdaKernels
from skrank._engine.threads import run_chunks
from skrank._kernels.debiased import Clicks
from skrank._kernels.lambdarank import Gradients, PairOptions
from skrank._kernels.quadratic import QuadraticSwaps
from skrank._kernels.quadratic_lambdas import lambdas
from skrank._typing import Weights
from skrank.objectives._bound import blocks
from skrank.objectives._positions import BoundPositionObjective, PositionBias, PositionObjective
from skrank.objectives.lambdarank import BoundPairs, PairObjective

_UNSEEN = 1e-16  # ratios and costs up to this count as unknown


@dataclass(frozen=True)
class UnbiasedLambdaRank(PairObjective, PositionObjective):
    r"""LambdaRank for clicks, whose probability depends on the position of the document.

    t+ of a position is the probability of a click there, divided by that at the first position; t-
    is the same ratio for the probability of no click. A pair of a clicked document i and a document
    j that was not clicked has the weight

    .. math:: \frac{|\Delta_{ij}|}{t^+_i t^-_j}

    instead of LambdaRank's :math:`|\Delta_{ij}|`. After each round, t+ is estimated as follows. The
    LambdaRank loss of each pair is divided by its :math:`t^-_j` and added to the position of its
    clicked document. The mean per document shown at a position is divided by that at the first
    position, and raised to the power :math:`1 / (1 + \text{bias\_norm})`. t- is estimated likewise.

    Parameters
    ----------
    metric : str or Metric
        A metric of the quadratic family: ndcg, dcg, ap, gap, precision, ... Cascade metrics such as
        err and rr are refused; `skrank.AdditivePositionBias` takes any metric.
    bias_norm : float
        Regularisation of the ratios, at least 0; the higher, the nearer the ratios are to 1.
        XGBoost calls it ``lambdarank_bias_norm``, with the default 1.
    max_position : int, optional
        Larger positions share the ratios of this one. Default: each position has its own ratios.
    norm : bool
        As in `LambdaRank`, but False by default, as the paper does not normalise, and losses that
        are divided by the distance of the scores depend less on positions.
    pairs : {"all"}
        Unlike `LambdaRank`, "adjacent" is not available.
    sigmoid, truncation_level, score_norm, sum_norm, perturbations, temperature, tie_order
        See `LambdaRank`.
    random_state
        See `LambdaRank`.

    Notes
    -----
    Positions come from ``position=`` of `GroupedRanker.fit`, or of a LightGBM Dataset, which
    numbers them anew from 0 on, in the order of their first occurrence. Everywhere else they are
    the order of the rows inside their query: sort the rows of a query as they were shown. The
    lowest is the first position.

    The ratios are learned from round to round. `skrank.GroupedRanker` and the functions `cv` begin
    each training with ratios of 1. Before a further `lightgbm.train` or `xgboost.train` with the
    same callable and data set, call ``restart()`` of the callable, which otherwise starts from
    the ratios of the last training.

    XGBoost's ``rank:ndcg`` with ``lambdarank_unbiased=True`` differs in two ways. Its loss of a
    pair is ``log(1 + exp(s_i - s_j))``, which is high for pairs in the right order; here, and in
    the paper, it is ``log(1 + exp(s_j - s_i))``. And XGBoost sums losses, whereas skrank averages
    them over the documents shown at a position. Sums are low for positions that only long lists
    have.

    References
    ----------
    Z. Hu, Y. Wang, Q. Peng, H. Li, Unbiased LambdaMART: An Unbiased Pairwise Learning-to-Rank
    Algorithm, WWW 2019.

    Examples
    --------
    >>> import skrank
    >>> unbiased = skrank.UnbiasedLambdaRank("ndcg")
    >>> grad, hess = unbiased([1, 0, 0], [0.0, 0.0, 0.0])  # the first round: all ratios are 1
    >>> bool(grad[0] < 0)
    True
    """

    name = "unbiased_lambdarank"
    by_query = False  # ratios are learned from all queries
    _: KW_ONLY
    norm: bool = False
    bias_norm: float = number(0.0, 0, 1e6)
    max_position: int | None = count(None, "the largest position")
    pairs: str = choice("all", ("all",))

    def bind(
        self,
        judgments: Judgments,
        weights: Weights = None,
        *,
        max_grade: int | None = None,
        positions: ArrayLike | None = None,
    ) -> BoundUnbiasedLambdaRank:
        """The objective bound to judgments, with one weight per query and one position per row."""
        bias = PositionBias(
            judgments.queries, positions, self.max_position, clicked=1.0, skipped=1.0
        )
        parts = []
        for queries, rows, block in blocks(judgments):
            plan = self.metric.bind(block, max_grade=max_grade)
            kernels = plan.tables.lambda_kernels(block)
            if len(kernels) > 1 or not isinstance(kernels[0].form, QuadraticSwaps):
                raise ValueError(
                    f"UnbiasedLambdaRank has no pair weights for {self.metric} on these labels: "
                    f"use skrank.AdditivePositionBias({str(self.metric)!r}), which takes any."
                )
            some = None if weights is None else weights[queries]
            parts.append((rows, _BoundBlock(self, plan, some, kernels, bias.codes[rows], bias)))
        return BoundUnbiasedLambdaRank(parts, bias, self.bias_norm)


class _BoundBlock(BoundPairs):
    """A block of queries: gradients with the ratios of positions, and costs of pairs."""

    def __init__(
        self,
        objective: UnbiasedLambdaRank,
        plan: Plan,
        weights: Weights,
        kernels: Sequence[LambdaKernels],
        shown: np.ndarray,
        bias: PositionBias,
    ) -> None:
        super().__init__(objective, plan, weights, kernels)
        self.shown = shown
        self.bias = bias
        self.costs = np.zeros((2, len(bias.positions)))

    def fill(self, scores: np.ndarray, pairs: PairOptions, out: Gradients) -> None:
        """Fill in the gradients from all pairs, and add up the costs by position."""
        real = out.grad.dtype  # dtype of pairs
        factors = [_inverse(one).astype(real)[self.shown] for one in self.bias.estimates.values()]
        costs = np.empty((2, self.queries.n_rows), real)
        clicks = Clicks(*factors, *costs)
        for one, rows, _ in self.each_metric(scores, out):
            run_chunks(lambdas, self.indptr, rows, one.form, pairs, out, clicks)
        for total, own in zip(self.costs, costs, strict=True):
            total += np.bincount(self.shown, own, len(total))


class BoundUnbiasedLambdaRank(BoundPositionObjective):
    """LambdaRank bound to the blocks of a data set, and the ratios of its positions."""

    parts: Sequence[tuple[slice, _BoundBlock]]

    def __init__(
        self,
        parts: list[tuple[slice, _BoundBlock]],
        bias: PositionBias,
        bias_norm: float,
    ) -> None:
        super().__init__(parts, bias)
        self.bias_norm = bias_norm
        self.mass = np.zeros(len(bias.positions))
        for rows, block in parts:
            counted = np.where(block.inverse != 0, block.weight, 0.0)
            worth = np.repeat(counted, block.queries.sizes)
            self.mass += np.bincount(bias.codes[rows], worth, len(self.mass))

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` with the current ratios, and update the ratios from the costs."""
        costs = np.zeros((2, len(self.mass)))
        for rows, block in self.parts:
            block.costs[:] = 0
            block.gradient(scores[rows], grad[rows], hess[rows])
            costs += block.costs
        for ratios, cost in zip(self.position_bias.estimates.values(), costs, strict=True):
            self._learn(ratios, cost)

    def _learn(self, ratios: np.ndarray, costs: np.ndarray) -> None:
        """Update ratios from the costs of positions, unless costs are infinite or first is 0."""
        means = np.divide(costs, self.mass, out=np.zeros_like(costs), where=self.mass > 0)
        if means[0] > _UNSEEN and np.isfinite(means).all():
            ratios[:] = (means / means[0]) ** (1 / (1 + self.bias_norm))


def _inverse(ratios: np.ndarray) -> np.ndarray:
    """1 / t; 1 for unknown t, at whose positions no pair counts."""
    return np.divide(1.0, ratios, out=np.ones_like(ratios), where=ratios > _UNSEEN)
