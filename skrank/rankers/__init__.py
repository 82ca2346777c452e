"""Objectives trained by estimators: one ranker around all that rank."""

from skrank.rankers._grouped import GroupedRanker as GroupedRanker
from skrank.rankers._linear import LinearRanker as LinearRanker
