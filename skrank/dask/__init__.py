"""Evaluation of whole queries on Dask; GroupedRanker and LinearRanker train there."""

from skrank.dask._evaluate import evaluate as evaluate
from skrank.dask._scorer import scorer as scorer
