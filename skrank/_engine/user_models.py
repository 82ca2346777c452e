"""User models of the C/W/L framework (Moffat et al.): the mean gain of documents that users read.

A user who has read rank i goes on to rank i + 1 with the probability C(i). The weight W(i) of rank
i is proportional to C(1) ... C(i - 1), and weights sum to 1. The metric is the sum of W(i) times
the gain at rank i, divided by the gain of the highest grade.

A user reads at most k ranks, or `DEPTH` without a cut-off; ranks below the end of a list gain 0.
The residual of a metric is the increase of its value if all documents without a label, and all
ranks below the list, had the highest grade.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import CombinedTables, refuse_order
from skrank._engine.tables import Gain, Line, Lists, Scale, Tables, check_gain, gain_shares
from skrank._engine.threads import run_chunks
from skrank._kernels import readers
from skrank._kernels.readers import Reader

if TYPE_CHECKING:
    from skrank._engine.judgments import Judgments

DEPTH = 1000  # without a cut-off, a user reads at most so many ranks, as in cwl_eval
_MOST_RANKS = 1_000_000  # largest cut-off: there is an array of weights of so many ranks
Weigh = Callable[[np.ndarray], np.ndarray]


def insq_weights(goal: float) -> Weigh:
    """Weights of INSQ, whose user goes on with C(i) = ((i + 2T - 1) / (i + 2T))**2, T = `goal`."""
    return lambda rank: (2 * goal / (rank + 2 * goal - 1)) ** 2


@dataclass(frozen=True, kw_only=True)
class Reading(Metric):
    """A user who reads down a list to rank k, or to rank `DEPTH` without a cut-off."""

    @property
    def limit(self) -> int:
        """Largest number of ranks that the user reads."""
        limit = DEPTH if self.k is None else self.k
        if limit > _MOST_RANKS:
            raise ValueError(f"{self}: k must be at most {_MOST_RANKS}.")
        return limit

    def per_rank(self, weigh: Weigh) -> np.ndarray:
        """W(1), ..., W(limit), and 0; `weigh` returns weights up to a common factor."""
        weights = weigh(np.arange(1.0, self.limit + 1))
        return np.append(weights / weights.sum(), 0.0)

    def weights(self, weigh: Weigh, scale: Scale) -> np.ndarray:
        """W of each rank of the longest list."""
        read = self.per_rank(weigh)[: scale.longest]
        return np.append(read, np.zeros(scale.longest - len(read)))


@dataclass(frozen=True, kw_only=True)
class UserModel(Reading):
    """A user model with its gains."""

    gain: Gain = parameter("linear", check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    @property
    def needs_scale(self) -> bool:
        """True if the highest grade, whose gain is the divisor, is not a parameter."""
        return self.max_grade is None


@dataclass(frozen=True, kw_only=True)
class WeightResidual(Reading):
    """The residual of a metric whose weights W do not depend on gains."""

    greater_is_better = False
    needs_relevant = False

    @abstractmethod
    def weigh(self, rank: np.ndarray) -> np.ndarray:
        """Weight of each rank, from 1 on, up to a common factor."""

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum is the sum of the weights of documents not judged."""
        missing = (~scale.judged).astype(np.float64)
        return QuadraticTables(missing, self.weights(self.weigh, scale))

    def line(self, lists: Lists) -> Line:
        """The value is that sum plus the sum of the weights of all ranks below the list."""
        below = np.cumsum(self.per_rank(self.weigh)[::-1])[::-1]
        return Line(shift=below[np.minimum(lists.shown, self.limit).astype(np.int64)])


@dataclass(frozen=True, eq=False)
class ReaderTables(Tables):
    """A user who stops depending on the gains read; `skrank._kernels.readers` computes the value.

    Parameters
    ----------
    kernel : {"inst", "bpm", "nearly_err"}
        The user model, and the name of the metric in messages.
    gain : ndarray (n_codes,)
        Gain of each code / highest gain.
    limit : int
        Largest number of ranks that the user reads.
    goal : float
        Sum of gains that the user wants.
    reach : ndarray (limit + 1,)
        Probability of reading each rank if no document satisfies; 0 at the end.
    ids : ndarray (n_queries,)
        Query ids, for messages.
    full : bool
        Whether the ranks below the list have the highest gain; else they have the gain 0.
    """

    axes: ClassVar = {"gain": ("codes",)}

    kernel: str
    gain: np.ndarray
    limit: int
    goal: float
    reach: np.ndarray
    ids: np.ndarray
    full: bool = False

    @property
    def relevant(self) -> np.ndarray:
        return self.gain > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.empty(len(inverse))
        rest = np.cumsum(self.reach[::-1])[::-1].copy()
        model = readers.MODELS.index(self.kernel)
        form = Reader(model, self.gain, self.limit, self.goal, self.reach, rest, self.full)
        stopped = run_chunks(readers.values, ranked.indptr, ranked.lists, form, inverse, out)
        refuse_order(self.kernel, stopped, self.ids)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        return judgments.totals(self.gain)


@dataclass(frozen=True, kw_only=True)
class ReaderModel(UserModel):
    """A user model whose weights depend on the gains read."""

    strict: ClassVar[bool] = True

    @abstractmethod
    def reader(self, gain: np.ndarray, ids: np.ndarray) -> ReaderTables:
        """Input of the kernel, from the gain of each code and the ids of the queries."""

    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Input of the compiled loop of this metric."""
        return self.reader(gain_shares(self, self.gain, scale), scale.judgments.queries.ids)


class ReaderResidual(ReaderModel):
    """Mixin that makes the residual of a `ReaderModel`."""

    greater_is_better = False
    needs_relevant = False
    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on insq."

    def tables(self, scale: Scale, k: int | None) -> Tables:
        """The metric with the highest gain of unjudged documents, minus that with gain 0."""
        gain = gain_shares(self, self.gain, scale)
        lower = self.reader(gain, scale.judgments.queries.ids)
        upper = replace(lower, gain=np.where(scale.judged, gain, 1.0), full=True)
        return CombinedTables(((-1.0, lower), (1.0, upper)))
