"""Judgments for tests, and the private names that several tests share."""

from __future__ import annotations

import numpy as np

from skrank._engine.ranking import Ranking as Ranking
from skrank._engine.threads import limit_threads as limit_threads
from skrank.extending import Judgments, Queries
from skrank.stats._resampling import query_counts as query_counts


def judge(relevance, groups=None):
    """Judgments of labels; without groups, all rows are one query."""
    if groups is None:
        return Judgments(relevance, Queries.single(len(relevance)))
    return Judgments(relevance, Queries.from_groups(np.asarray(groups)))
