"""`Objective`, which computes gradients once it is bound to judgments, and `BoundObjective`."""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.definition import format_value
from skrank._engine.judgments import Judgments, judge
from skrank._engine.parameters import Parameterised
from skrank._engine.threads import thread_count
from skrank._typing import Options

WRAPPED = ("metric", "objective")  # fields behind the colon of a text such as "lambdarank:gap"


class BoundObjective(Protocol):
    """An objective bound to a data set. Seeds of random draws depend on the number of the round."""

    round: int

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` (float32 or float64, contiguous rows) for float64 `scores`.

        Raises a ValueError if they would not be finite.
        """


class BoundLoss(BoundObjective, Protocol):
    """An objective bound to a data set, whose gradient is the derivative of a loss function."""

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        """Loss of each query, times its weight; fills `grad` and `hess` as `gradient` does."""


def read_rows(
    relevance: ArrayLike,
    scores: ArrayLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    **more: object,
) -> tuple[Judgments, np.ndarray | None, np.ndarray]:
    """Judgments, one weight per query, and scores contiguous by query, from the caller's arrays.

    `more` are further arrays with one entry per row, whose index is checked.
    """
    check.check_same_index(
        relevance=relevance, scores=scores, groups=groups, sample_weight=sample_weight, **more
    )
    with check.labels_first(relevance, scores):
        judgments = judge(relevance, groups)
    queries = judgments.queries
    weights = check.query_weights(sample_weight, queries)
    return judgments, weights, queries.gather(check.as_vector("scores", scores, queries.n_rows))


def begins_training(scores: np.ndarray, indptr: np.ndarray) -> bool:
    """Whether scores, contiguous by query, tie inside every query, as before the first round.

    Boosters do not report when a training begins. The number of the round and learned estimates
    belong to the data set that an objective is bound to, and are reset for such scores.
    """
    for some in (scores[:1000], scores):  # in most rounds, the first 1000 suffice
        changes = np.flatnonzero(some[1:] != some[:-1]) + 1
        if not np.array_equal(indptr[np.searchsorted(indptr, changes)], changes):
            return False
    return True


def seed_of_round(random_state: int, number: int) -> int:
    """Seed of the draws of a round. It does not depend on scores, whose last bits may differ."""
    return (random_state * 2**32 + number) % 2**63


class SharedRounds:
    """Bound objectives that count their rounds together.

    Attributes
    ----------
    bounds : sequence of BoundObjective
        In the order in which their gradients are computed.
    """

    bounds: Sequence[BoundObjective]

    @property
    def round(self) -> int:
        """Number of rounds that all bound objectives have completed."""
        return self.bounds[-1].round

    @round.setter
    def round(self, number: int) -> None:
        for bound in self.bounds:
            bound.round = number


class BoundFunction(ABC):
    """A loss function of scores on a data set, with gains per code and weights per query."""

    needs: ClassVar[str] = "gradients need"  # begins the error "... finite scores"

    def __init__(
        self,
        objective: Objective,
        judgments: Judgments,
        weights: np.ndarray | None,
        gain: np.ndarray,
    ) -> None:
        self.objective = objective
        self.judgments = judgments
        self.gain = gain
        self.weight = check.check_training_weights(weights, judgments.queries)
        self.round = 0

    @abstractmethod
    def fill(
        self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray, losses: np.ndarray
    ) -> None:
        """Fill the loss of each query, times its weight, and the derivatives of the sum."""

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        """Loss of each query, times its weight; fills `grad` and `hess` as `gradient` does."""
        check.check_finite_scores(scores, self.judgments.queries, self.needs)
        losses = np.empty(len(self.weight))
        self.fill(scores, grad, hess, losses)
        check.check_gradients(grad, hess, self.objective)
        self.round += 1
        return losses

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        self.losses(scores, grad, hess)


@dataclasses.dataclass(frozen=True)
class Objective(Parameterised, ABC):
    """A loss to minimise, with first derivative and a positive curvature per document."""

    mixture: ClassVar[Callable[..., Objective]]  # `ObjectiveMixture`, a subclass: set in its file
    named: ClassVar[dict[str, type[Objective]]] = {}  # subclasses by `name`
    name: ClassVar[str] = ""  # in texts such as "lambdarank:gap"
    takes_positions: ClassVar[bool] = False  # whether `bind` has a parameter `positions`
    __array_ufunc__: ClassVar[None] = None  # so that numpy.float64(0.5) * objective calls __rmul__

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            Objective.named.setdefault(cls.name, cls)

    def __str__(self) -> str:
        """A text such as "lambdarank:gap" for `as_objective`; the repr if the class has no name."""
        fields = dataclasses.fields(self)
        if Objective.named.get(self.name) is not type(self):
            return repr(self)
        wrapped = [one.name for one in fields if one.name in WRAPPED]
        changed = [
            f"{one.name}={format_value(getattr(self, one.name))}"
            for one in fields
            if one.name not in wrapped and getattr(self, one.name) != one.default
        ]
        head = self.name + (f"({','.join(changed)})" if changed else "")
        if not wrapped:
            return head
        inner = str(getattr(self, wrapped[0]))
        return f"{head}:({inner})" if "*" in inner else f"{head}:{inner}"

    @property
    def by_query(self) -> bool:
        """Whether the gradient of a query is independent of other queries: blocks can be bound."""
        return False

    @property
    def needs_room(self) -> bool:
        """Whether a round needs memory per row, so that binding in blocks saves memory."""
        return False

    @property
    def is_function(self) -> bool:
        """Whether the gradient is the derivative of a loss: then `bind` returns a `BoundLoss`."""
        return False

    @abstractmethod
    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> BoundObjective:
        """The objective bound to judgments, with one weight per query."""

    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature in double precision, as in the first round of training.

        Parameters
        ----------
        relevance : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        scores : array-like of shape (n_rows,)
            Finite scores.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `relevance`; without it all rows
            are one ranked list.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        grad, hess : ndarrays of shape (n_rows,)
            Training moves scores against `grad`; hess >= 0. For objectives of differences of
            scores, such as LambdaRank and SoftRank, the gradients of a query sum to 0.
        """
        judgments, weights, vector = read_rows(relevance, scores, groups, sample_weight)
        grad, hess = np.empty(len(vector)), np.empty(len(vector))
        self.bind(judgments, weights).gradient(vector, grad, hess)
        return judgments.queries.scatter(grad), judgments.queries.scatter(hess)

    @property
    def needs_scale(self) -> bool:
        """Whether its targets, regardless of its metric, depend on an unknown highest grade."""
        return getattr(self, "max_grade", 0) is None

    def on_scale(self, max_grade: int) -> Objective:
        """The objective with this highest grade of the collection, unless a parameter fixes it."""
        changes: Options = {"max_grade": max_grade} if self.needs_scale else {}
        if hasattr(self, "metric") and self.metric.needs_scale:
            changes["metric"] = self.metric.on_scale(max_grade)
        return dataclasses.replace(self, **changes) if changes else self

    @property
    def terms(self) -> tuple[tuple[float, Objective], ...]:
        """The weights and objectives of this sum; only a mixture has more than one term."""
        return ((1.0, self),)

    def __mul__(self, weight: float) -> Objective:
        """The objective times a weight above 0, to be added to others: see `ObjectiveMixture`."""
        if not isinstance(weight, numbers.Real):
            return NotImplemented
        return Objective.mixture(((weight, self),))

    __rmul__ = __mul__

    def __add__(self, other: Objective) -> Objective:
        """The sum of two objectives: see `ObjectiveMixture`."""
        if not isinstance(other, Objective):
            return NotImplemented
        return Objective.mixture(((1.0, self), (1.0, other)))


_ROWS = 2**18  # least rows of a block: its memory is small compared with large data
_ROWS_OF_A_THREAD = 2**15  # least rows of a block per thread, so that all threads have work


def blocks(judgments: Judgments) -> Iterator[tuple[slice, slice, Judgments]]:
    """Queries, rows and judgments of each block: whole queries, in their order."""
    indptr, n_rows = judgments.indptr, judgments.queries.n_rows
    size = max(_ROWS, _ROWS_OF_A_THREAD * thread_count())
    ends = np.searchsorted(indptr, np.arange(size, n_rows, size))
    for first, last in pairwise(np.unique(np.r_[0, ends, len(indptr) - 1]).tolist()):
        queries = slice(first, last)
        yield queries, slice(int(indptr[first]), int(indptr[last])), judgments.block(queries)


class BoundBlocks(SharedRounds):
    """An objective bound to blocks of queries, which count their rounds together.

    Gradients equal the gradients of the objective bound to all queries at once.

    Parameters
    ----------
    objective : Objective
        There is one block of all queries unless `objective.by_query` is True.
    judgments : Judgments
    weights : ndarray (n_queries,), optional
    max_grade : int, optional
        Highest grade of the collection.
    """

    def __init__(
        self,
        objective: Objective,
        judgments: Judgments,
        weights: np.ndarray | None,
        max_grade: int | None,
    ) -> None:
        everything = slice(None), slice(None), judgments
        self.parts: list[tuple[slice, BoundObjective]] = []
        for queries, rows, block in blocks(judgments) if objective.by_query else [everything]:
            some = None if weights is None else weights[queries]
            self.parts.append((rows, objective.bind(block, some, max_grade=max_grade)))
        self.bounds = [bound for _, bound in self.parts]

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for contiguous float64 `scores`, in the precision of `grad`."""
        self.round = self.round  # after an interrupted round, all blocks repeat it
        for rows, bound in self.parts:
            bound.gradient(scores[rows], grad[rows], hess[rows])
