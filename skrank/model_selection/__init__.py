"""Splits that keep queries whole.

Which query falls where depends on the query ids, the labels and the seed only: not on the order of
the rows, nor on the version of scikit-learn.
"""

from skrank.model_selection._draws import QueryShuffleSplit as QueryShuffleSplit
from skrank.model_selection._draws import QueryTimeSeriesSplit as QueryTimeSeriesSplit
from skrank.model_selection._draws import query_train_test_split as query_train_test_split
from skrank.model_selection._folds import LETORFolds as LETORFolds
from skrank.model_selection._folds import QueryKFold as QueryKFold
from skrank.model_selection._folds import RepeatedQueryKFold as RepeatedQueryKFold
