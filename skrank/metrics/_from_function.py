"""Metrics that are Python functions of one ranked list, with exact means over ties."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import registry
from skrank._engine.parameters import flag
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Scale, Tables

_MOST_ORDERS = 10_000  # most orders of tied documents of a query, chosen freely


def metric_from_function(
    function: Callable[..., float],
    name: str | None = None,
    *,
    greater_is_better: bool = True,
    needs_relevant: bool = True,
    value_range: tuple[float, float] = (-math.inf, math.inf),
    unjudged: float = 0.0,
    **settings: Any,
) -> FunctionMetric:
    """Make a metric from a Python function of one ranked list.

    The metric can be called, and used in `skrank.evaluate`, scorers, eval metrics of boosters,
    early stopping and `GroupedRanker`. It cannot be an objective. The function is called once per
    query; with ties, once per distinct list of labels that the orders of tied documents give.

    Parameters
    ----------
    function : callable
        ``function(ranked)`` or ``function(ranked, unretrieved)``: labels in rank order, best
        document first and down to the cut-off, and labels of the judged documents that were not
        retrieved, as float arrays. Returns a finite number.
    name : str, optional
        Name in reports: small letters, digits and underscores. Default: the name of the function.
    greater_is_better : bool
        True if higher values are better.
    needs_relevant : bool
        True if the metric is not defined for queries without a label above 0. `function` is then
        not called for these queries, and their value is that of `empty`.
    value_range : pair of float
        Lowest and highest value, such as (0, 1), for intervals and tests.
    unjudged : float
        Label that `function` gets for documents without a label; may be NaN.
    **settings
        `k`, `condensed`, `empty`, `ties` and `average`: see `skrank.Metric`. With
        ``ties="average"`` the value is the exact mean over all orders of tied documents that differ
        within the first k ranks.

    Returns
    -------
    FunctionMetric
        ``skrank.metric(result, k=10)`` has a cut-off. The result can be pickled if `function` can.
        It is not registered: functions of skrank take the metric, not its name.

    Raises
    ------
    TypeError
        If `function` is not callable with these arguments.
    ValueError
        If the name is not allowed, or is the name of a metric of skrank. When the metric is
        computed: if the tied documents of a query have more than 10,000 orders, or `function` does
        not return a finite number.

    See Also
    --------
    register : metrics as classes, which run in compiled code and can be trained on.

    Examples
    --------
    >>> import numpy as np, skrank
    >>> def first_relevant(ranked):
    ...     return 1 / (1 + np.argmax(ranked > 0)) if (ranked > 0).any() else 0.0
    >>> metric = skrank.metric_from_function(first_relevant, value_range=(0, 1))
    >>> metric([0, 1, 2], [3, 2, 1])
    0.5
    >>> metric([0, 1, 2], [1, 1, 1]) == skrank.metric("rr")([0, 1, 2], [1, 1, 1])
    True
    >>> skrank.evaluate([0, 1, 2], [3, 2, 1], groups=[1, 1, 1], metrics=[metric]).mean
            first_relevant
    system
    scores             0.5
    """
    return FunctionMetric(
        function=function,
        name=getattr(function, "__name__", "") if name is None else name,
        greater_is_better=greater_is_better,
        needs_relevant=needs_relevant,
        value_range=value_range,
        unjudged=unjudged,
        **settings,
    )


class ListMetric(Metric):
    """A metric with `GenericTables`, of a Python function of one list; LambdaRank refuses it."""


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(ListMetric):
    """Metric of a Python function of one ranked list; `metric_from_function` makes it.

    Attributes
    ----------
    function, name, greater_is_better, needs_relevant, value_range, unjudged
        As given to `metric_from_function`.
    k, condensed, empty, ties, average
        See `Metric`.
    """

    names = ("function",)  # for messages about the class; see `first_name`
    unnamed = (
        "k", "function", "name", "greater_is_better", "needs_relevant", "value_range", "unjudged",
    )  # fmt: skip

    function: Callable[..., float]
    name: str
    greater_is_better: bool = flag(True)
    needs_relevant: bool = flag(True)
    value_range: tuple[float, float] = (-math.inf, math.inf)
    unjudged: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise TypeError(f"metric_from_function takes a function, not {self.function!r}.")
        check.takes_unretrieved(self.function)
        check.check_free_name(check.check_metric_name(self.name), registry, type(self))
        bounds = check.check_range("value_range", self.value_range)
        self._set(unjudged=float(self.unjudged), value_range=bounds)

    def __repr__(self) -> str:
        return f"FunctionMetric({self})"

    @property
    def first_name(self) -> str:
        """The name in reports, without parameters."""
        return self.name

    def tables(self, scale: Scale, k: int | None) -> GenericTables:
        """Tables whose values are means of the function over all orders of tied documents."""
        labels = np.where(scale.judged, scale.labels, self.unjudged)
        both = check.takes_unretrieved(self.function)
        function = self.function if both else lambda ranked, _: self.function(ranked)
        return GenericTables(str(self), function, labels, scale.labels > 0, scale.unjudged, k)


@dataclass(frozen=True, eq=False)
class GenericTables(Tables):
    """The value of a function; for ties, its mean over all orders, which are enumerated.

    Parameters
    ----------
    name : str
        Name of the metric, for messages.
    function : function of (ranked, unretrieved)
        Its arguments are the labels of the first k ranks, and the labels of the judged documents
        that were not retrieved.
    labels : ndarray (n_codes,)
        Label of each code, as the function gets it.
    hits : bool ndarray (n_codes,)
        Whether documents of a code are relevant.
    unjudged : int
        Documents that were not judged have this code or a higher code.
    k : int or None
        Number of ranks that the function gets; None for all.
    """

    name: str
    function: Callable[[np.ndarray, np.ndarray], object]
    labels: np.ndarray
    hits: np.ndarray
    unjudged: int
    k: int | None

    @property
    def relevant(self) -> np.ndarray:
        return self.hits

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.zeros(len(inverse))
        for query in np.flatnonzero(inverse).tolist():
            start, end = ranked.indptr[query : query + 2]
            n, name = ranked.retrieved[query], check.show(ranked.ids[query])
            retrieved = slice(start, start + n)
            codes = ranked.codes[start + n : end]
            unretrieved = self.labels[codes[codes < self.unjudged]]
            k = n if self.k is None else min(self.k, n)
            orders = _orders_of_ties(ranked.codes[retrieved], ranked.tied[retrieved], k)
            if orders is None:
                raise ValueError(
                    f"the tied documents of query {name} have more than {_MOST_ORDERS} orders, and "
                    f"{self.name}, a Python function of one list, would be called for each of "
                    "them: break the ties of the scores, set a cut-off, or choose "
                    'ties="stable", "worst" or "best".'
                )
            values = []
            for codes in orders[0]:
                labels = self.labels[codes]
                value = self.function(labels, unretrieved.copy())
                values.append(check.list_value(value, self.name, name, labels))
            out[query] = inverse[query] * float(orders[1] @ values)
        return out


def _orders_of_ties(
    codes: np.ndarray, tied: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct lists of `k` codes over all orders of ties, and the probability of each.

    None if there are too many lists.

    The next document of a block of ties has each code with a probability proportional to the number
    of documents of the code that remain in the block. Orders that differ only below rank `k`, or
    only in documents of one code, give the same list.
    """
    if not tied[: k + 1].any():
        return codes[None, :k], np.ones(1)
    lists, chances = np.empty((1, k), codes.dtype), np.ones(1)
    for low, high in pairwise(np.append(np.flatnonzero(tied == 0), len(codes))):
        kinds, counts = np.unique(codes[low:high], return_counts=True)
        if len(kinds) == 1:
            lists[:, low:high] = kinds[0]
            continue
        left = np.tile(counts, (len(lists), 1))
        for rank in range(low, min(high, k)):
            which, kind = np.nonzero(left)
            if len(which) > _MOST_ORDERS:
                return None
            chances = chances[which] * left[which, kind] / (high - rank)
            lists, left = lists[which], left[which]
            lists[:, rank] = kinds[kind]
            left[np.arange(len(which)), kind] -= 1
    return lists, chances
