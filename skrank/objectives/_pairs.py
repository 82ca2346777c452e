"""Objectives that are sums over pairs of documents: their options, and rounds of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.parameters import choice, count, flag, number, random_seed
from skrank._engine.plan import Plan
from skrank._engine.queries import check_scores, rank_scores
from skrank._engine.tables import LambdaKernels
from skrank._engine.threads import run_chunks
from skrank._kernels import lambdarank, ranking
from skrank._kernels.arguments import Gradients, PairOptions, Scored
from skrank.metrics import Metric, metric
from skrank.objectives.base import Objective, seed_of_round

SEED_STEP = 0x1E3779B97F4A7C15  # between the seeds of two orders of a round; see `seed_of_round`
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
    def needs_room(self) -> bool:
        """True with perturbations: each order needs noisy scores, a gradient and a curvature."""
        return self.perturbations is not None

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the best value: the lower of k and the truncation level."""
        if self.metric.ideal_cutoff == 0:
            return 0
        return min(filter(None, (self.metric.k, self.truncation_level)), default=None)


class PairRounds:
    """A `BoundObjective` of pairs: normalisers, order of the last round, number of rounds.

    Parameters
    ----------
    objective : PairObjective
    plan : Plan
        Its metric on the data set.
    weights : ndarray (n_queries,), optional
    kernels : LambdaKernels
        Compiled functions, and the tables that they read.

    Attributes
    ----------
    totals : float64 ndarray (n_queries,)
        Sum of the absolute gradients of each query in the last round, before weights and
        `sum_norm`.
    """

    def __init__(
        self,
        objective: PairObjective,
        plan: Plan,
        weights: np.ndarray | None,
        kernels: LambdaKernels,
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
        self.round = 0
        self._allocate()

    def _allocate(self) -> None:
        n_rows, n_queries = self.queries.n_rows, len(self.queries)
        self.order = np.empty(n_rows, np.int32)
        self.tied = np.empty(n_rows, np.uint8)
        self.retrieved = np.empty(n_queries, np.int64)
        self.totals = np.empty(n_queries)
        self.warm = False  # whether `order` holds the order of an earlier round
        self.busy = False  # whether a round is in progress, or was interrupted

    @property
    def seed(self) -> int:
        """Seed of the current round."""
        return seed_of_round(self.objective.random_state, self.round)

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        if self.busy:  # the last round was interrupted: `order` may be incomplete
            self._allocate()
        self.busy = True
        if self.objective.perturbations:
            with np.errstate(over="ignore", invalid="ignore"):  # checked below
                self._perturbed_gradient(scores, self.objective.perturbations, grad, hess)
        else:
            self._rank(scores, self.seed, warm=self.warm)
            self._pull(scores, self.sum_norm, grad, hess)
        # gradients and curvatures are of the size of `totals`, or less
        highest = float(self.totals.max()) * float(self.weight.max())
        if not highest * max(1.0, self.objective.sigmoid) < _SURELY_FITS:
            check.check_gradients(grad, hess, self.objective)
        self.warm = True
        self.round += 1
        self.busy = False

    def _rank(self, scores: np.ndarray, seed: int, *, warm: bool) -> None:
        """Sort the scores; with `warm`, the sort starts from the order of the last round."""
        check_scores(self.queries, scores)
        rank_scores(self.queries, scores, self.order, self.tied, self.retrieved, warm=warm)
        if self.retrieved.sum() < len(scores):
            query = self.queries.name(int(np.argmax(self.retrieved < self.queries.sizes)))
            raise ValueError(
                f"a score of query {query} is -inf: gradients need finite scores. "
                "Lower the learning rate, or drop the documents that were not retrieved."
            )
        if self.objective.tie_order == "random":
            before = self.queries.first_query
            run_chunks(ranking.shuffle_ties, self.indptr, self.tied, seed, before, self.order)

    def _pull(self, scores: np.ndarray, sum_norm: bool, grad: np.ndarray, hess: np.ndarray) -> None:
        """Gradient and curvature for the current order."""
        lists = Scored(self.kernels.codes, self.order, scores, self.inverse, self.weight)
        pairs = PairOptions(
            self.objective.sigmoid, self.truncation, self.score_norm, sum_norm,
            _WIDEST[grad.dtype.type],
        )  # fmt: skip
        self.fill(lists, pairs, Gradients(grad, hess, self.totals))

    def fill(self, lists: Scored, pairs: PairOptions, out: Gradients) -> None:
        """Fill in the gradients from all pairs, or from pairs of adjacent ranks."""
        form, neighbours = self.kernels.form, self.kernels.neighbours
        if neighbours is None or self.objective.pairs == "all":
            run_chunks(self.kernels.gradients, self.indptr, lists, form, pairs, out)
            return
        changes = np.empty_like(out.grad)
        run_chunks(neighbours, self.indptr, lists, form, pairs.truncation, changes)
        run_chunks(lambdarank.neighbours, self.indptr, lists, changes, pairs, out)

    def _perturbed_gradient(
        self, scores: np.ndarray, n_orders: int, grad: np.ndarray, hess: np.ndarray
    ) -> None:
        """Means of gradients and curvatures over `n_orders` orders of noisy scores."""
        noisy, one_grad, one_hess = np.empty_like(scores), np.empty_like(grad), np.empty_like(hess)
        totals = np.zeros_like(self.totals)
        grad[:] = 0
        hess[:] = 0
        for order in range(n_orders):
            seed = (self.seed + order * SEED_STEP) % 2**63
            run_chunks(
                ranking.add_noise, self.indptr, scores, self.objective.temperature, seed,
                self.queries.first_row, noisy,
            )  # fmt: skip
            self._rank(noisy, seed, warm=False)
            self._pull(scores, False, one_grad, one_hess)
            grad += one_grad
            hess += one_hess
            totals += self.totals
        grad /= n_orders
        hess /= n_orders
        self.totals = totals / n_orders
        if self.sum_norm:
            run_chunks(lambdarank.normalise, self.indptr, Gradients(grad, hess, self.totals))
