"""The order that scores give to the rows of each query."""

from __future__ import annotations

import dataclasses

import numpy as np

from skrank import _validation as check
from skrank._engine.cached import cached_property
from skrank._engine.queries import Queries
from skrank._engine.threads import run_chunks
from skrank._kernels.arguments import NO_TIE, Contributing, Ranked, RankedRows


@dataclasses.dataclass(frozen=True, eq=False)
class RankedCodes:
    """Codes in rank order with their ties."""

    indptr: np.ndarray
    codes: np.ndarray
    tied: np.ndarray
    retrieved: np.ndarray
    _kept: list[tuple[np.ndarray, Contributing]] = dataclasses.field(
        default_factory=list, init=False, repr=False
    )

    @classmethod
    def untied(cls, indptr: np.ndarray, codes: np.ndarray, retrieved: np.ndarray) -> RankedCodes:
        """Codes in an order without ties."""
        ranked = cls(indptr, codes, np.zeros(len(codes), np.uint8), retrieved)
        vars(ranked)["_tie"] = np.full(len(retrieved), NO_TIE)
        return ranked

    def shown(self, k: int) -> np.ndarray:
        """Retrieved documents of each query down to rank k, as floats."""
        if k not in self._shown:
            self._shown[k] = np.minimum(self.retrieved, k).astype(np.float64)
            self._shown[k].flags.writeable = False  # many metrics share it
        return self._shown[k]

    @cached_property
    def _shown(self) -> dict[int, np.ndarray]:
        return {}

    @property
    def rows(self) -> RankedRows:
        """The argument of kernels that fill the arrays, or that do not ask for the first ties."""
        return RankedRows(self.codes, self.tied, self.retrieved)

    @property
    def lists(self) -> Ranked:
        """The argument of other kernels."""
        return Ranked(self.codes, self.tied, self.retrieved, self._tie)

    @cached_property
    def _tie(self) -> np.ndarray:
        """The first rank of each query that is tied with the one above, or `NO_TIE`."""
        from skrank._kernels import ranking

        tie = np.empty_like(self.retrieved)
        run_chunks(ranking.first_ties, self.indptr, self.tied, self.retrieved, tie)
        return tie

    @cached_property
    def without_ties(self) -> bool:
        """Whether no documents are tied."""
        return bool((self._tie == NO_TIE).all())

    @cached_property
    def all_kept(self) -> Contributing:
        """All retrieved documents: all queries read the same ranks."""
        ranks = np.arange(self.retrieved.max(initial=0), dtype=np.uint32)
        return Contributing(ranks, np.zeros_like(self.retrieved), self.retrieved)

    def kept(self, worthy: np.ndarray, *, find: bool = True) -> Contributing:
        """The retrieved documents that count, and maybe others; looked for once for many metrics.

        Parameters
        ----------
        worthy : bool ndarray (n_codes,)
            Whether documents of a code count.
        find : bool
            Whether to look for them if nobody has; else all documents are as good. For a mere sum
            of gains it does not pay.
        """
        from skrank._kernels import ranking

        for codes, kept in self._kept:
            if codes[worthy].all():
                return kept
        if not find:
            return self.all_kept
        ranks, count = np.empty(len(self.codes), np.uint32), np.empty_like(self.retrieved)
        kept = Contributing(ranks, self.indptr[:-1], count)
        run_chunks(ranking.find_contributing, self.indptr, self.lists, worthy, kept)
        self._kept.append((worthy, kept))
        return kept


def rank_scores(
    queries: Queries,
    scores: np.ndarray,
    order: np.ndarray,
    tied: np.ndarray,
    retrieved: np.ndarray,
    *,
    warm: bool = False,
) -> None:
    """Sort contiguous scores, which were checked, into `order`, `tied` and `retrieved`."""
    from skrank._kernels import ranking

    run_chunks(ranking.rank, queries.indptr, scores, warm, order, tied, retrieved)


def rank_head(queries: Queries, scores: np.ndarray, codes: np.ndarray, depth: int) -> RankedCodes:
    """Codes of the first `depth` ranks and of what is tied with the last of them."""
    from skrank._kernels import ranking

    head = RankedCodes(
        queries.indptr,
        np.empty_like(codes),
        np.empty(len(codes), np.uint8),
        np.empty(len(queries), np.int64),
    )
    run_chunks(ranking.head, queries.indptr, scores, codes, depth, head.rows)
    return head


def check_scores(queries: Queries, scores: np.ndarray) -> None:
    """Refuse NaN and +inf among contiguous scores: they cannot be ranked."""
    if len(scores) and not scores.max() < np.inf:  # NaN, if there is one
        row = int(np.argmin(scores < np.inf))
        raise check.bad_score(float(scores[row]), queries.caller_row(row))
