"""LambdaRank: gradients of pairs, weighted by the change of the metric when they are swapped.

`PairObjective` has the options of all objectives that are sums over pairs of documents, and
`BoundPairs` computes their gradients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.parameters import choice, count, flag, number, random_seed
from skrank._engine.plan import Plan
from skrank._engine.queries import rank_into
from skrank._engine.tables import LambdaKernels
from skrank._engine.threads import compiled, run_chunks
from skrank._kernels import draws, lambdarank
from skrank._kernels.lambdarank import Gradients, PairOptions, Scored
from skrank._kernels.ranking import Ranked
from skrank._typing import Weights
from skrank.metrics import Metric, metric
from skrank.objectives.base import Objective

SEED_STEP = 0x1E3779B97F4A7C15  # between seeds of two orders: far from those of other objectives
# Largest range of sigmoid * score in a query for which exp of centred scores does not overflow.
_WIDEST: Mapping[type, float] = {np.float32: 150.0, np.float64: 1300.0}

_SURELY_FITS = 1e30  # smaller gradients fit single precision: they need no check


@dataclass(frozen=True)
class PairObjective(Objective):
    """An objective of pairs of documents, weighted by a metric; for options see `LambdaRank`."""

    by_query = True

    metric: Metric
    _: KW_ONLY
    sigmoid: float = number(1.0, 0, 1e6, open_low=True)
    truncation_level: int | None = count(None, "the rank that pairs must reach")
    norm: bool = flag(True)
    score_norm: bool | None = flag(None)
    sum_norm: bool | None = flag(None)
    perturbations: int | None = count(None, "the number of orders")
    temperature: float = number(1.0, 0, 1e6, open_low=True)
    pairs: str = choice("all", ("all", "adjacent"))
    tie_order: str = choice("random", ("random", "stable"))
    random_state: int = random_seed(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = metric(self.metric)
        if chosen.untrainable:
            raise ValueError(f"{chosen} cannot be trained on: {chosen.untrainable}")
        if chosen.condensed:
            raise ValueError(
                f"{chosen} cannot be trained on: drop the training rows without a label."
            )
        self._set(metric=chosen)

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the best value: the lower of k and the truncation level; 0: no best value."""
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
        gradients of all pairs, for both documents of a pair. Default: `norm`.
    perturbations : int, optional
        Average the deltas over this number of orders, drawn anew for other scores by adding Gumbel
        noise to them, as in YetiRank. In the first rounds most scores tie, and a single order would
        be arbitrary. The time of a round is multiplied by this number. Default: only the order of
        the scores.
    temperature : float
        Scale of the noise in units of the scores, above 0: at 1, orders have the probabilities of
        a Plackett-Luce model of the scores.
    pairs : {"all", "adjacent"}
        Pairs of documents that count: all, or adjacent ranks only, which is faster. YetiRank uses
        adjacent ranks with perturbations.
    tie_order : {"random", "stable"}
        Order of documents with equal scores: random, or by row, as in LightGBM and XGBoost. All
        documents tie in the first round, so that with "stable" the model depends on the order of
        rows.
    random_state : int
        Seed of the random orders and of the noise. The draws for a query depend on this seed, on
        the number of the query, and on its scores, so that each round of a training has other
        draws, and a repeated training has the same.

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
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundPairs:
        """The objective bound to judgments, with one weight per query."""
        plan = self.metric.bind(judgments, max_grade=max_grade)
        return BoundPairs(self, plan, weights, plan.tables.lambda_kernels(judgments))


