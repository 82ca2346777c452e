"""Metrics of the set of documents shown: precision, recall, and what follows from them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Counts, Metric, Values
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.tables import Scale, discounts, ratio

Ratio = tuple[np.ndarray, np.ndarray]  # numerators and denominators, one per query


@dataclass(frozen=True, kw_only=True)
class HitsMetric(Metric):
    """A metric of the number of hits among the first k documents, or among all retrieved."""

    orderless = True

    @abstractmethod
    def hits(self, scale: Scale) -> np.ndarray:
        """Whether documents of each code are hits."""

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum is the number of hits among the first k documents."""
        return QuadraticTables(self.hits(scale), discounts(np.ones_like, scale.longest, k))


@dataclass(frozen=True, kw_only=True)
class SetMetric(HitsMetric):
    """A ratio of two counts over the first k documents, or over all retrieved documents."""

    averages: ClassVar[tuple[str, ...]] = ("macro", "micro", "geometric")

    @abstractmethod
    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Numerator, linear in the number of hits, and denominator; for the others see `values`."""

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """The ratio. With "micro", denominators are weights: the mean is the ratio of two sums."""
        above, below = self.counts(sums, shown, relevant, total)
        return ratio(above, below), below if self.average == "micro" else None


@dataclass(frozen=True, kw_only=True)
class RelevantHits(HitsMetric):
    """A metric whose hits are relevant documents."""

    rel: float = parameter(1.0, check.check_rel)

    def hits(self, scale: Scale) -> np.ndarray:
        """Labels of at least `rel`."""
        return scale.labels >= self.rel


@dataclass(frozen=True, kw_only=True)
class RelevantSet(RelevantHits, SetMetric):
    """A set metric that counts relevant documents."""


@register("precision", "p")
@dataclass(frozen=True, kw_only=True)
class Precision(RelevantSet):
    r"""Precision: share of relevant documents among the first k documents.

    .. math:: P@k = \frac1k |\{r \le k : y_r \ge rel\}|

    Without a cut-off, all retrieved documents count, and their number replaces k. The precision of
    an empty list is 0.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    normalize : {"k", "shown"}
        Divisor for lists of fewer than k documents: k, as in TREC and ROMIP, or the number of
        documents of the list, as in XGBoost and CatBoost.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, P(n) and precision; trec_eval, P_k and set_P.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("precision@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    normalize: str = choice("k", ("k", "shown"))

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Divided by k, or by the number of documents shown."""
        if self.k is None or self.normalize == "shown":
            return hits, shown
        return hits, np.full(len(hits), float(self.k))


@register("relative_precision")
@dataclass(frozen=True, kw_only=True)
class RelativePrecision(RelevantSet):
    r"""Relative precision: precision divided by the highest possible precision.

    .. math:: \frac{|\{r \le k : y_r \ge rel\}|}{\min(k, R)}

    An ideal list has the value 1. R is the number of relevant documents of the query. The value is
    the precision for cut-offs up to R, and the recall for higher cut-offs. Without a cut-off, the
    number of retrieved documents replaces k.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    trec_eval, relative_P and set_relative_P.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("relative_precision@3")([0, 1, 1], [0.9, 0.5, 0.1])
    1.0
    """

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Divided by the highest number of relevant documents that the list could show."""
        return hits, np.minimum(shown if self.k is None else self.k, relevant)


@register("recall", "r")
@dataclass(frozen=True, kw_only=True)
class Recall(RelevantSet):
    r"""Recall: share of the relevant documents of the query that are among the first k documents.

    .. math:: recall@k = \frac1R |\{r \le k : y_r \ge rel\}|

    R is the number of relevant documents of the query. Without a cut-off, all retrieved documents
    count.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, recall; trec_eval, recall_k and set_recall.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("recall@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Divided by the number of relevant documents of the query."""
        return hits, relevant


@register("f1", "f")
@dataclass(frozen=True, kw_only=True)
class FBeta(RelevantSet):
    r"""F measure: weighted harmonic mean of precision P and recall R.

    .. math:: F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)

    Parameters
    ----------
    beta : float
        Weight of recall against precision, above 0.
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; 0 where precision or recall is 0.

    References
    ----------
    ROMIP 2010, appendix A, F-measure. trec_eval's set_F.x has x in the place of beta squared.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("f1@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    beta: float = number(1.0, 0, 1e6, open_low=True)

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """(1 + beta^2) hits / (beta^2 R + shown), which equals the definition."""
        weight = self.beta**2
        return (1 + weight) * hits, weight * relevant + (shown if self.k is None else self.k)


@register("set_ap")
@dataclass(frozen=True, kw_only=True)
class SetAP(RelevantSet):
    r"""Average precision of a set: precision times recall.

    .. math:: \frac{h}{\min(k, n)} \cdot \frac{h}{R}, \quad h = |\{r \le k : y_r \ge rel\}|

    h is the number of relevant documents among the first k of the n retrieved documents, and R the
    number of relevant documents of the query. Unlike in `Precision` with a cut-off, the precision
    of a list shorter than k is divided by n. Without a cut-off, all retrieved documents count.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    trec_eval, set_map (with the cut-off as ``-M``).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("set_ap@2")([0, 1, 1], [0.9, 0.5, 0.1])
    0.25
    """

    averages = ("macro", "geometric")  # "micro" would need the square of the sum of h

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The square of h: 1 for each relevant document shown, and 2 for each pair of them."""
        single = super().tables(scale, k)
        pairs = PairWorth(2.0 * single.u, single.gain, single.gain, np.multiply)
        return replace(single, pairs=pairs)

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Divided by the number of documents shown times R."""
        return hits, shown * relevant


@register("judged")
@dataclass(frozen=True, kw_only=True)
class Judged(SetMetric):
    r"""Judged: share of judged documents among the first k documents.

    .. math:: \frac1{\min(k, n)} |\{r \le k : y_r \text{ is known}\}|

    Parameters
    ----------
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range [0, 1].

    References
    ----------
    ir_measures, Judged@k: divided by the length of lists shorter than k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("judged@2")([1, float("nan"), 1], [0.9, 0.5, 0.1])
    0.5
    """

    needs_relevant = False

    def hits(self, scale: Scale) -> np.ndarray:
        """True for documents with a label."""
        return scale.judged

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Divided by the number of documents shown."""
        return hits, shown
