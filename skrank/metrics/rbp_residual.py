"""Residual of rank-biased precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Line, Lists, Scale
from skrank.metrics.rbp import persistence_weights


@register("rbp_residual")
@dataclass(frozen=True, kw_only=True)
class RBPResidual(Metric):
    """Residual of rank-biased precision: its highest increase if unjudged documents were relevant.

    With complete judgments, RBP would lie between its present value and this value plus the
    residual, for all labels of the documents that were not judged, and of documents below the end
    of the list or below the cut-off.

    Parameters
    ----------
    p : float
        Persistence, in [0, 1); see `RBP`.
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range [0, 1]; lower is better.

    References
    ----------
    See `RBP`.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("rbp_residual(p=0.5)")([1, float("nan")], [0.9, 0.5])
    0.5
    """

    greater_is_better = False
    needs_relevant = False
    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on rbp."

    p: float = parameter(0.8, check.check_persistence)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The sum of the weights of ranks whose documents were not judged."""
        missing = (~scale.judged).astype(np.float64)
        return QuadraticTables(missing, persistence_weights(self.p, scale.longest, k))

    def line(self, lists: Lists) -> Line:
        """The sum, plus p^n: the weight of all ranks below the n documents of the list."""
        return Line(shift=self.p**lists.shown)


rbp_residual_score = score_function(RBPResidual, 0.512)
