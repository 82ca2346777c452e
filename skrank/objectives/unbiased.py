"""Unbiased LambdaMART: pairs of a clicked and another document, weighed by where they stood."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.threads import run_chunks
from skrank._kernels.arguments import Clicks, Gradients
from skrank.objectives.lambdarank import BoundLambdaRank, LambdaRank
from skrank.objectives.position import (
    BoundPositionObjective,
    PositionBias,
    PositionObjective,
    Shown,
)

_UNSEEN = 1e-16  # a ratio, or a cost, that is no more than this says nothing


@dataclass(frozen=True)
class UnbiasedLambdaRank(PositionObjective, LambdaRank):
    r"""LambdaRank for clicks, whose chance depends on the position of the document.

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
    Positions come from ``position=`` of a LightGBM Dataset, which numbers them anew from 0 on, in
    the order of their first occurrence. Everywhere else they are the order of the rows inside their
    query: sort the rows of a query as they were shown. The lowest is the first position.

    Boosters do not say when a training begins. It does when all documents of each query tie, or
    when the scores are those of the first round on these data: all ratios start at 1 then. A
    training that goes on from other scores on the same data goes on with the ratios.

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

    _: KW_ONLY
    norm: bool = False
    bias_norm: float = 0.0

    def __post_init__(self) -> None:
        PositionObjective.__post_init__(self)
        LambdaRank.__post_init__(self)
        check.check_choice("pairs", self.pairs, ("all",))
        norm = check.check_number("bias_norm", self.bias_norm, 0, 1e6)
        object.__setattr__(self, "bias_norm", norm)

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
        positions: Any = None,
    ) -> BoundUnbiasedLambdaRank:
        """The objective on judgments, with one weight per query and one position per row."""
        shown = Shown(judgments.queries, positions, self.max_position)
        return BoundUnbiasedLambdaRank(self, judgments, weights, max_grade, shown)


class BoundUnbiasedLambdaRank(BoundPositionObjective, BoundLambdaRank):
    """LambdaRank on one data set, and the ratios of its positions."""

    objective: UnbiasedLambdaRank

    def __init__(
        self,
        objective: UnbiasedLambdaRank,
        judgments: Judgments,
        weights: np.ndarray | None,
        max_grade: int | None,
        shown: Shown,
    ) -> None:
        from skrank._kernels import quadratic_lambdas

        BoundLambdaRank.__init__(self, objective, judgments, weights, max_grade)
        if self.kernels.gradients is not quadratic_lambdas.lambdas:
            raise ValueError(
                f"UnbiasedLambdaRank has no pair weights for {objective.metric}: use "
                f"skrank.AdditivePositionBias({str(objective.metric)!r}), which takes any metric."
            )
        self.shown = shown
        self.position_bias = PositionBias(shown.values, clicked=1.0, skipped=1.0)
        counted = np.where(self.inverse != 0, self.weight, 0.0)
        self.mass = shown.sums(np.repeat(counted, judgments.queries.sizes))

    def restart(self) -> None:
        """All positions alike."""
        for ratios in self.position_bias.estimates.values():
            ratios[:] = 1.0

    def step(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` by the ratios, and take new ones from the costs."""
        self.costs = np.zeros((2, len(self.shown.values)))
        BoundLambdaRank.gradient(self, scores, grad, hess)
        for ratios, costs in zip(self.position_bias.estimates.values(), self.costs, strict=True):
            self._learn(ratios, costs)

    def _pull(self, scores: np.ndarray, sum_norm: bool, grad: np.ndarray, hess: np.ndarray) -> None:
        """Gradient and curvature in the present order; adds to the costs of the positions."""
        from skrank._kernels import debiased

        kernels, ratios = self.kernels, self.position_bias.estimates.values()
        factors = [_inverse(one)[self.shown.codes] for one in ratios]
        costs = np.empty((2, len(scores)))
        lists, pairs = self._lists(kernels.codes, scores), self._pairs(sum_norm, grad)
        clicks, out = Clicks(*factors, *costs), Gradients(grad, hess, self.totals)
        run_chunks(debiased.lambdas, self.indptr, lists, kernels.form, pairs, clicks, out)
        self.costs += [self.shown.sums(one) for one in costs]

    def _learn(self, ratios: np.ndarray, costs: np.ndarray) -> None:
        """New ratios from the cost of each position; the old ones where the first has none."""
        means = np.divide(costs, self.mass, out=np.zeros_like(costs), where=self.mass > 0)
        if means[0] > _UNSEEN:
            ratios[:] = (means / means[0]) ** (1 / (1 + self.objective.bias_norm))


def _inverse(ratios: np.ndarray) -> np.ndarray:
    """1 / t; 1 where nothing was seen, and no pair will ask."""
    return np.divide(1.0, ratios, out=np.ones_like(ratios), where=ratios > _UNSEEN)
