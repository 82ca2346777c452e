"""Rankings of judged documents: sorted once, read by any number of metrics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes, check_scores, rank_codes, rank_head
from skrank._engine.threads import cached_property

# Finding the first r ranks is faster than sorting if r <= _DEEPEST_HEAD and the longest list has at
# least _LONG * r documents.
_DEEPEST_HEAD, _LONG = 32, 3


class Ranking:
    """The order that scores give to judged documents: sorted once, read by any number of metrics.

    If only the first ranks are read, only these are sorted.

    Parameters
    ----------
    judgments : Judgments
    scores : array-like of shape (n_rows,)
        In the caller's row order; -inf = judged but not retrieved.

    Examples
    --------
    >>> from skrank.extending import Judgments, Queries, Ranking
    >>> judgments = Judgments([1, 0, 0, 1], Queries.from_sizes([2, 2]))
    >>> Ranking(judgments, [3, 2, 4, 5]).order
    array([0, 1, 1, 0], dtype=int32)
    """

    _head: tuple[int, RankedCodes] | None = None  # number of ranks of `rank_head`, and its result
    _sorted: tuple[np.ndarray, RankedCodes] | None = None  # result of `rank_codes`
    _deepest: int | None = 0  # number of ranks announced by `expect`: 0 none, None all

    def __init__(self, judgments: Judgments, scores: ArrayLike) -> None:
        queries = judgments.queries
        self._scores = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        check_scores(queries, self._scores)  # now: the sort comes later, or never
        self.judgments = judgments
        self._codes_cache: dict[tuple[str, bool], RankedCodes] = {}

    @classmethod
    def in_order(cls, judgments: Judgments, retrieved: np.ndarray) -> Ranking:
        """The ranking of documents that are in the order of their ranks already, without ties.

        Parameters
        ----------
        judgments : Judgments
        retrieved : int64 ndarray of shape (n_queries,)
            Number of retrieved documents of each query, which come first.

        Examples
        --------
        >>> import skrank
        >>> from skrank.extending import Judgments, Queries, Ranking, measure
        >>> judgments = Judgments([1, 0, 0, 1], Queries.from_sizes([2, 2]))
        >>> ranking = Ranking.in_order(judgments, [2, 1])
        >>> measure(judgments, [ranking], [skrank.metric("ap")]).values
        array([[[1., 0.]]])
        """
        ranking = cls.__new__(cls)
        ranking.judgments, ranking._codes_cache = judgments, {}
        queries, retrieved = judgments.queries, np.asarray(retrieved, np.int64)
        sizes = queries.sizes
        if retrieved.shape != sizes.shape or np.any((retrieved < 0) | (retrieved > sizes)):
            raise ValueError("retrieved must be a number of documents for each query.")
        order = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], sizes)
        ranked = RankedCodes.in_order(queries.ids, judgments.indptr, judgments.codes, retrieved)
        ranking._sorted = order.astype(np.int32), ranked
        return ranking

    def warn_if_arguments_swapped(self) -> None:
        """Warn if labels look like scores, and scores like grades."""
        labels = self.judgments.graded(np.nan)
        if (labels % 1 > 0).any():
            check.warn_swapped(labels[self.judgments.codes], self._scores)

    def _sort(self) -> tuple[np.ndarray, RankedCodes]:
        if self._sorted is None:
            judgments = self.judgments
            self._sorted = rank_codes(judgments.queries, self._scores, judgments.codes)
        return self._sorted

    @property
    def order(self) -> np.ndarray:
        """Position in its query of the document at each rank."""
        return self._sort()[0]

    @property
    def tied(self) -> np.ndarray:
        """By rank: 1 if the score equals the score of the rank above."""
        return self._sort()[1].tied

    @property
    def retrieved(self) -> np.ndarray:
        """Number of documents of each query with a score above -inf."""
        return self._sort()[1].retrieved

    @property
    def n_retrieved(self) -> int:
        """Number of documents with a score above -inf."""
        if self._head is None:  # else `retrieved` would sort whole lists
            return int(self.retrieved.sum())
        return int(np.count_nonzero(self._scores > -np.inf))

    def _first_ranks(self, ties: str, k: int) -> RankedCodes | None:
        """The first ranks only, if that suffices and is faster than to sort; else None.

        In the result, documents below these ranks count as not retrieved, unless they are tied with
        the last of them. Metrics need the whole list if ties are not averaged, or if some documents
        are not judged.
        """
        judgments, sorts_all = self.judgments, self._deepest is None or self._sorted is not None
        if ties != "average" or judgments.unjudged is not None or sorts_all:
            return None
        if self._head is None:
            ranks = max(k, self._deepest or 0)
            if ranks <= _DEEPEST_HEAD and _LONG * ranks <= judgments.queries.longest:
                codes = rank_head(judgments.queries, self._scores, judgments.codes, ranks)
                if codes is None:
                    self._deepest = None  # too many ties: sort all
                else:
                    self._head = ranks, codes
        return self._head[1] if self._head is not None and self._head[0] >= k else None

    def expect(self, depths: Sequence[int | None]) -> None:
        """Announce the numbers of ranks that metrics will read, so that they share one sort."""
        limits = [depth for depth in depths if depth is not None]
        self._deepest = max(limits, default=0) if len(limits) == len(depths) else None

    def codes(self, ties: str, condensed: bool, k: int | None = None) -> RankedCodes:
        """Codes by rank, with ties ordered as in `Metric.ties`.

        If `condensed`, documents that were not judged are removed. The caller reads the first
        `k` ranks only (default: all), so that the others may be missing.
        """
        head = None if k is None else self._first_ranks(ties, k)
        if head is not None:
            return head
        condensed = condensed and self.judgments.unjudged is not None
        if (ties, condensed) not in self._codes_cache:
            make = self._condensed if condensed else self._settled
            self._codes_cache[ties, condensed] = make(ties)
        return self._codes_cache[ties, condensed]

    @cached_property
    def n_judged_or_retrieved(self) -> np.ndarray:
        """Number of documents of each query that were judged or retrieved."""
        judgments, sizes = self.judgments, self.judgments.queries.sizes
        if judgments.unjudged is None or np.array_equal(self.retrieved, sizes):
            return sizes
        ranked, starts = self.codes("average", False), judgments.indptr[:-1]
        n_unjudged = np.append(0, np.cumsum(ranked.codes >= judgments.unjudged))  # above each row
        n_neither = n_unjudged[judgments.indptr[1:]] - n_unjudged[starts + ranked.retrieved]
        return sizes - n_neither

    def _settled(self, ties: str) -> RankedCodes:
        """Codes by rank, with ties ordered as in `Metric.ties`."""
        judgments, (_, ranked) = self.judgments, self._sort()
        if ties == "average" or ranked.untied:
            return ranked
        codes = ranked.codes
        if ties != "stable":
            grades = judgments.graded(-1.0)
            order = np.argsort(grades if ties == "worst" else -grades, kind="stable")
            place = np.argsort(order)  # of each code among tied documents
            block = np.cumsum(ranked.tied == 0)
            codes = codes[np.argsort(block * len(order) + place[codes], kind="stable")]
        return RankedCodes.in_order(ranked.ids, ranked.indptr, codes, ranked.retrieved)

    def _condensed(self, ties: str) -> RankedCodes:
        """As `_settled`, without documents that were not judged."""
        full, judgments = self.codes(ties, False), self.judgments
        kept = full.codes < judgments.n_labels
        block = np.cumsum(full.tied == 0)[kept]
        tied = np.diff(block, prepend=0) == 0
        n_kept = np.append(0, np.cumsum(kept))  # above each row
        starts = full.indptr[:-1]
        retrieved = n_kept[starts + full.retrieved] - n_kept[starts]
        indptr = judgments.condensed_indptr
        return RankedCodes(full.ids, indptr, full.codes[kept], tied.astype(np.uint8), retrieved)
