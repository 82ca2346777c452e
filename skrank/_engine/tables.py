"""`Tables`, the arrays of a metric for the kernels of its family, and `Scale`, their input."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import elementwise
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes

# Gains of labels: the name of a formula, the gains of 0, 1, 2, ..., or the gain of each label.
Gain = str | Sequence[float] | Mapping[float, float]


class Scale:
    """The data that the tables of a metric may depend on.

    Documents have small integers in place of labels: their codes, which are indexes of tables.

    Attributes
    ----------
    labels : ndarray of shape (n_codes,)
        Label of each code, ascending; then 0 for each code of documents that were not judged.
    max_grade : int
        Highest grade of the collection.
    longest : int
        Length of the longest list.
    unjudged : int
        Documents that were not judged have this code or a higher code (two codes of `InfAP`).
    condensed : bool
        Whether these documents are removed from the lists.
    cacheable : bool
        False if the tables depend on more than these attributes.
    """

    def __init__(self, judgments: Judgments, max_grade: int, metric: Any) -> None:
        self.labels, self.max_grade = judgments.labels, max_grade
        self.longest = judgments.queries.longest
        self.unjudged, self.condensed = judgments.n_labels, metric.condensed
        self._judgments, self._metric = judgments, metric
        self.cacheable = not metric.reads_judgments

    @property
    def judgments(self) -> Judgments:
        """Labels of the documents of each query, for metrics with `reads_judgments`."""
        if not self._metric.reads_judgments:
            raise TypeError(
                "tables() of this metric read the judgments of queries: set reads_judgments = True "
                "in its class, so that tables are not cached for other queries."
            )
        return self._judgments

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.judgments.queries)

    @property
    def judged(self) -> np.ndarray:
        """Whether documents of each code were judged."""
        return np.arange(len(self.labels)) < self.unjudged

    def place(self, code: int) -> str:
        """The row of the first document of a code, such as "row 3", for messages."""
        return self._judgments.place(code)

    def row_of(self, code: int) -> str | None:
        """As `place`, but None if no document has the code. After a call, tables are not cached."""
        self.cacheable = False  # they may lack the gain of a label that occurs in no row
        return self._judgments.row_of(code)

    def gains(self, gain: Gain) -> np.ndarray:
        """Gain of each code: of "exp2", "linear", gains of 0, 1, 2, ..., or a mapping of labels."""
        gains = gains_of(gain, self.labels, self)
        if self.condensed:
            gains[self.unjudged :] = 0.0  # the best list has judged documents only, too
        return gains

    def shares(self, gain: Gain, *, added: float = 0) -> np.ndarray:
        """Gain of each code, divided by the sum of that of the highest grade and `added`."""
        check.check_grades(self.labels, self.max_grade, self._metric, self.place)
        divisor = gains_of(gain, np.array([float(self.max_grade)]))[0] + added
        if divisor == 0:
            raise ValueError(f"{self._metric}: gain of {self.max_grade}, the highest grade, is 0.")
        return self.gains(gain) / divisor

    def totals(self, worth: np.ndarray) -> np.ndarray:
        """Sum of ``worth[code]`` over the documents of each query."""
        return self.judgments.totals(worth)


# Effect of swapping two documents: a compiled function of LambdaRank, the index of each row in its
# tables (the code, or the class of codes of equal gain), and these, such as `QuadraticSwaps`.
Swaps = tuple[Callable[..., None], np.ndarray, Any]


class Tables(ABC):
    """Arrays that define a sum over a ranked list, and the kernels of their family.

    Attributes
    ----------
    axes : mapping of str to tuple of {"codes", "ranks", "queries"}
        What the axes of each array are, such as ``{"gain": ("codes",)}``. Compiled loops do not
        check bounds. Therefore the sizes are checked when a metric is bound to judgments.
    unbounded : tuple of str
        Arrays that may hold infinity.
    cut : bool
        True if `values` reads only the ranks down to the cut-off, and documents tied with the last
        of these, so that the other documents need not be sorted.
    """

    axes: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    unbounded: ClassVar[tuple[str, ...]] = ()
    cut: bool = False

    def __post_init__(self) -> None:
        for name, axes in self.axes.items():
            full_name = f"{type(self).__name__}.{name}"
            array = check.as_table(full_name, getattr(self, name), len(axes))
            if name not in self.unbounded:
                check.check_finite_table(full_name, array)
            object.__setattr__(self, name, array)

    def check_fit(self, judgments: Judgments) -> None:
        """Refuse tables whose size does not fit the data."""
        for name, axes in self.axes.items():
            array = getattr(self, name)
            check.check_entries(f"{type(self).__name__}.{name}", array, axes, judgments.entries)

    @property
    @abstractmethod
    def relevant(self) -> np.ndarray:
        """Whether documents of each code are relevant."""

    @abstractmethod
    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Sum of each list times `inverse`, one over its best sum; 0 where `inverse` is 0."""

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """The best sum of each query. Default: raises, for metrics with the `ideal_cutoff` 0."""
        raise TypeError(f"{type(self).__name__} has no best sum: `ideal_cutoff` must be 0.")

    def swaps(self, judgments: Judgments) -> Swaps:
        """The compiled function for LambdaRank, and what it reads. Default: raises."""
        raise TypeError(f"{type(self).__name__} has no gradients.")


