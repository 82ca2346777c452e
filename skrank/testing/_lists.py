"""Lists to rank: random queries of different lengths, and edge cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank.testing._orders import Labels

NAN, INF = math.nan, math.inf
# edge cases: labels and scores of one query each
SPECIAL: dict[str, tuple[list[float], list[float]]] = {
    "one": ([3], [0.5]),
    "one zero": ([0], [0.5]),
    "one unjudged": ([NAN], [0.5]),
    "tied": ([0, 1, 3, 0], [2, 2, 2, 2]),
    "irrelevant": ([0, 0, 0], [3, 1, 2]),
    "nothing retrieved": ([2, 0, 1], [-INF] * 3),
    "no relevant retrieved": ([2, 0, NAN], [-INF, 1, 2]),
    "unjudged first": ([NAN, NAN, 1, 2], [4, 3, 2, 1]),
    "unjudged tied": ([NAN, 2, NAN, 0], [1, 1, 1, 0]),
}


@dataclass(frozen=True, eq=False)
class ScoredLists:
    """Labels, scores and query of each row.

    Attributes
    ----------
    relevance, scores, groups : ndarrays of shape (n_rows,)
        As metrics take them: NaN = not judged, -inf = judged but not retrieved.
    """

    relevance: np.ndarray
    scores: np.ndarray
    groups: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.relevance, self.scores, self.groups))

    @property
    def max_grade(self) -> int:
        """Highest label, rounded up, at least 1."""
        return max(1, math.ceil(np.nanmax(self.relevance, initial=0)))

    @property
    def ids(self) -> list:
        """Queries in the order of their first row."""
        return list(dict.fromkeys(self.groups.tolist()))

    def rows_of_queries(self) -> list[np.ndarray]:
        """Rows of each query, in the order of `ids`."""
        return [np.flatnonzero(self.groups == query) for query in self.ids]

    def queries(self) -> Iterator[tuple[list[float], Labels]]:
        """Scores and labels (None = not judged) of each query in row order."""
        for rows in self.rows_of_queries():
            yield self.scores[rows].tolist(), without_nan(self.relevance[rows])

    def reordered(self, rows: np.ndarray) -> ScoredLists:
        """These rows, in this order."""
        return ScoredLists(self.relevance[rows], self.scores[rows], self.groups[rows])

    def with_scores(self, scores: np.ndarray) -> ScoredLists:
        """The same documents with other scores."""
        return ScoredLists(self.relevance, scores, self.groups)

    def retrieved(self) -> ScoredLists:
        """The same documents, each with a finite score."""
        rng = np.random.default_rng(len(self.scores))
        low = ~np.isfinite(self.scores)
        return self.with_scores(np.where(low, rng.normal(size=len(low)) - 3, self.scores))


def without_nan(labels: np.ndarray) -> Labels:
    """Labels of an array as a list, NaN (unjudged) as None."""
    return [None if label != label else float(label) for label in labels]


def make_lists(
    random_state: int,
    *,
    n_queries: int = 8,
    longest: int = 6,
    grades: int = 3,
    unjudged: float = 0.15,
    missing: float = 0.15,
    levels: int | None = None,
    special: bool = True,
    scattered: bool = True,
) -> ScoredLists:
    """Random queries of different lengths, with edge cases.

    Parameters
    ----------
    random_state : int
        Seed.
    n_queries : int
        Number of random queries, without the edge cases.
    longest : int
        Largest number of documents of a random query.
    grades : int
        Highest grade; at least one document has it.
    unjudged, missing : float
        Share of the documents without a label, and of the documents that are not retrieved.
    levels : int, optional
        Number of distinct scores; a small number makes many ties. Default: no ties.
    special : bool
        Add edge cases: one document, no relevant document, no retrieved document, all tied, ...
    scattered : bool
        Shuffle the rows, so that queries are not contiguous.

    Returns
    -------
    ScoredLists
        ``relevance, scores, groups``.

    Examples
    --------
    >>> import skrank
    >>> from skrank.testing import make_lists
    >>> relevance, scores, groups = make_lists(0, n_queries=5)
    >>> 0 < skrank.metric("gap")(relevance, scores, groups=groups) < 1
    True
    """
    rng = np.random.default_rng(check.check_random_state(random_state))
    counts = {"n_queries": n_queries, "longest": longest, "grades": grades}
    counts |= {} if levels is None else {"levels": levels}
    for name, value in counts.items():
        check.check_repeats(name, value, "a size of the lists")
    for name, share in (("unjudged", unjudged), ("missing", missing)):
        check.check_number(name, share, 0, 1)
    sizes = rng.integers(1, longest + 1, n_queries)
    n = int(sizes.sum())
    relevance = rng.integers(0, grades + 1, n).astype(float)
    relevance[0] = grades
    relevance[1:][rng.random(n - 1) < unjudged] = np.nan
    scores = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    scores[rng.random(n) < missing] = -np.inf
    groups = np.repeat([f"q{i}" for i in range(n_queries)], sizes).astype(object)
    if check.check_flag("special", special):
        relevance = np.concatenate([relevance, *(labels for labels, _ in SPECIAL.values())])
        scores = np.concatenate([scores, *(values for _, values in SPECIAL.values())])
        names = [np.full(len(labels), name, object) for name, (labels, _) in SPECIAL.items()]
        groups = np.concatenate([groups, *names])
    lists = ScoredLists(relevance, scores, groups)
    scattered = check.check_flag("scattered", scattered)
    return lists.reordered(rng.permutation(len(groups))) if scattered else lists
