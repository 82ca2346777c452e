"""Compatibility: the largest rank-biased overlap of a list with an ideal ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Tables
from skrank._engine.threads import run_chunks
from skrank._kernels import overlap
from skrank._kernels.overlap import Overlap

if TYPE_CHECKING:
    from skrank._engine.judgments import Judgments


@dataclass(frozen=True, eq=False)
class OverlapTables(Tables):
    """Rank-biased overlap with the ideal ranking, whose ties have the order of the list.

    Parameters
    ----------
    found : bool ndarray (n_codes,)
        Whether documents of a code are relevant.
    better : int64 ndarray (n_queries, n_codes)
        Number of relevant documents of a higher label.
    total : int64 ndarray (n_queries,)
        Number of relevant documents.
    share, weight : ndarrays (longest + 1,)
        Sums of weight(d) / d and of weight(d) over the depths d up to each depth, from 0 on.
    normalize : bool
        Whether to divide by the overlap of the ideal ranking with itself.
    """

    axes: ClassVar = {}

    found: np.ndarray
    better: np.ndarray
    total: np.ndarray
    share: np.ndarray
    weight: np.ndarray
    normalize: bool

    @property
    def relevant(self) -> np.ndarray:
        return self.found

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.empty(len(inverse))
        form = Overlap(self.found, self.better, self.total, self.share, self.weight, self.normalize)
        run_chunks(overlap.compat, ranked.indptr, ranked.lists, form, inverse, out)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        return judgments.totals(self.found)
