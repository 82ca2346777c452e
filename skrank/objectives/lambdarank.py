"""LambdaRank: gradients of pairs, weighted by the change of the metric when they are swapped.

`PairObjective` has the options of all objectives that are sums over pairs of documents, and
`BoundPairs` computes their gradients.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Plan
from skrank._engine.parameters import choice, count, number, parameter
from skrank._engine.queries import rank_codes
from skrank._engine.tables import Swaps
from skrank._engine.threads import compiled, run_chunks
from skrank._kernels import draws
from skrank._kernels.lambdarank import Gradients, PairOptions, Scored
from skrank._typing import Weights
from skrank.metrics import Metric, metric
from skrank.metrics._from_function import ListMetric
from skrank.metrics.bpref import PreferenceMetric
from skrank.metrics.sets import HitsMetric, RelevantSet
from skrank.objectives._bound import BoundObjective
from skrank.objectives.base import Objective

# Largest range of sigmoid * score in a query for which exp of centred scores does not overflow, nor
# does its product with the divisor 0.01 + |s_i - s_j|, which is at most 13,000 then.
_WIDEST = {np.float32: 150.0, np.float64: 1300.0}

_SURELY_FITS = 1e30  # smaller gradients fit single precision: they need no check


def refusal(chosen: Metric) -> str | None:
    """Why LambdaRank does not train on a metric, and the remedy; None if it does."""
    if chosen.strict or isinstance(chosen, (PreferenceMetric, ListMetric)):
        return "it has no closed form for swaps of documents: train on gap, ap or insq."
    # counts, and the share of judged documents
    is_count = isinstance(chosen, HitsMetric) and not isinstance(chosen, RelevantSet)
    if is_count or not chosen.greater_is_better:
        return "it is a count, or does not rise with relevance: train on ap, or on precision@k."
    if chosen.orderless and chosen.k is None:
        return "it does not depend on the order of the whole list: add a cut-off."
    if chosen.condensed:
        return "drop the training rows without a label instead of condensed=True."
    return None


@dataclass(frozen=True)
class PairObjective(Objective):
    """An objective of pairs of documents, weighted by a metric; for options see `LambdaRank`."""

    by_query = True

    metric: Any  # a Metric once made; callers may pass its name
    _: KW_ONLY
    sigmoid: float = number(1.0, 0, 1e6, open_low=True)
    truncation_level: int | None = count(None, "the rank that pairs must reach")
    norm: bool | str = choice(True, (True, "score", "sum", False))
    tie_order: str = choice("random", ("random", "stable"))
    random_state: int = parameter(0, check.check_random_state)

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = metric(self.metric)
        if reason := refusal(chosen):
            raise ValueError(f"{chosen} cannot be trained on: {reason}")
        self._set(metric=chosen)

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the best list: the lower of k and the truncation level; 0: no divisor."""
        if self.metric.ideal_cutoff == 0:
            return 0
        return min(filter(None, (self.metric.k, self.truncation_level)), default=None)


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
        their best value at the cut-off, whatever their `normalize`, so that the best value of every
        query is 1. Other metrics, such as dcg, err, pfound, rbp, precision and recall, are not
        divided. Labels may be continuous, such as click rates, for cascades and for sums over
        documents, such as ndcg(gain=linear), dcg(gain=linear) and rbp; gap, ap and q have sums over
        pairs of documents and take at most 64 different gains.
    sigmoid : float
        Slope of the loss of a pair, above 0, as in LightGBM. `SoftRank` has `sigma`, the standard
        deviation of a score: a larger sigma is a flatter loss.
    truncation_level : int, optional
        A pair counts only if one of its ranks is at most this, and the best value has this cut-off.
        Default: all pairs; LightGBM uses 30, XGBoost 32.
    norm : {True, "score", "sum", False}
        "score": divide the delta of a pair by ``0.01 + |s_i - s_j|``, in queries whose scores
        differ. "sum": multiply the gradients of a query by log2(1 + S) / S, where S is the sum of
        the absolute gradients of all pairs, for both documents of a pair. True: both, as in
        LightGBM and by default in XGBoost.
    tie_order : {"random", "stable"}
        Order of documents with equal scores: random, or by row, as in LightGBM and XGBoost. All
        documents tie in the first round, so that with "stable" the model depends on the order of
        rows.
    random_state : int, RandomState, Generator or None
        Seed of the random orders, or what draws the seed. The draws for a query depend on this
        seed, on the number of the query, and on its scores, so that each round of a training has
        other draws, and a repeated training has the same.

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

    name = "lambdarank"

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundPairs:
        """The objective bound to judgments, with one weight per query."""
        plan = self.metric.bind(judgments, max_grade=max_grade)
        return BoundPairs(self, plan, weights, plan.tables.swaps(judgments))


