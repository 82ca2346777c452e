"""Objectives, weighted sums of objectives, and the objectives that names and metrics stand for."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _renamed
from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import meaning, registry
from skrank._engine.name_parser import group, names_in, parts_of_name, split, terms
from skrank._engine.parameters import Parameterised, Sum, format_value, terms_of
from skrank._engine.peer_names import elsewhere
from skrank._typing import Options, Weights
from skrank.metrics import Metric, metric
from skrank.objectives._bound import BoundMixture, BoundObjective, blocks, read_rows

WRAPPED = ("metric", "objective")  # a text such as "lambdarank:gap" has this field after the colon
_EXAMPLE = "(0.9, LambdaRank('gap')), (0.1, SquaredError())"


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
    ) -> list[tuple[slice, BoundObjective]]:
        """Rows of each block of queries, and the objective bound to them, to save memory.

        There is one block of all queries unless the objective is `by_query`.
        """
        everything = [(slice(None), slice(None), judgments)]
        parts = []
        for queries, rows, block in blocks(judgments) if self.by_query else everything:
            some = None if weights is None else weights[queries]
            parts.append((rows, self.bind(block, some, max_grade=max_grade)))
        return parts

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
        """Whether it has a parameter `max_grade` that is not given; its metric is not looked at."""
        return getattr(self, "max_grade", 0) is None

    def on_scale(self, max_grade: int) -> Objective:
        """The objective with this highest grade of the collection, unless a parameter fixes it."""
        changes: Options = {"max_grade": max_grade} if self.needs_scale else {}
        if hasattr(self, "metric") and self.metric.needs_scale:
            changes["metric"] = self.metric.on_scale(max_grade)
        return dataclasses.replace(self, **changes) if changes else self


@dataclasses.dataclass(frozen=True)
class ObjectiveMixture(Sum, Objective):
    """A weighted sum of objectives, such as the text ``"0.9*lambdarank:gap+0.1*squared_error"``.

    The gradient is the weighted sum of the gradients of the parts; so is the curvature. Weights are
    not normalised. A mixture can be used wherever an objective can.

    `LambdaRank` on a mixture of metrics, ``LambdaRank("0.7*gap+0.3*ndcg@10")``, differs from a
    mixture of two `LambdaRank` objectives: it normalises the sum of the gradients of a query, while
    a mixture of objectives adds gradients that are normalised.

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
    >>> from skrank.objectives import ObjectiveMixture
    >>> both = ObjectiveMixture([(0.9, "gap"), (0.1, skrank.SquaredError())])
    >>> grad, hess = both([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 1.095, -0.921, -0.247])
    """

    parts: Any  # pairs of a float and an Objective once made

    def __post_init__(self) -> None:
        self._set(parts=terms_of(self.parts, as_objective, _EXAMPLE))

    @property
    def is_function(self) -> bool:
        """True if each part is a loss function."""
        return all(one.is_function for _, one in self.parts)

    @property
    def by_query(self) -> bool:
        """True if each part is `by_query`."""
        return all(one.by_query for _, one in self.parts)

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundMixture:
        """The objectives bound to judgments, with one weight per query."""
        parts = [
            (weight, one.bind(judgments, weights, max_grade=max_grade))
            for weight, one in self.parts
        ]
        return BoundMixture(self, parts)


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a text, a Metric or an Objective; for a metric, LambdaRank on the metric.

    Parameters
    ----------
    objective : str, Metric or Objective
        The name of a metric; the name of an objective, with a colon and its metric if it has one,
        such as "softmax", "lambdarank:gap" or "lambdaloss(mu=5):ndcg@10"; or a sum of weights times
        such names, such as "0.9*lambdarank:gap+0.1*squared_error".
    **options
        Options of LambdaRank, if `objective` is a metric.

    Returns
    -------
    Objective
        ``as_objective(str(objective))`` equals an objective whose class has a name.

    Raises
    ------
    ValueError
        If there is no such metric or objective; if an option is unknown, or given together with an
        Objective.

    Notes
    -----
    "0.7*gap+0.3*ndcg@10" is LambdaRank on a mixture of metrics, as "lambdarank:(0.7*gap+0.3*
    ndcg@10)" is; "0.7*lambdarank:gap+0.3*lambdarank:ndcg@10" is a mixture of objectives. If a sum
    contains the name of an objective, each metric in the sum stands for LambdaRank on it.

    Examples
    --------
    >>> from skrank.objectives import as_objective
    >>> as_objective("ndcg@10", truncation_level=30).truncation_level
    30
    >>> str(as_objective("0.9*gap+0.1*softmax(gain=linear)"))
    '0.9*lambdarank:gap+0.1*softmax(gain=linear)'
    """
    chosen = metric_or_objective(objective)
    if isinstance(chosen, Objective):
        if options:
            raise ValueError(
                f"options {sorted(options)} belong to the objective: write "
                f"dataclasses.replace(objective, {next(iter(options))}=...)."
            )
        return chosen
    return _build(Objective.named["lambdarank"], [chosen], options)