def ratio(numerator: np.ndarray, denominator: np.ndarray | float) -> np.ndarray:
    """numerator / denominator; 0 where the denominator is 0."""
    below = np.broadcast_to(denominator, numerator.shape)
    return np.divide(numerator, below, out=np.zeros(numerator.shape), where=below != 0)


def sum_in_order(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Elementwise sum of arrays, such as one entry per query, in the given order.

    `numpy.sum` uses another order for arrays of one entry. With it, the last bit of the value of a
    query would depend on the number of queries.
    """
    return reduce(np.add, parts)


def discounts(
    weights: Callable[[np.ndarray], np.ndarray], longest: int, k: int | None
) -> np.ndarray:
    """The weight of each rank.

    Parameters
    ----------
    weights : function of an array of ranks
    longest : int
        Length of the longest list: `Scale.longest`.
    k : int or None
        Cut-off.

    Returns
    -------
    ndarray of shape (longest,)
        ``weights(rank)`` for ranks 1..longest, 0 beyond rank `k`.

    Examples
    --------
    >>> from skrank.extending import discounts
    >>> discounts(lambda rank: 1 / rank, longest=4, k=2)
    array([1. , 0.5, 0. , 0. ])
    """
    if not callable(weights):
        raise TypeError(f"weights={weights!r} must be a function of an array of ranks.")
    longest = check.check_count("longest", longest, "the length of the longest list")
    if k is not None:
        k = check.check_count("k", k, "the number of top ranks that count")
    ranks = np.arange(1.0, longest + 1)
    values = check.as_table("the weights of ranks", weights(ranks), 1).copy()
    check.check_entries("the weights of ranks", values, ("ranks",), {"ranks": longest})
    if k is not None:
        values[k:] = 0.0
    return values


def at_rank(rank: np.ndarray, values: Sequence[float]) -> np.ndarray:
    """The value of each whole rank, from `values` of ranks 1, 2, ...; 0 for further ranks."""
    return np.interp(rank, np.arange(1, len(values) + 1), values, right=0.0)


def gains_by_label(gain: Any) -> dict[float, float]:
    """The gains of labels, ascending, for a checked gain that is not a name."""
    return dict(gain if isinstance(gain[0], tuple) else enumerate(gain))


def gains_of(gain: Any, labels: np.ndarray, data: Scale | Judgments | None = None) -> np.ndarray:
    """Gain of each label; `data` has their rows. A label that occurs in no row needs no gain."""
    if gain == "exp2":
        check.check_exponent("gain=exp2", labels, None if data is None else data.place)
        return elementwise(math.exp2, labels) - 1
    if gain == "linear":
        return labels.astype(np.float64)
    place = None if data is None else data.row_of
    return check.look_up("gain", gains_by_label(check.check_gain(gain)), labels, place)