class BoundPairs(BoundObjective):
    """An objective of pairs: normalisers, and the order of the last call.

    Parameters
    ----------
    objective : PairObjective
    plan : Plan
        Its metric on the data set.
    weights : ndarray (n_queries,), optional
    swaps : Swaps
        The kernel of the metric, the class of each row, and the tables that the kernel reads.

    Attributes
    ----------
    totals : float64 ndarray (n_queries,)
        S of each query in the last call, see `LambdaRank`: before weights.
    """

    def __init__(
        self, objective: PairObjective, plan: Plan, weights: Weights, swaps: Swaps
    ) -> None:
        self.objective, self.swaps = objective, swaps
        judgments = plan.judgments
        self.queries, self.codes = judgments.queries, judgments.codes
        self.truncation = objective.truncation_level or self.queries.longest
        with np.errstate(over="ignore"):  # `check_learnable` refuses infinity
            self.inverse = plan.inverse_ideal(objective.ideal_cutoff) * plan.slope()
        check.check_learnable(self.inverse, plan.metric, self.queries)
        self.weight = check.check_training_weights(weights, self.queries)
        self.score_norm = objective.norm in (True, "score")
        self.sum_norm = objective.norm in (True, "sum")
        # of the last call: the next sort starts from it, which saves time and changes nothing
        self.order: np.ndarray | None = None
        self.totals = np.zeros(len(self.queries))  # kernels leave out queries without gradients

    @compiled()  # kernels run compiled even for few rows, since training calls them many times
    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        check.check_finite_scores(scores, self.queries)
        start, self.order = self.order, None  # an interrupt leaves the order incomplete
        order, ranked = rank_codes(self.queries, scores, self.codes, start)
        if self.objective.tie_order == "random":
            seed, n_before = self.objective.random_state, self.queries.first_query
            arguments = ranked.tied, scores, seed, n_before, order
            run_chunks(draws.shuffle_ties, self.queries.indptr, *arguments)
        self._fill(scores, order, Gradients(grad, hess, self.totals))
        self.order = order
        # times the weight, gradients are at most about `totals`, hessians sigmoid * `totals`
        highest = float(self.totals.max()) * float(self.weight.max())
        if not highest * max(1.0, self.objective.sigmoid) < _SURELY_FITS:
            check.check_gradients(grad, hess, self.objective)

    def _fill(self, scores: np.ndarray, order: np.ndarray, out: Gradients) -> None:
        """Run the kernel on queries that are not wide, then on wide queries if there are any.

        A query is wide if exp of its scores would overflow. The argument before `out` is None, not
        False, for the others: only if it has another type does numba compile the loops for wide
        queries. The kernel returns whether it left out a wide query.
        """
        options = PairOptions(
            self.objective.sigmoid, self.truncation, self.score_norm, self.sum_norm,
            _WIDEST[out.grad.dtype.type],
        )  # fmt: skip
        kernel, classes, tables = self.swaps
        rows = Scored(classes, order, scores, self.inverse, self.weight)
        arguments = kernel, self.queries.indptr, rows, tables, options
        if any(run_chunks(*arguments, None, out)):
            run_chunks(*arguments, True, out)
