"""Judgments for tests, and all private names that several tests share."""

from contextlib import contextmanager
from unittest.mock import patch

import numba
import numpy as np

from skrank._engine.peer_names import expand as expand
from skrank._engine.peer_names import tables as tables
from skrank.extending import Judgments, Queries
from skrank.stats._resampling import query_draws, sums_by_query
from skrank.testing._lists import without_nan as without_nan
from skrank.testing._orders import missing as missing
from skrank.testing._orders import ranking as ranking
from skrank.testing._orders import stable as stable
from skrank.testing._orders import tie_expectation as tie_expectation
from skrank.testing._orders import tie_orders as tie_orders
from skrank.testing._properties import close as close
from skrank.testing._properties import per_query as per_query


@contextmanager
def limit_threads(n_threads):
    """Run kernels in at most so many threads."""
    with patch.object(numba.config, "NUMBA_NUM_THREADS", n_threads):
        yield


def judge(relevance, groups=None):
    if groups is None:
        return Judgments(relevance, Queries.single(len(relevance)))
    return Judgments(relevance, Queries.from_groups(np.asarray(groups)))


def query_counts(n_queries, n_resamples, seed):
    """Counts of the queries drawn with replacement, in blocks of shape (n_draws, n_queries)."""
    return map(sums_by_query, query_draws(n_queries, n_resamples, seed))
