"""What a metric is: checked parameters, a name that parses back, tables for the kernels."""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from skrank import _validation as check
from skrank.metrics._names import read

if TYPE_CHECKING:
    import pandas as pd

    from skrank.metrics.mixture import Mixture
    from skrank.metrics.plan import Judgments, Plan


ORDERLESS = "the order of the whole list does not matter to it; add a cut-off."


@dataclasses.dataclass(frozen=True)
class Scale:
    """What the tables of a metric may depend on.

    Attributes
    ----------
    labels : ndarray
        Label of each code, ascending; 0 stands for unjudged.
    max_grade : int
        Highest grade of the collection.
    longest : int
        Length of the longest list.
    judgments : Judgments
        Labels of the documents of each query.
    """

    labels: np.ndarray
    max_grade: int
    longest: int
    judgments: Judgments

    @property
    def unjudged(self) -> int:
        """Least code of documents that were not judged."""
        unjudged = self.judgments.unjudged
        return len(self.labels) if unjudged is None else unjudged

    def totals(self, worth: np.ndarray) -> np.ndarray:
        """Sum over the documents of each query of a worth per code."""
        return self.judgments.totals(worth)


@dataclasses.dataclass(frozen=True)
class Lists:
    """Numbers of documents per query, as float arrays of shape (n_queries,).

    Attributes
    ----------
    shown
        Documents in the list, down to the cut-off.
    relevant
        Relevant documents of the query, shown or not.
    total
        All documents of the query, shown or not.
    """

    shown: np.ndarray
    relevant: np.ndarray
    total: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class RankedCodes:
    """Codes in rank order with their ties, as the kernels read them."""

    indptr: np.ndarray
    codes: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class LambdaKernels:
    """What a family contributes to LambdaRank.

    Attributes
    ----------
    gradients : compiled function
        Gradients from all pairs.
    neighbours : compiled function
        Changes of the metric when neighbours in the order swap.
    codes : ndarray (n_rows,)
        What both read for the label of a row.
    arrays : tuple
        What else both take.
    """

    gradients: Callable[..., None]
    neighbours: Callable[..., None]
    codes: np.ndarray
    arrays: tuple[Any, ...]


