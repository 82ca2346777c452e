"""Unbiased LambdaMART: pairs of a clicked and another document, weighed by where they stood."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.judgments import Judgments
from skrank._engine.parameters import choice, count, number
from skrank._engine.plan import Plan
from skrank._engine.tables import LambdaKernels
from skrank._engine.threads import run_chunks
from skrank._kernels.arguments import Gradients, PairOptions, Scored
from skrank._kernels.debiased import Clicks
from skrank._kernels.quadratic import QuadraticSwaps
from skrank._kernels.quadratic_lambdas import lambdas
from skrank.objectives._blocks import blocks
from skrank.objectives._positions import (
    BoundPositionObjective,
    PositionBias,
    PositionObjective,
    Shown,
)
from skrank.objectives.lambdarank import PairObjective, PairRounds

_UNSEEN = 1e-16  # a ratio, or a cost, that is no more than this says nothing


@dataclass(frozen=True)
class UnbiasedLambdaRank(PairObjective, PositionObjective):
    r"""LambdaRank for clicks, whose probability depends on the position of the document.

    With t+ the chance of a click at a position and t- that of none, both as ratios to those at the
    first position, a pair of a clicked document i and another one j weighs

    .. math:: \frac{|\Delta_{ij}|}{t^+_i t^-_j}

    instead of LambdaRank's :math:`|\Delta_{ij}|`. After each round t+ of a position is the mean
    cost of the pairs of the documents clicked there, each divided by its :math:`t^-_j`, over that
    at the first position, to the power :math:`1 / (1 + \text{bias\_norm})`; t- likewise.

    Parameters
    ----------
    metric : str or Metric
        A metric that is a sum over documents and pairs: ndcg, dcg, ap, gap, precision, ... Not a
        metric of a user who stops, such as err and rr: `skrank.AdditivePositionBias` takes any.
    bias_norm : float
        Regularisation of the ratios, at least 0; the higher, the nearer they are to 1. XGBoost
        calls it ``lambdarank_bias_norm`` and takes 1.
    max_position : int, optional
        Positions below are taken for this one. Default: each has ratios of its own.
    norm : bool
        As in `LambdaRank`, but off by default: the paper has no such norms, and costs that are
        divided by the distance of the scores say less about positions.
    pairs : {"all"}
        Neighbours alone would say little about positions.
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

    Boosters do not report when a training begins. The ratios belong to the data set that is trained
    on, and start at 1 in a round where all documents of each query tie. A second training on the
    same data set that begins with other scores continues with the ratios of the first.

    XGBoost's ``rank:ndcg`` with ``lambdarank_unbiased=True`` differs in two ways. The cost of a
    pair there is ``log(1 + exp(s_i - s_j))``, which rises as the pair comes right; here, and in the
    paper, it is ``log(1 + exp(s_j - s_i))``. And costs are summed, not averaged over the documents
    shown at a position, so that one which only long lists reach seems unpopular.

    References
    ----------
    Z. Hu, Y. Wang, Q. Peng, H. Li, Unbiased LambdaMART: An Unbiased Pairwise Learning-to-Rank
    Algorithm, WWW 2019.

    Examples
    --------
    >>> import skrank
    >>> unbiased = skrank.UnbiasedLambdaRank("ndcg")
    >>> grad, hess = unbiased([1, 0, 0], [0.0, 0.0, 0.0])  # the first round: no ratio is known
    >>> bool(grad[0] < 0)
    True
    """

    name = "unbiased_lambdarank"
    takes_positions: ClassVar[bool] = True
    by_query = False  # all learn from each other's clicks
    _: KW_ONLY
    norm: bool = False
    bias_norm: float = number(0.0, 0, 1e6)
    max_position: int | None = count(None, "the deepest one")
    pairs: str = choice("all", ("all",))

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
        positions: ArrayLike | None = None,
    ) -> BoundUnbiasedLambdaRank:
        """The objective on judgments, with one weight per query and one position per row."""
        shown = Shown(judgments.queries, positions, self.max_position)
        bias = PositionBias(shown.values, clicked=1.0, skipped=1.0)
        parts = []
        for queries, rows, block in blocks(judgments):
            plan = self.metric.bind(block, max_grade=max_grade)
            kernels = plan.tables.lambda_kernels(block)
            if not isinstance(kernels.form, QuadraticSwaps):
                raise ValueError(
                    f"UnbiasedLambdaRank has no pair weights for {self.metric}: use skrank."
                    f"AdditivePositionBias({str(self.metric)!r}), which takes any metric."
                )
            some = None if weights is None else weights[queries]
            parts.append((rows, _Rounds(self, plan, some, kernels, shown.codes[rows], bias)))
        return BoundUnbiasedLambdaRank(parts, shown, bias, self.bias_norm)


class _Rounds(PairRounds):
    """Rounds on a block of queries: gradients by the ratios of positions, and costs of pairs."""

    def __init__(
        self,
        objective: UnbiasedLambdaRank,
        plan: Plan,
        weights: np.ndarray | None,
        kernels: LambdaKernels,
        shown: np.ndarray,
        bias: PositionBias,
    ) -> None:
        super().__init__(objective, plan, weights, kernels)
        self.shown = shown
        self.bias = bias
        self.costs = np.zeros((2, len(bias.positions)))

    def fill(self, lists: Scored, pairs: PairOptions, out: Gradients) -> None:
        """Fill in the gradients from all pairs, and add up the costs by position."""
        real = out.grad.dtype  # as pairs have
        factors = [_inverse(one).astype(real)[self.shown] for one in self.bias.estimates.values()]
        costs = np.empty((2, len(lists.scores)), real)
        clicks, tables = Clicks(*factors, *costs), self.kernels.form
        run_chunks(lambdas, self.indptr, lists, tables, pairs, out, clicks)
        for total, rows in zip(self.costs, costs, strict=True):
            total += np.bincount(self.shown, rows, len(total))


class BoundUnbiasedLambdaRank(BoundPositionObjective):
    """LambdaRank on the blocks of one data set, and the ratios of its positions."""

    def __init__(
        self,
        parts: list[tuple[slice, _Rounds]],
        shown: Shown,
        bias: PositionBias,
        bias_norm: float,
    ) -> None:
        super().__init__([rounds for _, rounds in parts], shown, bias)
        self.parts = parts
        self.bias_norm = bias_norm
        self.mass = np.zeros(len(shown.values))
        for rows, rounds in parts:
            counted = np.where(rounds.inverse != 0, rounds.weight, 0.0)
            worth = np.repeat(counted, rounds.queries.sizes)
            self.mass += np.bincount(shown.codes[rows], worth, len(self.mass))

    def restart(self) -> None:
        """All positions alike."""
        for ratios in self.position_bias.estimates.values():
            ratios[:] = 1.0

    def step(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` by the ratios, and take new ones from the costs."""
        self.round = self.round  # an interrupted round is begun anew by all blocks
        costs = np.zeros((2, len(self.mass)))
        for rows, rounds in self.parts:
            rounds.costs[:] = 0
            rounds.gradient(scores[rows], grad[rows], hess[rows])
            costs += rounds.costs
        for ratios, cost in zip(self.position_bias.estimates.values(), costs, strict=True):
            self._learn(ratios, cost)

    def _learn(self, ratios: np.ndarray, costs: np.ndarray) -> None:
        """New ratios from the costs of positions; the old ones where costs are none or endless."""
        means = np.divide(costs, self.mass, out=np.zeros_like(costs), where=self.mass > 0)
        if means[0] > _UNSEEN and np.isfinite(means).all():
            ratios[:] = (means / means[0]) ** (1 / (1 + self.bias_norm))


def _inverse(ratios: np.ndarray) -> np.ndarray:
    """1 / t; 1 where nothing was seen, and no pair will ask."""
    return np.divide(1.0, ratios, out=np.ones_like(ratios), where=ratios > _UNSEEN)