class BoundPairs:
    """A `BoundObjective` of pairs: normalisers, and the order of the last call.

    Parameters
    ----------
    objective : PairObjective
    plan : Plan
        Its metric on the data set.
    weights : ndarray (n_queries,), optional
    kernels : sequence of LambdaKernels
        Compiled functions of each metric of a mixture, and the tables that they read.

    Attributes
    ----------
    totals : float64 ndarray (n_queries,)
        S of each query in the last call, see `LambdaRank`: before weights.
    """

    def __init__(
        self,
        objective: PairObjective,
        plan: Plan,
        weights: Weights,
        kernels: Sequence[LambdaKernels],
    ) -> None:
        self.objective = objective
        self.queries = plan.judgments.queries
        self.indptr = plan.judgments.indptr
        self.kernels = kernels
        self.truncation = objective.truncation_level or plan.scale.longest
        with np.errstate(over="ignore"):
            self.inverse = plan.inverse_ideal(objective.ideal_cutoff) * plan.slope()
        check.check_learnable(self.inverse, plan.metric, self.queries)
        self.weight = check.check_training_weights(weights, self.queries)
        self.score_norm = objective.norm if objective.score_norm is None else objective.score_norm
        self.sum_norm = objective.norm if objective.sum_norm is None else objective.sum_norm
        n_rows, n_queries = self.queries.n_rows, len(self.queries)
        self.order, self.tied = np.empty(n_rows, np.int32), np.empty(n_rows, np.uint8)
        self.codes, self.ranked = plan.judgments.codes, np.empty_like(plan.judgments.codes)
        self.retrieved, self.totals = np.empty(n_queries, np.int64), np.empty(n_queries)
        self.warm = False  # True if `order` holds the order of the last call, to sort faster

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        check.check_finite_scores(scores, self.queries)
        seed = self.objective.random_state % 2**63
        if self.objective.perturbations:
            with np.errstate(over="ignore", invalid="ignore"):  # checked below
                self._average_orders(scores, seed, self.objective.perturbations, grad, hess)
        else:
            out = Gradients(grad, hess, self.totals)
            self._fill_order(scores, scores, seed, out, sum_norm=self.sum_norm)
            self.warm = True
        # gradients and curvatures are of the size of `totals`, or less
        highest = float(self.totals.max()) * float(self.weight.max())
        if not highest * max(1.0, self.objective.sigmoid) < _SURELY_FITS:
            check.check_gradients(grad, hess, self.objective)

    @compiled()
    def _fill_order(
        self, ranked: np.ndarray, scores: np.ndarray, seed: int, out: Gradients, *, sum_norm: bool
    ) -> None:
        """Fill in the gradient of `scores` in the order of `ranked`, which may have noise."""
        warm, self.warm = self.warm, False  # an interrupt leaves the order incomplete
        sizes, out_rows = self.queries.sizes, Ranked(self.ranked, self.tied, self.retrieved)
        rank_into(self.indptr, sizes, ranked, self.codes, self.order, out_rows, warm=warm)
        if self.objective.tie_order == "random":
            before = self.queries.first_query
            run_chunks(draws.shuffle_ties, self.indptr, self.tied, ranked, seed, before, self.order)
        pairs = PairOptions(
            self.objective.sigmoid, self.truncation, self.score_norm, sum_norm,
            _WIDEST[out.grad.dtype.type],
        )  # fmt: skip
        self.fill(scores, pairs, out)

    def fill(self, scores: np.ndarray, pairs: PairOptions, out: Gradients) -> None:
        """Fill in the gradients from all pairs, or from pairs of adjacent ranks."""
        if self.objective.pairs == "adjacent":
            changes = np.empty_like(out.grad)
            for one, rows, (part,) in self.each_metric(scores, [changes]):
                assert one.neighbours is not None
                run_chunks(one.neighbours, self.indptr, rows, one.form, pairs.truncation, part)
            # reads no codes and no normaliser of `rows`, which differ between metrics
            run_chunks(lambdarank.neighbours, self.indptr, rows, changes, pairs, out)
            return
        mixed = len(self.kernels) > 1
        pairs_of_one = pairs._replace(sum_norm=pairs.sum_norm and not mixed)
        for one, rows, parts in self.each_metric(scores, out):
            target = Gradients(*parts)
            run_chunks(one.gradients, self.indptr, rows, one.form, pairs_of_one, target)
        if mixed and pairs.sum_norm:
            run_chunks(lambdarank.normalise, self.indptr, out)

    def each_metric(
        self, scores: np.ndarray, out: Sequence[np.ndarray]
    ) -> Iterator[tuple[LambdaKernels, Scored, Sequence[np.ndarray]]]:
        """Yields the kernels of each metric and arrays to fill, whose sums are left in `out`."""
        inverses = np.atleast_2d(self.inverse)
        for index, (kernels, inverse) in enumerate(zip(self.kernels, inverses, strict=True)):
            parts = [np.empty_like(total) for total in out] if index else out
            yield kernels, Scored(kernels.codes, self.order, scores, inverse, self.weight), parts
            if index:
                for total, part in zip(out, parts, strict=True):
                    total += part

    def _average_orders(
        self, scores: np.ndarray, seed: int, n_orders: int, grad: np.ndarray, hess: np.ndarray
    ) -> None:
        """Means of gradients and curvatures over `n_orders` orders of noisy scores."""
        noisy, totals = np.empty_like(scores), np.zeros_like(self.totals)
        one = Gradients(np.empty_like(grad), np.empty_like(hess), self.totals)
        grad[:] = 0
        hess[:] = 0
        for order in range(n_orders):
            order_seed = (seed + order * SEED_STEP) % 2**63
            run_chunks(
                draws.add_noise, self.indptr, scores, self.objective.temperature, order_seed,
                self.queries.first_query, noisy,
            )  # fmt: skip
            self._fill_order(noisy, scores, order_seed, one, sum_norm=False)
            grad += one.grad
            hess += one.hess
            totals += one.totals
        grad /= n_orders
        hess /= n_orders
        self.totals = totals / n_orders
        if self.sum_norm:
            run_chunks(lambdarank.normalise, self.indptr, Gradients(grad, hess, self.totals))
