"""Rankers for scikit-learn."""

from skrank.rankers._grouped import GroupedRanker as GroupedRanker
from skrank.rankers._linear import LinearRanker as LinearRanker
from skrank.rankers._mean import RankerMean as RankerMean
