"""Rankers for scikit-learn, and their base class `Ranker`."""

from skrank.rankers._base import Ranker
from skrank.rankers._grouped import GroupedRanker
from skrank.rankers._linear import LinearRanker
from skrank.rankers._mean import RankerMean
from skrank.rankers._recommended import recommended_ranker

__all__ = ["GroupedRanker", "LinearRanker", "Ranker", "RankerMean", "recommended_ranker"]
