"""Metrics with a penalty for each worse document above a relevant document: bpref, rpref."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Tables
from skrank._engine.threads import run_chunks
from skrank._kernels import preference
from skrank._kernels.preference import Preference

_CODES = 8  # with so many, a row takes the time of a row of most kernels


@dataclass(frozen=True, eq=False)
class PreferenceTables(Tables):
    """``sum over relevant documents of share * (1 - penalty)`` on the list of judged documents.

    Parameters
    ----------
    share : ndarray (n_codes,)
        Worth of a document of each code, 0 if it is not relevant.
    lack : ndarray (n_codes, n_codes)
        Penalty of a document (row) for each worse one (column) above it; 0 or 1 if
        a `cap` is finite.
    cap, divisor : ndarrays (n_queries,)
        penalty = min(sum of the penalties of a document, cap) / divisor, with divide_by="total".
    divide_by : {"total", "rank", "above", "found"}
        Divide by `divisor`, by the rank in the list of judged documents, by that rank minus one
        (the first document has the value 0), or by the number of non-relevant documents of the
        list, at most `cap`.
    unjudged : int
        Documents with this code or a higher code are left out.

    Raises
    ------
    ValueError
        If an entry is not a number, or `lack` is not 0 or 1 with a finite `cap`.

    Examples
    --------
    bpref of one query with two relevant documents and three others:

    >>> from skrank.extending import PreferenceTables
    >>> tables = PreferenceTables(
    ...     share=[0, 1], lack=[[0, 0], [1, 0]], cap=[2], divisor=[2], divide_by="total", unjudged=2
    ... )
    >>> tables.relevant
    array([False,  True])
    """

    axes: ClassVar = {
        "share": ("codes",),
        "lack": ("codes", "codes"),
        "cap": ("queries",),
        "divisor": ("queries",),
    }
    unbounded: ClassVar = ("cap", "divisor")

    share: np.ndarray
    lack: np.ndarray
    cap: np.ndarray
    divisor: np.ndarray
    divide_by: str
    unjudged: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check.check_choice("divide_by", self.divide_by, ("total", "rank", "above", "found"))
        capped = self.divide_by in ("total", "found") and np.isfinite(self.cap).any()
        if capped and not np.isin(self.lack, (0, 1)).all():  # the kernel counts capped penalties
            raise ValueError("PreferenceTables.lack must be 0 or 1 with a finite cap.")

    @property
    def relevant(self) -> np.ndarray:
        return self.share > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        divide_by = getattr(preference, f"BY_{self.divide_by.upper()}")
        out = np.empty(len(inverse))
        form = Preference(self.share, self.lack, self.cap, self.divisor, divide_by, self.unjudged)
        lists, cost = (ranked.indptr, ranked.lists), max(1, len(self.share) / _CODES)
        run_chunks(preference.values, *lists, form, inverse, out, row_cost=cost)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Sum of `share` over the judged documents: the value without penalties."""
        return judgments.totals(self.share * (np.arange(len(self.share)) < self.unjudged))
