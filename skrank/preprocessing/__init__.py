"""Transformers of features: values inside a query, and estimates of NaN."""

from skrank.preprocessing._query_features import QueryFeatures
from skrank.preprocessing._ridge_imputer import RidgeImputer

__all__ = ["QueryFeatures", "RidgeImputer"]
