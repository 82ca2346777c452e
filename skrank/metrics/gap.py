"""Graded average precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale, Smooth, discounts


@register("gap")
@dataclass(frozen=True, kw_only=True)
class GAP(Metric):
    r"""Graded average precision: average precision for users who differ in what they call relevant.

    A user regards grades j and better as relevant with probability g_j; a document of grade i is
    then relevant with probability ``G(i) = g_1 + ... + g_i``.

    .. math:: GAP = \frac1D \sum_n \frac1n \sum_{m \le n} G(\min(i_m, i_n)),
              \quad D = \sum_{\text{documents}} G(i)

    Parameters
    ----------
    thresholds : sequence of float, optional
        g_1..g_c, probabilities that sum to 1. Default: uniform over the grades 1..max_grade. A
        point mass on grade t gives average precision with ``rel=t``.
    max_grade : int, optional
        Highest grade of the collection. Default: the number of thresholds, else the highest label
        of the labels that are measured.
    normalize : {"all", "ideal"}
        With a cut-off: divide by D over all documents of the query (as trec_eval's map_cut), or by
        the best possible value at k, so that an ideal list scores 1.
    labels : {"step", "interp"}, optional
        Worth of a label between two grades: that of the grade below, or in proportion (for grades
        averaged over assessors). Both agree on whole grades. Default: such a label is an error.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("gap", thresholds=[0.2, 0.5, 0.3])([1, 0, 3, 2], [4, 3, 2, 1]) < 1
    True
    >>> skrank.metric("gap")([2, 1, 0], [3, 2, 1])
    1.0
    """

    thresholds: Sequence[float] | None = None
    max_grade: int | None = parameter(None, check.check_max_grade)
    normalize: str = choice("all", ("all", "ideal"))
    labels: str | None = choice(None, (None, "step", "interp"))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(thresholds=check.check_thresholds(self.thresholds, self.max_grade))

    @property
    def ideal_cutoff(self) -> int | None:
        """The whole list, or the first k ranks."""
        return None if self.normalize == "all" else self.k

    def worth(self, scale: Scale) -> np.ndarray:
        """G per code: the probability that its documents are relevant."""
        top = scale.max_grade if self.thresholds is None else len(self.thresholds)
        check.check_grades(scale.labels, top, self, scale.place)
        if self.labels is None:
            check.check_whole_grades(scale.labels, self, scale.place)
        g = self.thresholds or (1 / top,) * top
        cumulated = np.minimum(np.concatenate(([0.0], np.cumsum(g))), 1.0)
        cumulated[-1] = 1.0
        steps = np.floor(scale.labels) if self.labels == "step" else scale.labels
        return np.interp(steps, np.arange(top + 1), cumulated)

    @property
    def smooth(self) -> Smooth:
        """A ratio of expected sums over pairs: SoftGAP."""
        return Smooth(pairs=True)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """A pair of documents counts the smaller G / (rank of the lower one)."""
        worth = self.worth(scale)
        weights = discounts(lambda rank: 1 / rank, scale.longest, k)
        pairs = PairWorth(weights, worth, worth, np.minimum)
        return QuadraticTables(worth, weights, pairs, ideal=(worth, np.sign(weights)))


gap_score = score_function(GAP, 0.8889)