def metric_or_objective(x: str | Metric | Objective) -> Metric | Objective:
    """The metric or objective of a text; a Metric or an Objective is returned unchanged.

    A ValueError for an unknown name shows how to write objectives.
    """
    if isinstance(x, Objective):
        return x
    if not isinstance(x, (str, Metric)):
        raise check.unknown_objective(x, Objective.named, registry)
    if isinstance(x, str):
        found = _objective_of(x)
        if found is not None:
            return found
    try:
        return metric(x)
    except ValueError:  # of an unknown name, or else of a wrong parameter
        unknown = [one for one in names_in(str(x)) if one.lower() not in registry]
        if not unknown or meaning(str(x)) or elsewhere(str(x), metric):
            raise
        raise check.unknown_objective(unknown[0], Objective.named, registry) from None


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; for a mixture, of the first part that has a metric."""
    for _, one in objective.terms:
        if hasattr(one, "metric"):
            return one.metric
    return None


def _objective_of(text: str) -> Objective | None:
    """The objective of a text; None if the text is a metric."""
    pairs = [(weight, atom, _of_atom(atom)) for weight, atom in terms(text)]
    if all(one is None for _, _, one in pairs):
        return None
    if len(pairs) == 1 and pairs[0][0] in (None, 1):
        return pairs[0][2]
    return ObjectiveMixture([(1.0 if w is None else w, one or atom) for w, atom, one in pairs])


def _of_atom(text: str) -> Objective | None:
    """The objective of a name, or of a sum in brackets; None for a metric."""
    cls = _class_of(text)
    if cls is None:
        inner = group(text)
        return None if inner is None or inner[1] is not None else _objective_of(inner[0])
    head, *rest = split(text, ":", 1)
    try:
        options = parts_of_name(head)[1]
    except ValueError:
        raise ValueError(
            f"{head!r} is not an objective: write name or name(option=value), with its metric "
            "behind a colon if it has one, such as 'softmax(gain=linear)' or 'lambdarank:gap'."
        ) from None
    wraps = dataclasses.fields(cls)[0].name in WRAPPED
    if wraps != bool(rest and rest[0]):
        raise ValueError(
            f"{text!r} is not an objective: its metric is missing, write {cls.name}:ndcg."
            if wraps
            else f"{text!r} is not an objective: {cls.name} has no metric, write {cls.name}."
        )
    return _build(cls, rest, options)


def _build(cls: type[Objective], wrapped: Sequence[str | Metric], options: Options) -> Objective:
    """An objective of a class, with what it is trained on, after a check of the options' names."""
    known = signature(cls).parameters.keys() - WRAPPED
    for name in options:
        if name not in known:
            meant = _renamed.replacements()[1].get(cls.__qualname__, {}).get(name)
            raise check.unknown_name(f"option of {cls.__name__}", name, known, meant)
    return cls(*wrapped, **options)


def _class_of(atom: str) -> type[Objective] | None:
    """The class of the objective whose name begins an atom; None if it begins with a metric."""
    name = re.split(r"\W", atom, maxsplit=1)[0].lower()
    if name in registry:
        return None
    classes = {one.replace("_", ""): cls for one, cls in Objective.named.items()}
    return classes.get(name.replace("_", ""))
