"""Evaluate and compare rankers."""

from skrank.evaluation._compare import compare, compare_cv
from skrank.evaluation._comparison import Comparison
from skrank.evaluation._evaluate import DEFAULT_METRICS, evaluate
from skrank.evaluation._report import Report

__all__ = ["DEFAULT_METRICS", "Comparison", "Report", "compare", "compare_cv", "evaluate"]
