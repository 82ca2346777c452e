"""Evaluation of whole queries on Dask; GroupedRanker and LinearRanker train there."""

from skrank.dask._evaluate import evaluate

__all__ = ["evaluate"]
