"""Splitters that keep queries whole, and parameters to search.

The part of a query depends only on the query ids, the labels and the seed, not on the order of the
rows or the version of scikit-learn.
"""

from skrank.model_selection._draws import QueryShuffleSplit as QueryShuffleSplit
from skrank.model_selection._draws import QueryTimeSeriesSplit as QueryTimeSeriesSplit
from skrank.model_selection._draws import query_train_test_split as query_train_test_split
from skrank.model_selection._folds import QueryKFold as QueryKFold
from skrank.model_selection._folds import RepeatedQueryKFold as RepeatedQueryKFold
from skrank.model_selection._space import search_space as search_space
