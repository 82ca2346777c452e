"""Metrics that need a strict order: their mean over the orders of ties has no closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.metric import Metric
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Tables
from skrank._engine.threads import run_chunks
from skrank._kernels import strict
from skrank._kernels.jit import Kernel


@dataclass(frozen=True, eq=False)
class StrictTables(Tables):
    """A metric of one list, which a kernel of `skrank._kernels.strict` computes.

    Parameters
    ----------
    name : str
        Name of the metric, for messages.
    kernel : {"interpolated", "inferred"}
        "interpolated": highest precision at any rank with `needed` relevant documents or more.
        "inferred": inferred average precision, which does not use `needed`.
    hits : bool ndarray (n_codes,)
        Whether documents of a code are relevant.
    unjudged : int
        Documents that were not judged have this code or a higher code.
    needed : int64 ndarray (n_queries,)
        Number of relevant documents from which on precision counts.

    Examples
    --------
    Highest precision of one query at the ranks from the second relevant document on:

    >>> from skrank.extending import StrictTables
    >>> StrictTables("precision at two", "interpolated", [False, True], 2, [2]).relevant
    array([False,  True])
    """

    axes: ClassVar = {"hits": ("codes",), "needed": ("queries",)}

    name: str
    kernel: str
    hits: np.ndarray
    unjudged: int
    needed: np.ndarray

    def __post_init__(self) -> None:  # not that of `Tables`, which makes all arrays float64
        check.check_choice("kernel", self.kernel, ("interpolated", "inferred"))
        for name, dtype in (("hits", np.bool_), ("needed", np.int64)):
            array = check.as_table(f"StrictTables.{name}", getattr(self, name), 1, dtype)
            object.__setattr__(self, name, array)

    @property
    def relevant(self) -> np.ndarray:
        return self.hits

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        kernel, tables = getattr(strict, self.kernel), (self.hits, self.unjudged, self.needed)
        return strict_values(self.name, kernel, tables, ranked, inverse)

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Number of relevant documents, which sums are divided by."""
        return judgments.totals(self.hits)


def strict_values(
    name: str, kernel: Kernel, tables: object, ranked: RankedCodes, inverse: np.ndarray
) -> np.ndarray:
    """Values of a kernel, which ends at the first query in which the order of ties matters.

    The kernel returns the number of this query, or -1; there is an error for such a query.
    """
    out = np.empty(len(inverse))
    stopped = run_chunks(kernel, ranked.indptr, ranked.lists, tables, inverse, out)
    queries = [query for query in stopped if query >= 0]
    if queries:
        query = check.show(ranked.ids[queries[0]])
        raise ValueError(
            f"{name} has no closed form over random orders, and its value depends on the order of "
            f"tied documents in query {query}: break the ties of the scores, or choose "
            'ties="stable", "worst" or "best".'
        )
    return out


@dataclass(frozen=True, kw_only=True)
class StrictMetric(Metric):
    """Base class of metrics that need a strict order: without a cut-off, and not for training."""

    strict = True
    reads_judgments = True
    cut_instead = "ap@k"