class Tables(ABC):
    """Arrays that define a sum over a ranked list, and the kernels of their family."""

    @property
    @abstractmethod
    def relevant(self) -> np.ndarray:
        """Whether documents of each code are relevant."""

    @abstractmethod
    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`, which is 0 where there is nothing to compute."""

    @abstractmethod
    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sum of each query."""

    def repeated(self, n_lists: int) -> Tables:
        """The tables of the first query, for `n_lists` lists."""
        return self

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Change of the sum for every swap of ranks a < b of one list of codes: by swapping."""
        n = len(codes)
        upper, lower = np.triu_indices(n, 1)
        lists = np.tile(codes, (len(upper) + 1, 1))
        which = np.arange(len(upper))
        lists[which, upper], lists[which, lower] = codes[lower], codes[upper]
        m = len(lists)
        swapped = RankedCodes(
            np.arange(m + 1) * n, lists.ravel(), np.zeros(m * n, np.uint8), np.full(m, n)
        )
        sums = self.repeated(m).values(swapped, np.ones(m))
        out = np.zeros((n, n))
        out[upper, lower] = sums[:-1] - sums[-1]
        return out

    def lambda_kernels(self, judgments: Judgments) -> LambdaKernels:
        """What LambdaRank takes from here."""
        raise TypeError(f"{type(self).__name__} has no gradients.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Metric(ABC):
    """A measure of the worth of a ranking: data that a kernel interprets.

    Parameters
    ----------
    k : int, optional
        Only the first k ranks count. Default: the whole list.
    condensed : bool
        Remove documents that were not judged (label NaN) from the list before it is measured. By
        default they stay and count as not relevant.
    empty : {"skip", 0, 1, "nan", "raise"}
        Value of a query without a relevant document. "skip": NaN per query, left out of the mean.
    ties : {"average", "stable", "worst", "best"}
        How documents of equal score are ordered. "average": the mean over all orders, exactly.
    average : {"macro", "geometric"}
        Mean over queries: arithmetic, or geometric with values raised to at least 1e-5, as
        trec_eval's gm_map. Set metrics also have "micro": documents of all queries are counted
        together.
    """

    __array_ufunc__: ClassVar[None] = None  # numpy's numbers leave products to the metric
    names: ClassVar[tuple[str, ...]] = ()
    averages: ClassVar[tuple[str, ...]] = ("macro", "geometric")
    greater_is_better: ClassVar[bool] = True
    needs_relevant: ClassVar[bool] = True  # not defined for queries without a relevant document

    k: int | None = None
    condensed: bool = False
    empty: str | int = "skip"
    ties: str = "average"
    average: str = "macro"

    def __post_init__(self) -> None:
        self._set(
            average=check.check_choice("average", self.average, self.averages),
            k=check.check_cutoff(self.k),
            condensed=check.check_flag("condensed", self.condensed),
            empty=check.check_choice("empty", self.empty, check.EMPTY_CHOICES),
            ties=check.check_choice("ties", self.ties, check.TIES_CHOICES),
        )

    def _set(self, **fields: Any) -> None:
        """Store normalised parameters of a frozen instance."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    # what a metric defines

    @abstractmethod
    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Arrays that define the sum of this metric cut at rank `k`, before normalisation."""

    @property
    def ideal_cutoff(self) -> int | None:
        """Cut-off of the ideal list that the sum is divided by; 0 when it is not divided."""
        return 0

    @property
    def untrainable(self) -> str | None:
        """Why LambdaRank cannot train on this metric, with what to train on instead; else None."""
        return None

    def finish(self, sums: np.ndarray, lists: Lists) -> np.ndarray:
        """Values of queries from their normalised sums, where more than the sum counts."""
        return sums

    def mass(self, lists: Lists) -> np.ndarray | None:
        """Weight of each query in the mean; None for equal weights."""
        return None

    # what follows from it

    def __call__(
        self, relevance: Any, scores: Any, *, groups: Any = None, sample_weight: Any = None
    ) -> float:
        """Mean over queries.

        Parameters
        ----------
        relevance : array-like of shape (n_rows,)
            Labels, at least 0; NaN = not judged.
        scores : array-like of shape (n_rows,)
            Higher ranks first; -inf = judged but not retrieved.
        groups : array-like of shape (n_rows,), optional
            Query of each row. Default: the index level "qid" of `relevance`; without it all rows
            are one ranked list.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row's query, constant inside a query.

        Returns
        -------
        float
        """
        from skrank.metrics.plan import mean_over_queries

        return mean_over_queries(self, relevance, scores, groups, sample_weight)

    def per_query(self, relevance: Any, scores: Any, *, groups: Any = None) -> pd.Series:
        """Value of each query, as a Series indexed by query; parameters as in a call."""
        from skrank.metrics.plan import values_per_query

        return values_per_query(self, relevance, scores, groups)

    @property
    def terms(self) -> tuple[tuple[float, Metric], ...]:
        """The weights and metrics whose sum this is: itself, but for a mixture."""
        return ((1.0, self),)

    @property
    def plan_class(self) -> type[Plan]:
        """What binds this metric to judgments."""
        from skrank.metrics.plan import Plan

        return Plan

    def __matmul__(self, k: int) -> Metric:
        """The same metric cut at rank `k`: ``metric("gap") @ 10``."""
        return dataclasses.replace(self, k=k)

    def __mul__(self, weight: float) -> Mixture:
        """The metric times a weight above 0, to be added to others: see `Mixture`."""
        from skrank.metrics.mixture import Mixture

        if not isinstance(weight, numbers.Real):
            return NotImplemented
        return Mixture(parts=((weight, self),))

    __rmul__ = __mul__

    def __add__(self, other: Metric) -> Mixture:
        """The sum of two metrics: see `Mixture`."""
        from skrank.metrics.mixture import Mixture

        if not isinstance(other, Metric):
            return NotImplemented
        return Mixture(parts=((1.0, self), (1.0, other)))

    def __str__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.name != "k"]
        changed = [
            f"{field.name}={format_value(getattr(self, field.name))}"
            for field in fields
            if getattr(self, field.name) != field.default
        ]
        inside = f"({','.join(changed)})" if changed else ""
        return self.names[0] + inside + ("" if self.k is None else f"@{self.k}")


def discounts(
    weights: Callable[[np.ndarray], np.ndarray], longest: int, k: int | None
) -> np.ndarray:
    """``weights(rank)`` for ranks 1..longest, 0 beyond rank `k`."""
    values = np.asarray(weights(np.arange(1.0, longest + 1)), dtype=np.float64)
    if k is not None:
        values[k:] = 0.0
    return values


# names and strings

_registry: dict[str, type[Metric]] = {}
_M = TypeVar("_M", bound=type[Metric])


def register(*names: str) -> Callable[[_M], _M]:
    """Give a metric class its name and aliases."""

    def add(cls: _M) -> _M:
        cls.names = names
        _registry.update(dict.fromkeys(names, cls))
        return cls

    return add


def registered() -> dict[str, type[Metric]]:
    """Metric classes by name, without aliases.

    Returns
    -------
    dict of str to type

    Examples
    --------
    >>> from skrank.metrics import registered
    >>> registered()["gap"]
    <class 'skrank.metrics.gap.GAP'>
    """
    return {cls.names[0]: cls for cls in _registry.values()}


def metric(name: str | Metric, **parameters: Any) -> Metric:
    """The metric of a name such as ``"gap@10"`` or ``"ndcg(gain=linear)@10"``.

    Parameters
    ----------
    name : str or Metric
        Name, parameters in brackets, cut-off behind @; or a sum of weights times such names, see
        `Mixture`. A Metric is returned as it is.
    **parameters
        Parameters beyond those in the name; those of a sum go to each of its metrics.

    Returns
    -------
    Metric
        Frozen, hashable, picklable; ``str(metric)`` gives a name that parses back.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the message suggests the nearest) or out of range.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("ndcg(gain=linear)@10") == skrank.metrics.NDCG(k=10, gain="linear")
    True
    >>> str(skrank.metric("gap", thresholds=[0.3, 0.7], k=5))
    'gap(thresholds=[0.3,0.7])@5'
    >>> skrank.metric("0.7*gap + 0.3*ndcg@10") == 0.7 * skrank.metric("gap") + 0.3 * skrank.metric(
    ...     "ndcg@10"
    ... )
    True
    """
    if isinstance(name, Metric):
        return _build(type(name), _fields(name) | parameters) if parameters else name
    if not isinstance(name, str):
        raise ValueError(f"{name!r} is no metric: pass a name such as 'gap@10', or a Metric.")

    def named(base: str, inside: dict[str, Any]) -> Metric:
        if base not in _registry:
            raise check.unknown_name("metric", base, _registry)
        repeated = sorted(set(inside) & set(parameters))
        if repeated:
            raise ValueError(f"{repeated[0]} is given twice: in {name!r} and as a parameter.")
        return _build(_registry[base], inside | parameters)

    return read(name, named)


def _fields(instance: Metric) -> dict[str, Any]:
    return {f.name: getattr(instance, f.name) for f in dataclasses.fields(instance)}


def _build(cls: type[Metric], parameters: Mapping[str, Any]) -> Metric:
    known = [field.name for field in dataclasses.fields(cls)]
    for name in parameters:
        if name not in known:
            raise check.unknown_name(f"parameter of {cls.names[0]}", name, known)
    return cls(**parameters)


def format_value(value: Any) -> str:
    """The text of a parameter, without spaces, as `metric` reads it."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return "{" + ",".join(f"{format_value(a)}:{format_value(b)}" for a, b in value) + "}"
        return "[" + ",".join(map(format_value, value)) + "]"
    if isinstance(value, str):
        return value if value.isidentifier() else repr(value)
    return repr(value)
