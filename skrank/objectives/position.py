"""Position bias: what the place of a document did to its clicks, learned while training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments, judge
from skrank._engine.queries import Queries
from skrank.objectives.base import Objective, as_objective

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from skrank.metrics import Metric
    from skrank.objectives.base import BoundObjective

_NEWTON_FLOOR = 1e-3  # added to curvatures, as LightGBM does


class PositionBias:
    """What is known about each position of a data set, as of the latest round.

    Attributes
    ----------
    positions : int64 ndarray
        Ascending.
    estimates : dict of str to float64 ndarray
        One entry per position.
    """

    def __init__(self, positions: np.ndarray, **estimates: float) -> None:
        self.positions = positions
        self.estimates = {name: np.full(len(positions), x) for name, x in estimates.items()}

    def frame(self) -> pd.DataFrame:
        """A table with one line per position."""
        import pandas as pd

        index = pd.Index(self.positions, name="position")
        return pd.DataFrame({name: x.copy() for name, x in self.estimates.items()}, index=index)


class Shown:
    """Where the documents of a data set were shown, and where its trainings begin.

    Parameters
    ----------
    queries : Queries
    positions : array-like of shape (n_rows,), optional
        In the caller's row order. Default: the order of the rows inside their query, from 1 on.
    deepest : int, optional
        Positions below are taken for this one.

    Attributes
    ----------
    values : int64 ndarray
        The positions that occur, ascending.
    codes : int64 ndarray of shape (n_rows,)
        Place of each contiguous row's position among them.
    """

    def __init__(self, queries: Queries, positions: Any, deepest: int | None) -> None:
        if positions is None:
            rows = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], queries.sizes) + 1
        else:
            rows = queries.gather(check.check_positions(positions, queries.n_rows))
        self.values, self.codes = np.unique(
            rows if deepest is None else np.minimum(rows, deepest), return_inverse=True
        )
        self._inside = np.ones(queries.n_rows, bool)  # rows that are not the first of their query
        self._inside[queries.indptr[:-1]] = False
        self._first: np.ndarray | None = None

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Sum over the rows at each position, in the order of the rows."""
        return np.bincount(self.codes, rows, len(self.values))

    def begins(self, scores: np.ndarray) -> bool:
        """Whether a training begins: boosters do not say, so the scores have to.

        They are those of the first training's first round, or tie inside every query.
        """
        untrained = not np.any((scores[1:] != scores[:-1]) & self._inside[1:])
        if self._first is None or untrained:
            self._first = scores.copy()
            return True
        return np.array_equal(scores, self._first)


@dataclass(frozen=True)
class PositionObjective(Objective):
    """An objective that learns about positions from round to round."""

    takes_positions: ClassVar[bool] = True
    _: KW_ONLY
    max_position: int | None = None

    def __post_init__(self) -> None:
        if self.max_position is not None:
            deepest = check.check_count(
                "max_position", self.max_position, "the deepest that counts"
            )
            object.__setattr__(self, "max_position", deepest)

    @abstractmethod
    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
        positions: Any = None,
    ) -> BoundPositionObjective:
        """The objective on judgments, with one weight per query and one position per row."""

    def position_bias(
        self,
        relevance: Any,
        scores: Any,
        *,
        groups: Any = None,
        positions: Any = None,
        sample_weight: Any = None,
        rounds: int = 100,
    ) -> pd.DataFrame:
        """Position bias that clicks show where scores are known: no model is trained.

        Parameters
        ----------
        relevance, scores, groups, sample_weight
            As in a call: clicks, and finite scores of what the documents are worth.
        positions : array-like of shape (n_rows,), optional
            Whole numbers of at least 0: where each document was shown. Default: the order of the
            rows inside their query, from 1 on.
        rounds : int
            Steps of the estimation.

        Returns
        -------
        pandas.DataFrame
            One line per position; columns as in the class.

        Examples
        --------
        >>> import numpy as np, skrank
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.normal(size=8000)                       # 2000 queries of 4 documents
        >>> chance = 1 / (1 + np.exp(-scores - np.tile([0, -1, -1.5, -2], 2000)))
        >>> clicks, queries = rng.random(8000) < chance, np.repeat(np.arange(2000), 4)
        >>> additive = skrank.AdditivePositionBias("ndcg")
        >>> bias = additive.position_bias(clicks, scores, groups=queries)["bias"]
        >>> (bias - bias[1]).round(1).tolist()
        [0.0, -0.9, -1.5, -2.2]
        """
        judgments = judge(relevance, groups)
        queries = judgments.queries
        weights = check.query_weights(sample_weight, queries)
        rounds = check.check_count("rounds", rounds, "steps of the estimation")
        bound = self.bind(judgments, weights, positions=positions)
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        grad, hess = np.empty(len(vector)), np.empty(len(vector))
        bound.restart()
        for _ in range(rounds):
            bound.step(vector, grad, hess)
        return bound.position_bias.frame()


