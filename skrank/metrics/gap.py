"""Graded average precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import DividedByIdeal, Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.tables import Scale, discounts


@register("gap")
@dataclass(frozen=True, kw_only=True)
class GAP(DividedByIdeal, Metric):
    r"""Graded average precision: average precision, extended to graded labels.

    Users differ in which grades they regard as relevant: a share g_j of the users regards grade j
    and all higher grades as relevant. A document of grade i is thus relevant to the share
    ``G(i) = g_1 + ... + g_i`` of the users. GAP is the ratio of two means over these users: that of
    the sum of the precisions at relevant documents, and that of the number of relevant documents.

    .. math:: GAP = \frac1D \sum_n \frac1n \sum_{m \le n} G(\min(i_m, i_n)),
              \quad D = \sum_{\text{documents}} G(i)

    Here n and m are ranks, i_n is the grade of the document at rank n, and D sums over all
    documents of the query. With binary labels, GAP is average precision.

    Parameters
    ----------
    thresholds : sequence of float, optional
        The probabilities g_1, ..., g_c, which sum to 1. Default: 1 / max_grade for each grade. With
        g_t = 1 and all others 0, GAP is average precision with ``rel=t``.
    max_grade : int, optional
        Highest grade of the collection. Default: the number of thresholds; without thresholds, the
        highest of the labels that are measured.
    normalize : {"all", "ideal"}
        Divisor of a list that is cut at rank k: D over all documents of the query, as trec_eval
        does for map_cut, or D over the k documents of highest grade, so that an ideal list has the
        value 1. Without a cut-off, both are equal.
    fractional : {"step", "interp"}, optional
        How G is defined for a label between two grades, such as the mean of several assessors:
        G of the grade below, or linear interpolation between the two grades. Default: such a label
        is an error.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("gap")([2, 1, 0], [3, 2, 1])
    1.0
    >>> round(skrank.metric("gap", thresholds=[0.2, 0.5, 0.3])([1, 0, 3, 2], [4, 3, 2, 1]), 4)
    0.5263
    """

    thresholds: Sequence[float] | None = None
    max_grade: int | None = parameter(None, check.check_max_grade)
    normalize: str = choice("all", ("all", "ideal"))
    fractional: str | None = choice(None, (None, "step", "interp"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(thresholds=check.check_thresholds(self.thresholds, self.max_grade))

    @property
    def needs_scale(self) -> bool:
        """False: without thresholds, all terms are divided by the highest grade, which cancels."""
        return False

    def worth(self, scale: Scale) -> np.ndarray:
        """G of each distinct label, in the order of ``scale.labels``."""
        top = scale.max_grade if self.thresholds is None else len(self.thresholds)
        check.check_grades(scale.labels, top, self, scale.place)
        if self.fractional is None:
            check.check_whole_grades(scale.labels, self, scale.place)
        g = self.thresholds or (1 / top,) * top
        cumulated = np.minimum(np.concatenate(([0.0], np.cumsum(g))), 1.0)
        cumulated[-1] = 1.0  # exactly: the sum may end below 1 by rounding
        labels = np.floor(scale.labels) if self.fractional == "step" else scale.labels
        return np.interp(labels, np.arange(top + 1), cumulated)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The definition as a sum over documents and pairs of documents.

        A document at rank n adds G / n. Two documents add the smaller of their G, divided by the
        larger of their ranks. D sums G over the best list, down to the cut-off that `normalize`
        sets.
        """
        worth = self.worth(scale)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, worth, worth, np.minimum)
        return QuadraticTables(worth, weights, pairs, ideal=(worth, np.sign(weights)))
