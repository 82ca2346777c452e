"""Evaluation of whole queries on Dask; GroupedRanker and LinearRanker train there."""

from skrank.dask._evaluate import evaluate
from skrank.dask._scorer import scorer

__all__ = ["evaluate", "scorer"]