class BoundPositionObjective(ABC):
    """An objective on one data set, with what it has learned about the positions there."""

    shown: Shown
    position_bias: PositionBias
    round: int

    @abstractmethod
    def restart(self) -> None:
        """Forget what was learned."""

    @abstractmethod
    def step(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` by what is known about the positions, and learn from them."""

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` (float32 or float64, contiguous rows) for float64 `scores`."""
        if self.shown.begins(scores):
            self.restart()
        self.step(scores, grad, hess)


@dataclass(frozen=True)
class AdditivePositionBias(PositionObjective):
    r"""An objective for clicks, on scores that positions have shifted.

    What makes people click is taken to be the score of a document plus a bias of its position.
    The wrapped objective is trained on that sum; the biases are learned with it, by one Newton step
    per round, and left out of predictions. This is how LightGBM's lambdarank treats positions.

    Parameters
    ----------
    objective : str, Metric or Objective
        What to train on; a metric, or its name, by `skrank.LambdaRank`.
    learning_rate : float
        Of the Newton steps, above 0. LightGBM takes that of its trees, 0.1 by default.
    regularization : float
        Weight of the L2 penalty on the biases, per document. LightGBM calls it
        ``lambdarank_position_bias_regularization``.
    max_position : int, optional
        Positions below are taken for this one. Default: each has its own bias.

    Notes
    -----
    Positions come from ``position=`` of a LightGBM Dataset, which numbers them anew from 0 on, in
    the order of their first occurrence. Everywhere else they are the order of the rows inside their
    query: sort the rows of a query as they were shown.

    Boosters do not say when a training begins. It does when all documents of each query tie, or
    when the scores are those of the first round on these data: biases start at 0 then. A training
    that goes on from other scores on the same data goes on with the biases.

    Only differences between biases matter.

    References
    ----------
    Treat position bias via GAM in LambdaMART, LightGBM, pull request 5929, 2023.

    Examples
    --------
    >>> import skrank
    >>> additive = skrank.AdditivePositionBias("ndcg")
    >>> grad, hess = additive([1, 0, 0], [0.0, 0.0, 0.0])  # the first round: no bias is known
    >>> bool(grad[0] < 0)
    True
    """

    objective: Objective
    _: KW_ONLY
    learning_rate: float = 0.1
    regularization: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = as_objective(self.objective)
        if inner.takes_positions:
            raise ValueError(f"{type(inner).__name__} learns about positions itself: use it alone.")
        rate = check.check_number("learning_rate", self.learning_rate, 0, 1, open_low=True)
        normalised = {
            "objective": inner,
            "learning_rate": rate,
            "regularization": check.check_number("regularization", self.regularization, 0, 1e9),
        }
        for name, value in normalised.items():
            object.__setattr__(self, name, value)

    @property
    def metric(self) -> Metric:
        """What the wrapped objective is trained on; of a mixture, the first metric."""
        for _, part in self.objective.terms:
            if hasattr(part, "metric"):
                return part.metric
        raise AttributeError(f"{self.objective} is trained on no metric.")

    def on_scale(self, max_grade: int) -> AdditivePositionBias:
        """The same about the objective on that scale."""
        return self.map(lambda one: one.on_scale(max_grade))

    def map(self, change: Callable[[Objective], Objective]) -> AdditivePositionBias:
        """The same about a changed objective."""
        return replace(self, objective=change(self.objective))

    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
        positions: Any = None,
    ) -> BoundAdditivePositionBias:
        """The objective on judgments, with one weight per query and one position per row."""
        shown = Shown(judgments.queries, positions, self.max_position)
        inner = self.objective.bind(judgments, weights, max_grade=max_grade)
        return BoundAdditivePositionBias(self, inner, shown)


class BoundAdditivePositionBias(BoundPositionObjective):
    """An objective on one data set, and the biases of its positions."""

    def __init__(
        self, objective: AdditivePositionBias, inner: BoundObjective, shown: Shown
    ) -> None:
        self.objective = objective
        self.inner = inner
        self.shown = shown
        self.position_bias = PositionBias(shown.values, bias=0.0)
        self.penalty = objective.regularization * np.bincount(shown.codes)

    @property
    def round(self) -> int:
        """Number of rounds of the inner objective."""
        return self.inner.round

    @round.setter
    def round(self, value: int) -> None:
        self.inner.round = value

    def restart(self) -> None:
        """All positions alike."""
        self.position_bias.estimates["bias"][:] = 0.0

    def step(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` at the shifted scores, and take a Newton step for the biases."""
        bias = self.position_bias.estimates["bias"]
        self.inner.gradient(scores + bias[self.shown.codes], grad, hess)
        slope = self.shown.sums(grad) + self.penalty * bias
        curvature = self.shown.sums(hess) + self.penalty
        bias -= self.objective.learning_rate * slope / (curvature + _NEWTON_FLOOR)
