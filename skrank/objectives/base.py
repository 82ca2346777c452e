"""What an objective is: something that gives gradients once it is bound to judgments."""

from __future__ import annotations

import dataclasses
import numbers
import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments, judge
from skrank.metrics import Metric

if TYPE_CHECKING:
    from skrank.objectives.mixture import ObjectiveMixture

_SEEDING_SCORES = 10_000  # enough to tell one round's scores from another's


class BoundObjective(Protocol):
    """An objective on one data set; counts its rounds, for what it draws anew each round."""

    round: int

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` (float32 or float64, contiguous rows) for float64 `scores`."""


class BoundLoss(BoundObjective, Protocol):
    """An objective on one data set whose gradient is that of a function."""

    def losses(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> np.ndarray:
        """Loss of each query, times its weight; fills `grad` and `hess` as `gradient` does."""


def seed_of_round(random_state: int, number: int, scores: np.ndarray) -> int:
    """Seed of the draws of a round; by the scores too, for callers that count no rounds."""
    drawn = np.ascontiguousarray(scores[:: 1 + len(scores) // _SEEDING_SCORES])
    return (random_state * 2**32 + zlib.crc32(drawn.data) + number) % 2**63


@dataclasses.dataclass(frozen=True)
class Objective(ABC):
    """A loss to minimise, with first derivative and a positive curvature per document."""

    takes_positions: ClassVar[bool] = False  # whether `bind` has a parameter `positions`
    __array_ufunc__: ClassVar[None] = None  # numpy's numbers leave products to the objective

    @property
    def is_function(self) -> bool:
        """Whether its gradient is that of a function: whether it binds to a `BoundLoss`."""
        return False

    @abstractmethod
    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
    ) -> BoundObjective:
        """The objective on judgments, with one weight per query."""

    def __call__(
        self, relevance: Any, scores: Any, *, groups: Any = None, sample_weight: Any = None
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
            Training moves scores against `grad`; hess >= 0. Where only differences of scores
            matter, as to LambdaRank and SoftRank, the gradients of a query sum to 0.
        """
        judgments = judge(relevance, groups)
        queries = judgments.queries
        weights = check.query_weights(sample_weight, queries)
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        grad, hess = np.empty(len(vector)), np.empty(len(vector))
        self.bind(judgments, weights).gradient(vector, grad, hess)
        return queries.scatter(grad), queries.scatter(hess)

    @property
    def needs_scale(self) -> bool:
        """Whether its own targets (not its metric) depend on a highest grade that is not given."""
        return getattr(self, "max_grade", 0) is None

    def on_scale(self, max_grade: int) -> Objective:
        """The objective with this highest grade of the collection, where it leaves it open."""
        changes: dict[str, Any] = {"max_grade": max_grade} if self.needs_scale else {}
        if hasattr(self, "metric"):
            changes["metric"] = self.metric.on_scale(max_grade)
        return dataclasses.replace(self, **changes) if changes else self

    @property
    def terms(self) -> tuple[tuple[float, Objective], ...]:
        """The weights and objectives whose sum this is: itself, but for a mixture."""
        return ((1.0, self),)

    def __mul__(self, weight: float) -> ObjectiveMixture:
        """The objective times a weight above 0, to be added to others: see `ObjectiveMixture`."""
        from skrank.objectives.mixture import ObjectiveMixture

        if not isinstance(weight, numbers.Real):
            return NotImplemented
        return ObjectiveMixture(((weight, self),))

    __rmul__ = __mul__

    def __add__(self, other: Objective) -> ObjectiveMixture:
        """The sum of two objectives: see `ObjectiveMixture`."""
        from skrank.objectives.mixture import ObjectiveMixture

        if not isinstance(other, Objective):
            return NotImplemented
        return ObjectiveMixture(((1.0, self), (1.0, other)))


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a metric name, a Metric (both: LambdaRank on it) or an Objective.

    Parameters
    ----------
    objective : str, Metric or Objective
    **options
        Options of LambdaRank, when `objective` is a metric.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError
        If an option is unknown, or given together with an Objective.

    Examples
    --------
    >>> from skrank.objectives import as_objective
    >>> as_objective("ndcg@10", truncation_level=30).truncation_level
    30
    """
    from skrank.objectives.lambdarank import LambdaRank

    if isinstance(objective, Objective):
        if options:
            raise ValueError(
                f"options {sorted(options)} belong to the objective: write "
                f"dataclasses.replace(objective, {next(iter(options))}=...)."
            )
        return objective
    known = [field.name for field in dataclasses.fields(LambdaRank) if field.name != "metric"]
    for name in options:
        if name not in known:
            raise check.unknown_name("option of LambdaRank", name, known)
    return LambdaRank(objective, **options)  # type: ignore[arg-type]
