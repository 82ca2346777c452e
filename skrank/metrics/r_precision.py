"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Scale


@register("r_precision")
@dataclass(frozen=True, kw_only=True)
class RPrecision(Metric):
    """Precision at R, the number of the query's relevant documents.

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    k : None
        The cut-off is R; any other is an error.
    condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, R-precision; trec_eval, Rprec.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("r_precision")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))
        check.refuse_cutoff("r_precision", self.k, "precision@k")

    @property
    def ideal_cutoff(self) -> int | None:
        """R relevant documents in the first R ranks."""
        return None

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Ones, then zeros: each query enters so that R ones are left."""
        found = scale.labels >= self.rel
        relevant = scale.totals(found).astype(np.int64)
        steps = np.repeat([1.0, 0.0], scale.longest)
        worth = found.astype(np.float64)
        ideal = (worth, np.ones(scale.longest))
        return QuadraticTables(worth, steps, offset=scale.longest - relevant, ideal=ideal)
