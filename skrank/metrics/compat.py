"""Compatibility: overlap with the ideal ranking that is most similar to the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import flag, parameter
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Scale, Tables
from skrank._engine.threads import run_chunks
from skrank._kernels import overlap
from skrank._kernels.overlap import Overlap

_BLOCK = 10  # in a block of so many ties, a row takes the time of a row of most kernels


@dataclass(frozen=True, eq=False)
class OverlapTables(Tables):
    """Rank-biased overlap with the ideal ranking, whose ties have the order of the list."""

    form: Overlap

    @property
    def relevant(self) -> np.ndarray:
        """Whether documents of each code are relevant."""
        return self.form.relevant

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        out = np.empty(len(inverse))
        # a tied document takes time for each document of its block
        block = 1 if ranked.without_ties else int(np.diff(ranked.indptr).max())
        cost = max(1, block / _BLOCK)
        lists = ranked.indptr, ranked.lists
        run_chunks(overlap.compat, *lists, self.form, inverse, out, row_cost=cost)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Number of relevant documents of each query."""
        return judgments.totals(self.relevant)


@register("compat")
@dataclass(frozen=True, kw_only=True)
class Compat(Metric):
    r"""Compatibility: rank-biased overlap (RBO) of the list with its most similar ideal ranking.

    .. math:: RBO = \frac{\sum_{d \le D} p^{d-1} |A_d \cap I_d| / d}{\sum_{d \le D} p^{d-1}}

    A_d and I_d are the first d documents of the list and of the ideal ranking, and D is the length
    of the longer of the two. The ideal ranking has all documents with a label above 0, the highest
    labels first. Documents of equal label are in the order of the list, which makes this ideal
    ranking the most similar one.

    Parameters
    ----------
    p : float
        Persistence: the weight of depth d is p^(d - 1); in [0, 1).
    normalize : bool
        Divide by the highest RBO of any list with this D, so that an ideal list has the value 1.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. Range [0, 1].

    References
    ----------
    C. Clarke, A. Vtyurina, M. Smucker, Assessing Top-k Preferences, TOIS 2021.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("compat")([1, 0, 2], [0.9, 0.5, 0.1]), 4)
    0.4219
    """

    untrainable: ClassVar[str | None] = (
        "its ideal ranking depends on the order of the list: train on ndcg or rbp."
    )
    cut_instead: ClassVar[str | None] = "ndcg@k"

    p: float = parameter(0.95, check.check_persistence)
    normalize: bool = flag(True)

    reads_judgments: ClassVar[bool] = True

    def tables(self, scale: Scale, k: int | None) -> OverlapTables:
        """Numbers of better documents by query and label, and sums of the weights of depths."""
        check.check_few_labels(self.names[0], scale.labels)
        relevant = (scale.labels > 0) & scale.judged
        better = np.zeros((scale.n_queries, len(relevant)), np.int64)
        total = np.zeros(scale.n_queries, np.int64)
        for code in np.flatnonzero(relevant)[::-1]:
            better[:, code] = total
            total += scale.totals(np.arange(len(relevant)) == code).astype(np.int64)
        depths = np.arange(1.0, scale.longest + 1)
        weights = self.p ** (depths - 1)
        share, weight = (np.append(0.0, np.cumsum(one)) for one in (weights / depths, weights))
        return OverlapTables(Overlap(relevant, better, total, share, weight, self.normalize))
