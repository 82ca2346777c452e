"""User models of the framework C/W/L: the mean gain per document that a user reads.

A user who has read rank i goes on to rank i + 1 with probability C(i). W(i), the share of rank i in
what the user reads, is proportional to C(1) ... C(i - 1), and the metric is the sum of W(i) times
the gain at rank i, gains being shares of the gain of the highest grade.

A user reads at most k ranks, or `DEPTH` without a cut-off; ranks below the end of a list gain 0.
The residual of a metric is what documents without a label, and the ranks below the list, could add
if each of them had the highest grade.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import refuse_order
from skrank._engine.tables import (
    Gain,
    Line,
    Lists,
    Scale,
    Tables,
    check_gain,
    discounts,
    gain_per_code,
)
from skrank._engine.threads import run_chunks
from skrank._kernels import readers
from skrank._kernels.readers import Reader

if TYPE_CHECKING:
    from skrank._engine.judgments import Judgments

DEPTH = 1000  # ranks that a user reads at most without a cut-off, as in cwl_eval
_MOST_RANKS = 1_000_000  # weights are computed rank by rank
Weigh = Callable[[np.ndarray], np.ndarray]


def gain_shares(metric: Metric, gain: Gain, scale: Scale) -> np.ndarray:
    """Gain of each code as a share of the gain of the highest grade."""
    check.check_grades(scale.labels, scale.max_grade, metric, scale.place)
    top = gain_per_code(gain, np.array([float(scale.max_grade)]))[0]
    return gain_per_code(gain, scale.labels, scale.place) / top


def insq_weights(goal: float) -> Weigh:
    """The weight of a rank for a user who goes on with ((i + 2T - 1) / (i + 2T))**2."""
    return lambda rank: (2 * goal / (rank + 2 * goal - 1)) ** 2


@dataclass(frozen=True, kw_only=True)
class Reading(Metric):
    """A user who reads down a list to rank k, or to rank `DEPTH` without a cut-off."""

    @property
    def limit(self) -> int:
        """Ranks that the user reads at most."""
        limit = DEPTH if self.k is None else self.k
        if limit > _MOST_RANKS:
            raise ValueError(f"{self}: k must be at most {_MOST_RANKS}.")
        return limit

    def per_rank(self, weigh: Weigh) -> np.ndarray:
        """Share of the ranks 1..limit in what the user reads, and 0 for the rank below."""
        weights = weigh(np.arange(1.0, self.limit + 1))
        return np.append(weights / weights.sum(), 0.0)

    def weights(self, weigh: Weigh, scale: Scale) -> np.ndarray:
        """The share of each rank of the longest list."""
        shares = self.per_rank(weigh)

        def share(rank: np.ndarray) -> np.ndarray:
            return shares[np.minimum(rank, self.limit + 1).astype(np.int64) - 1]

        return discounts(share, scale.longest, None)


@dataclass(frozen=True, kw_only=True)
class UserModel(Reading):
    """A user model with its gains."""

    gain: Gain = parameter("linear", check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    @property
    def needs_scale(self) -> bool:
        """The gain of the highest grade is the unit."""
        return self.max_grade is None


@dataclass(frozen=True, kw_only=True)
class Residual(Reading):
    """How much a metric rises if what was not judged has the highest grade."""

    greater_is_better = False
    needs_relevant = False


@dataclass(frozen=True, kw_only=True)
class WeightResidual(Residual):
    """The residual of a metric whose ranks have weights of their own."""

    def weigh(self, rank: np.ndarray) -> np.ndarray:
        """Weight of each rank, from 1 on, up to a factor."""
        raise NotImplementedError

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum is the weight of the documents not judged."""
        missing = (~scale.judged).astype(np.float64)
        return QuadraticTables(missing, self.weights(self.weigh, scale))

    def line(self, lists: Lists) -> Line:
        """And the weight of all ranks below the list."""
        below = np.cumsum(self.per_rank(self.weigh)[::-1])[::-1]
        return Line(shift=below[np.minimum(lists.shown, self.limit).astype(np.int64)])


@dataclass(frozen=True, eq=False)
class ReaderTables(Tables):
    """A user whose reading depends on the gains seen, of one list by a kernel of its own.

    Parameters
    ----------
    name : str
        The metric, for messages.
    kernel : {"inst", "bpm", "nearly_err"}
    gain : ndarray (n_codes,)
        Share of the highest gain, per code.
    limit : int
        Ranks that the user reads at most.
    goal : float
        Gain that the user wants in all.
    reach : ndarray (limit + 1,)
        Probability to come to each rank if no document satisfies; 0 at the end.
    full : bool
        Whether the ranks below the list have the highest gain, else none.
    ids : ndarray (n_queries,), optional
        Query ids, for messages. Default: the numbers of the queries.
    """

    axes: ClassVar = {"gain": ("codes",)}

    name: str
    kernel: str
    gain: np.ndarray
    limit: int
    goal: float
    reach: np.ndarray
    full: bool = False
    ids: np.ndarray | None = None

    @property
    def relevant(self) -> np.ndarray:
        return self.gain > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.empty(len(inverse))
        rest = np.cumsum(self.reach[::-1])[::-1].copy()
        form = Reader(self.gain, self.limit, self.goal, self.reach, rest, self.full)
        kernel = getattr(readers, self.kernel)
        stopped = run_chunks(kernel, ranked.indptr, ranked.lists, form, inverse, out)
        refuse_order(self.name, stopped, self.ids)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        return judgments.totals(self.gain)


@dataclass(frozen=True, eq=False)
class ReaderResidualTables(Tables):
    """What a reader gains more if documents not judged and ranks below have the highest gain.

    Parameters
    ----------
    lower, upper : ReaderTables
    """

    lower: ReaderTables
    upper: ReaderTables

    @classmethod
    def of(cls, lower: ReaderTables, scale: Scale) -> ReaderResidualTables:
        """The residual of a metric."""
        return cls(lower, replace(lower, gain=np.where(scale.judged, lower.gain, 1.0), full=True))

    def fit(self, scale: Scale) -> None:
        self.lower.fit(scale)

    @property
    def relevant(self) -> np.ndarray:
        return self.lower.relevant

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        return self.upper.values(ranked, inverse) - self.lower.values(ranked, inverse)

    def ideals(self, judgments: Judgments) -> np.ndarray:
        return self.lower.ideals(judgments)
