"""Rankings of judged documents: sorted once, read by any number of metrics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.cached import cached_property
from skrank._engine.judgments import Judgments
from skrank._engine.order import RankedCodes, rank_scores
from skrank._engine.threads import run_chunks


class Ranking:
    """The order that scores give to judged documents: sorted once, read by any number of metrics.

    Parameters
    ----------
    judgments : Judgments
    scores : array-like of shape (n_rows,)
        In the caller's row order; -inf = judged but not retrieved.
    """

    def __init__(self, judgments: Judgments, scores: ArrayLike) -> None:
        queries = judgments.queries
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        self.judgments = judgments
        self.order = np.empty(len(vector), np.int32)
        self.tied = np.empty(len(vector), np.uint8)
        self.retrieved = np.empty(len(queries), np.int64)
        rank_scores(queries, vector, self.order, self.tied, self.retrieved)
        self._seen: dict[tuple[str, bool], RankedCodes] = {}

    def codes(self, ties: str, condensed: bool) -> RankedCodes:
        """The ranked codes under a policy for ties, with or without documents not judged."""
        condensed = condensed and self.judgments.unjudged is not None
        if (ties, condensed) not in self._seen:
            make = self._condensed if condensed else self._settled
            self._seen[ties, condensed] = make(ties)
        return self._seen[ties, condensed]

    def unknown(self, condensed: bool) -> np.ndarray:
        """Documents of each query that were neither judged nor retrieved: they say nothing."""
        return np.zeros_like(self._unknown) if condensed else self._unknown

    @cached_property
    def _unknown(self) -> np.ndarray:
        from skrank._kernels import labels

        judgments = self.judgments
        everything = np.array_equal(self.retrieved, judgments.queries.sizes)
        if judgments.unjudged is None or everything:
            return np.zeros(len(self.retrieved), np.int64)
        lost = np.empty(len(self.retrieved), np.int64)
        ranked = self.codes("average", False)
        run_chunks(
            labels.count_unknown,
            ranked.indptr,
            self.retrieved,
            judgments.unjudged,
            ranked.codes,
            lost,
        )
        return lost

    def _settled(self, ties: str) -> RankedCodes:
        from skrank._kernels import ranking

        judgments = self.judgments
        if ties == "average":
            ranked = np.empty_like(judgments.codes)
            run_chunks(ranking.gather, judgments.indptr, judgments.codes, self.order, ranked)
            return RankedCodes(judgments.indptr, ranked, self.tied, self.retrieved)
        average = self.codes("average", False)
        untied = np.zeros_like(self.tied)
        if ties == "stable":
            return replace(average, tied=untied)
        worth = judgments.labels.copy()
        if judgments.unjudged is not None:
            worth[judgments.unjudged :] = -1.0
        code_at = np.argsort(worth if ties == "worst" else -worth, kind="stable")
        place = np.argsort(code_at)
        ranked = average.codes.copy()
        run_chunks(ranking.settle_ties, judgments.indptr, self.tied, place, code_at, ranked)
        return replace(average, codes=ranked, tied=untied)

    def _condensed(self, ties: str) -> RankedCodes:
        from skrank._kernels import ranking

        full, judgments = self.codes(ties, False), self.judgments
        indptr = judgments.condensed_indptr
        n_rows = int(indptr[-1])
        kept = RankedCodes(
            indptr,
            np.empty(n_rows, full.codes.dtype),
            np.empty(n_rows, np.uint8),
            np.empty_like(full.retrieved),
        )
        run_chunks(
            ranking.condense, full.indptr, judgments.unjudged, full.codes, full.tied,
            full.retrieved, indptr, kept.codes, kept.tied, kept.retrieved,
        )  # fmt: skip
        return kept
