"""Objectives, weighted sums of objectives, and the objectives that names and metrics stand for."""

from __future__ import annotations

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments, judge_rows
from skrank._engine.names import missing_prefix, name_in, refuse_sum, registry
from skrank._engine.parameters import Parameterised
from skrank._typing import Options, Weights
from skrank.metrics import Metric, metric
from skrank.objectives._bound import BoundBlocks, BoundMixture, BoundObjective, query_blocks


@dataclasses.dataclass(frozen=True)
class Objective(Parameterised, ABC):
    """A gradient and a curvature of at least 0 for each document, for boosters.

    If `is_function`, the gradient is the derivative of a loss.
    """

    named: ClassVar[dict[str, type[Objective]]] = {}  # subclasses by `name`
    name: ClassVar[str] = ""  # in texts such as "lambdarank:gap"

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "name" in vars(cls):
            # a name stays that of its first class: texts do not change their meaning
            known = Objective.named.setdefault(cls.name, cls)
            if (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__):
                Objective.named[cls.name] = cls  # a notebook cell that runs twice defines it again

    def __str__(self) -> str:
        """The call that makes the objective, such as "LambdaRank('gap', norm=False)"."""
        arguments = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "metric":
                arguments.append(repr(str(value)))
            elif value != field.default:
                arguments.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    __array_ufunc__ = None  # numbers of NumPy leave products to `__rmul__`

    def __mul__(self, weight: float) -> ObjectiveMixture:
        return ObjectiveMixture([(weight, self)])

    __rmul__ = __mul__

    def __add__(self, other: Objective) -> ObjectiveMixture:
        if not isinstance(other, Objective):
            return NotImplemented
        return ObjectiveMixture([(1.0, self), (1.0, other)])

    @property
    def terms(self) -> tuple[tuple[float, Objective], ...]:
        """Weights and objectives of a sum; what is not a sum has one term."""
        return ((1.0, self),)

    @property
    def by_query(self) -> bool:
        """Whether the gradient of a query is independent of other queries: blocks can be bound."""
        return False

    @property
    def is_function(self) -> bool:
        """Whether the gradient is the derivative of a loss: `bind` then returns `losses`, too."""
        return False

    @abstractmethod
    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundObjective:
        """The objective bound to judgments, with one weight per query."""

    def bind_blocks(
        self, judgments: Judgments, weights: Weights, max_grade: int | None
    ) -> BoundObjective:
        """As `bind`, but if the objective is `by_query`, of one block after the other.

        So the memory of a call is that of a block.
        """
        if not self.by_query:
            return self.bind(judgments, weights, max_grade=max_grade)
        parts = []
        for queries, rows, block in query_blocks(judgments):
            weights_of_block = None if weights is None else weights[queries]
            parts.append((rows, self.bind(block, weights_of_block, max_grade=max_grade)))
        return BoundBlocks(parts) if len(parts) > 1 else parts[0][1]

    def __call__(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature in double precision.

        They depend on the labels and scores, and on the seed of the objective if it draws random
        numbers.

        Parameters
        ----------
        relevance : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged, and has the gradient of label 0.
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
        judgments, weights = judge_rows(relevance, scores, groups, sample_weight)
        queries = judgments.queries
        grad, hess = np.empty(queries.n_rows), np.empty(queries.n_rows)
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        vector = np.require(vector, requirements="W")  # numba compiles anew for read-only arrays
        self.bind(judgments, weights).gradient(vector, grad, hess)
        return queries.scatter(grad), queries.scatter(hess)

    def on_scale(self, max_grade: int) -> Objective:
        """The objective with this highest grade of the collection, unless a parameter fixes it."""
        changes: Options = {"max_grade": max_grade} if self.needs_scale else {}
        if hasattr(self, "metric") and self.metric.needs_scale:
            changes["metric"] = self.metric.on_scale(max_grade)
        return dataclasses.replace(self, **changes) if changes else self


@dataclasses.dataclass(frozen=True)
class ObjectiveMixture(Objective):
    """A weighted sum of objectives: ``0.9 * LambdaRank("gap") + 0.1 * SquaredError()``.

    The gradient is the weighted sum of the gradients of the parts; so is the curvature. Weights are
    not normalised. A mixture can be used wherever an objective can.

    Parameters
    ----------
    parts : sequence of (float, Objective, Metric or str)
        Weights above 0, and objectives, or texts such as "softmax"; a metric stands for
        `LambdaRank` on the metric. A mixture among the objectives is replaced by its parts.

    Raises
    ------
    ValueError
        If there is no part, a weight is not above 0, or a part is not an objective.

    Examples
    --------
    >>> import skrank
    >>> both = 0.9 * skrank.LambdaRank("gap") + 0.1 * skrank.SquaredError()
    >>> grad, hess = both([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 1.095, -0.921, -0.247])
    """

    parts: Any  # pairs of a float and an Objective once made

    def __post_init__(self) -> None:
        try:
            pairs = [(weight, item) for weight, item in self.parts]
        except (TypeError, ValueError):
            pairs = []
        if not pairs:
            raise ValueError(
                f"parts={self.parts!r} must be pairs of a weight and an objective, such as "
                "[(0.9, LambdaRank('gap')), (0.1, SquaredError())]."
            )
        terms = []
        for weight, item in pairs:
            factor = check.check_number("weight", weight, 0, check.HEAVIEST, open_low=True)
            terms += [(factor * inner, objective) for inner, objective in as_objective(item).terms]
        for weight, objective in terms:
            if not 0 < weight < math.inf:
                raise ValueError(f"the weight of {objective} is {weight}: it must be above 0.")
        self._set(parts=tuple(terms))

    @property
    def terms(self) -> tuple[tuple[float, Objective], ...]:
        """Pairs of a weight and an objective."""
        return self.parts

    def map(self, change: Callable[[Objective], Objective]) -> ObjectiveMixture:
        """The sum of changed objectives, with the same weights."""
        return ObjectiveMixture([(weight, change(objective)) for weight, objective in self.parts])

    def on_scale(self, max_grade: int) -> ObjectiveMixture:
        """The sum of the objectives with this highest grade of the collection."""
        return self.map(lambda objective: objective.on_scale(max_grade))

    def __str__(self) -> str:
        return " + ".join(f"{weight!r} * {objective}" for weight, objective in self.parts)

    @property
    def is_function(self) -> bool:
        """True if each part is a loss function."""
        return all(objective.is_function for _, objective in self.parts)

    @property
    def by_query(self) -> bool:
        """True if each part is `by_query`."""
        return all(objective.by_query for _, objective in self.parts)

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundMixture:
        """The objectives bound to judgments, with one weight per query."""
        parts = [
            (weight, objective.bind(judgments, weights, max_grade=max_grade))
            for weight, objective in self.parts
        ]
        return BoundMixture(self, parts)


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a name, a Metric or an Objective; for a metric, LambdaRank on the metric.

    Parameters
    ----------
    objective : str, Metric or Objective
        The name of a metric; or the name of an objective, with a colon and its metric if it has
        one, such as "softmax" or "softrank:gap".
    **options
        Options of LambdaRank, if `objective` is a metric.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError
        If there is no such metric or objective; if an option is unknown, or given together with an
        Objective.

    Examples
    --------
    >>> from skrank.objectives import as_objective
    >>> print(as_objective("ndcg@10", truncation_level=30))
    LambdaRank('ndcg@10', truncation_level=30)
    >>> print(as_objective("softrank:gap"))
    SoftRank('gap')
    """
    chosen = metric_or_objective(objective)
    if isinstance(chosen, Objective):
        if options:
            raise ValueError(
                f"options {sorted(options)} are for metrics: give those of an objective in its "
                "call, such as SoftRank('gap', sigma=0.1)."
            )
        return chosen
    cls: Any = Objective.named["lambdarank"]
    known = {field.name for field in dataclasses.fields(cls)} - {"metric"}
    check.check_known(f"option of {cls.__name__}", options, known)
    return cls(chosen, **options)


def metric_or_objective(x: str | Metric | Objective) -> Metric | Objective:
    """The metric or objective of a text; a Metric or an Objective is returned unchanged.

    A ValueError for an unknown name shows how to write objectives.
    """
    if isinstance(x, (Metric, Objective)):
        return x
    if not isinstance(x, str):
        raise check.unknown_objective(x, Objective.named, registry)
    refuse_sum(x)
    objective = _objective_of(x.strip())
    if objective is not None:
        return objective
    try:
        return metric(x)
    except ValueError:  # of an unknown name, or else of a wrong parameter
        name = name_in(x)
        if name is None or name.lower() in registry or missing_prefix(x):
            raise
        raise check.unknown_objective(name, Objective.named, registry) from None


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; for a mixture, of the first part that has a metric."""
    return next((part.metric for _, part in objective.terms if hasattr(part, "metric")), None)


def _objective_of(text: str) -> Objective | None:
    """The objective of a text such as "softrank:gap"; None if it begins with another name."""
    name = re.split(r"\W", text, maxsplit=1)[0]
    classes = {spelling.replace("_", ""): cls for spelling, cls in Objective.named.items()}
    cls: Any = classes.get(name.lower().replace("_", ""))
    if cls is None or name.lower() in registry:  # users may register a metric of the same name
        return None
    rest = text[len(name) :]
    has_metric = "metric" in [field.name for field in dataclasses.fields(cls)]
    if has_metric and rest.startswith(":") and rest[1:].strip():
        return cls(metric=rest[1:])
    if not has_metric and not rest:
        return cls()
    plain = f"{cls.name}:ndcg" if has_metric else cls.name
    call = f"{cls.__name__}('ndcg', ...)" if has_metric else f"{cls.__name__}(...)"
    raise ValueError(
        f"{text!r} is not the name of an objective: write {plain!r}, or with options the object "
        f"{call}."
    )
