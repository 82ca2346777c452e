"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Counts, Metric, Values
from skrank._engine.names import register
from skrank._engine.parameters import number, parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Scale, ratio


@register("r_precision")
@dataclass(frozen=True, kw_only=True)
class RPrecision(Metric):
    r"""R-precision: precision at R, the number of relevant documents of the query.

    .. math:: P@R

    Parameters
    ----------
    multiple : float
        The cut-off is R times this number, rounded down after .9 is added, as in trec_eval.
    rel : float
        Documents with a label of at least `rel` are relevant.
    k : None
        Must be None, as R is the cut-off.
    condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, R-precision; trec_eval, Rprec and Rprec_mult.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("r_precision")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    cut_instead = "precision@k"
    reads_judgments = True

    multiple: float = number(1.0, 0, 1e6, open_low=True)
    rel: float = parameter(1.0, check.check_rel)

    def _cutoff(self, relevant: np.ndarray) -> np.ndarray:
        """Cut-off of each query, from its number of relevant documents."""
        return np.floor(self.multiple * relevant + 0.9)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Weights of ranks: 1 up to the cut-off of the query, then 0.

        All queries share the array 1, ..., 1, 0, ..., 0; `offset` is the index of rank 1 by query.
        """
        relevant = scale.labels >= self.rel
        cutoff = self._cutoff(scale.totals(relevant))
        ranks = np.minimum(cutoff, scale.longest).astype(np.int64)
        steps = np.repeat([1.0, 0.0], scale.longest)
        return QuadraticTables(relevant, steps, offset=scale.longest - ranks)

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """Divided by the cut-off."""
        return ratio(sums, self._cutoff(relevant)), None
