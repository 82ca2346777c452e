"""Numbers of queries, of documents, and of relevant documents."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skrank._engine.metric import Counts, Values
from skrank._engine.names import register
from skrank._engine.tables import Scale
from skrank.metrics.sets import HitsMetric, RelevantHits


@dataclass(frozen=True, kw_only=True)
class CountMetric(HitsMetric):
    """A count per query: of documents, or 1. The counts of all queries are added up by default."""

    averages = ("sum", "macro")
    value_range = (0.0, math.inf)
    needs_relevant = False

    average: str = "sum"

    def hits(self, scale: Scale) -> np.ndarray:
        """No documents are hits: `values` of a subclass does not use their number."""
        return np.zeros(len(scale.labels), bool)


@dataclass(frozen=True, kw_only=True)
class RelevantCount(RelevantHits, CountMetric):
    """A number of relevant documents."""

    average: str = "sum"  # `RelevantHits`, the first base, has "macro"


@register("num_q")
@dataclass(frozen=True, kw_only=True)
class NumQueries(CountMetric):
    """Number of queries.

    Parameters
    ----------
    k : None
        There is no cut-off.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf); each query has the value 1.

    References
    ----------
    trec_eval, num_q.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_q")([1, 0, 1], [0.9, 0.5, 0.1], groups=["a", "a", "b"])
    2.0
    """

    cut_instead = "num_ret@k"

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """1 for each query."""
        return np.ones(len(sums)), None


@register("num_ret")
@dataclass(frozen=True, kw_only=True)
class NumRetrieved(CountMetric):
    """Number of retrieved documents, down to the cut-off.

    Parameters
    ----------
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_ret.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_ret")([1, 0, 1], [0.9, 0.5, float("-inf")])
    2.0
    """

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """The number of documents of the list, down to the cut-off."""
        return shown, None


@register("num_rel")
@dataclass(frozen=True, kw_only=True)
class NumRelevant(RelevantCount):
    """Number of relevant documents, retrieved or not.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k : None
        There is no cut-off.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_rel.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_rel")([1, 0, 1], [0.9, 0.5, float("-inf")])
    2.0
    """

    cut_instead = "num_rel_ret@k"

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """The number of relevant documents of the query."""
        return relevant, None


@register("num_rel_ret")
@dataclass(frozen=True, kw_only=True)
class NumRelevantRetrieved(RelevantCount):
    """Number of relevant documents that were retrieved, down to the cut-off.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf).

    References
    ----------
    trec_eval, num_rel_ret.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_rel_ret")([1, 0, 1], [0.9, 0.5, float("-inf")])
    1.0
    """


@register("num_nonrel_judged_ret")
@dataclass(frozen=True, kw_only=True)
class NumNonrelevantRetrieved(RelevantCount):
    """Number of retrieved documents that were judged not relevant, down to the cut-off.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    average : {"sum", "macro"}
        Over queries: the sum, or the mean.
    k, condensed, empty, ties
        See `Metric`; defined for every query. Range [0, inf); lower is better. With
        ``ties="worst"``, documents that were not judged come first among tied documents, although
        judged ones would make the value worse.

    References
    ----------
    trec_eval, num_nonrel_judged_ret.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("num_nonrel_judged_ret")([1, 0, float("nan")], [0.9, 0.5, 0.1])
    1.0
    """

    greater_is_better = False

    def hits(self, scale: Scale) -> np.ndarray:
        """True for labels below `rel`."""
        return scale.judged & (scale.labels < self.rel)
