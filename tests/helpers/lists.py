"""Lists to rank: random ragged queries, and queries that are easily forgotten."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.helpers import reference as ref


@dataclass(frozen=True, eq=False)
class Lists:
    """Labels, scores and query of each row."""

    relevance: np.ndarray
    scores: np.ndarray
    groups: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.relevance, self.scores, self.groups))

    @property
    def max_grade(self) -> int:
        return max(1, math.ceil(np.nanmax(self.relevance, initial=0)))

    @property
    def ids(self) -> list:
        return list(dict.fromkeys(self.groups.tolist()))

    def queries(self) -> Iterator[tuple[list[float], list[float | None]]]:
        """Scores and labels of each query in row order, queries in order of first row."""
        for query in self.ids:
            rows = self.groups == query
            yield self.scores[rows].tolist(), ref.from_array(self.relevance[rows])

    def reordered(self, rows: np.ndarray) -> Lists:
        return Lists(self.relevance[rows], self.scores[rows], self.groups[rows])


SPECIAL = {  # labels and scores of queries that are easily forgotten
    "one": ([3], [0.5]),
    "one zero": ([0], [0.5]),
    "one unjudged": ([np.nan], [0.5]),
    "tied": ([0, 1, 3, 0], [2, 2, 2, 2]),
    "irrelevant": ([0, 0, 0], [3, 1, 2]),
    "nothing retrieved": ([2, 0, 1], [-np.inf] * 3),
    "no relevant retrieved": ([2, 0, np.nan], [-np.inf, 1, 2]),
    "unjudged first": ([np.nan, np.nan, 1, 2], [4, 3, 2, 1]),
    "unjudged tied": ([np.nan, 2, np.nan, 0], [1, 1, 1, 0]),
}


def lists(
    seed: int,
    *,
    n_queries: int = 8,
    longest: int = 6,
    grades: int = 3,
    unjudged: float = 0.15,
    missing: float = 0.15,
    levels: int | None = None,
    special: bool = True,
    scattered: bool = True,
) -> Lists:
    """Random ragged queries; with `levels`, scores take so many values, so that many are tied."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, n_queries)
    n = int(sizes.sum())
    relevance = rng.integers(0, grades + 1, n).astype(float)
    relevance[0] = grades
    relevance[1:][rng.random(n - 1) < unjudged] = np.nan
    scores = rng.normal(size=n) if levels is None else rng.integers(0, levels, n).astype(float)
    scores[rng.random(n) < missing] = -np.inf
    groups = np.repeat([f"q{i}" for i in range(n_queries)], sizes).astype(object)
    if special:
        relevance = np.concatenate([relevance, *(labels for labels, _ in SPECIAL.values())])
        scores = np.concatenate([scores, *(values for _, values in SPECIAL.values())])
        names = [np.full(len(labels), name, object) for name, (labels, _) in SPECIAL.items()]
        groups = np.concatenate([groups, *names])
    made = Lists(relevance, scores, groups)
    return made.reordered(rng.permutation(len(groups))) if scattered else made
