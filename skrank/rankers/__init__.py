"""Rankers for scikit-learn, and their base class `Ranker`."""

from skrank.rankers._base import Ranker as Ranker
from skrank.rankers._grouped import GroupedRanker as GroupedRanker
from skrank.rankers._linear import LinearRanker as LinearRanker
from skrank.rankers._mean import RankerMean as RankerMean
