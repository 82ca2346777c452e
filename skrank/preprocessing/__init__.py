"""Transformers of features: values inside a query, logarithms of heavy tails, estimates of NaN."""

from skrank.preprocessing._columns import RidgeImputer as RidgeImputer
from skrank.preprocessing._columns import SignedLog as SignedLog
from skrank.preprocessing._query_features import QueryFeatures as QueryFeatures
