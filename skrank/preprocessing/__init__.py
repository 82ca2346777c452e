"""Transformers of features: values inside a query, logarithms of heavy tails, estimates of NaN."""

from skrank.preprocessing._columns import RidgeImputer, SignedLog
from skrank.preprocessing._query_features import QueryFeatures

__all__ = ["QueryFeatures", "RidgeImputer", "SignedLog"]
