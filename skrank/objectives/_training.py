"""Where trainings begin."""

from __future__ import annotations

import zlib

import numpy as np

from skrank._engine.queries import Queries

_GLANCE = 1000  # rows whose scores mostly tell at once


class Training:
    """Rounds of trainings on one data set.

    Boosters do not say when a training begins, so the scores have to: they tie inside every query,
    or are those of the first round that was seen. A training that goes on from other scores counts
    on.
    """

    def __init__(self, queries: Queries) -> None:
        self._indptr = queries.indptr
        self._first: tuple[bytes, int] | None = None

    def begins(self, scores: np.ndarray) -> bool:
        """Whether these are the scores of a first round."""
        if self._first is None or self._untrained(scores):
            self._first = self._glance(scores), zlib.crc32(scores.data)
            return True
        glance, digest = self._first
        return self._glance(scores) == glance and zlib.crc32(scores.data) == digest

    @staticmethod
    def _glance(scores: np.ndarray) -> bytes:
        return scores[:: 1 + len(scores) // _GLANCE].tobytes()

    def _untrained(self, scores: np.ndarray) -> bool:
        """Whether the scores tie inside every query."""
        changes = np.flatnonzero(scores[1:_GLANCE] != scores[: _GLANCE - 1][: len(scores) - 1]) + 1
        if not np.isin(changes, self._indptr).all():
            return False
        changes = np.flatnonzero(scores[1:] != scores[:-1]) + 1
        return bool(np.isin(changes, self._indptr).all())
