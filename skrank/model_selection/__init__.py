"""Splitters that keep queries whole, and parameters to search.

The part of a query depends only on the query ids, the labels and the seed, not on the order of the
rows or the version of scikit-learn.
"""

from skrank.model_selection._draws import (
    QueryShuffleSplit,
    QueryTimeSeriesSplit,
    query_train_test_split,
)
from skrank.model_selection._folds import QueryKFold
from skrank.model_selection._space import search_space

__all__ = [
    "QueryKFold", "QueryShuffleSplit", "QueryTimeSeriesSplit", "query_train_test_split",
    "search_space",
]  # fmt: skip
