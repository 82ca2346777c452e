"""R-precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Metric, Scale, register
from skrank.metrics.quadratic import QuadraticTables


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


def r_precision_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Precision at the number of relevant documents: mean over queries of `RPrecision`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, rel, condensed, empty, ties, average
        See `RPrecision`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import r_precision_score
    >>> r_precision_score([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """
    metric = RPrecision(k=k, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
