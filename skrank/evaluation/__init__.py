"""Evaluate and compare rankers.

Files in the order in which they are read: `_evaluate` measures and returns a `_report`; `_compare`
tests by `_pair_tests` and returns a `_comparison`; `_tables` writes both for papers.
"""

from skrank.evaluation._compare import compare, compare_cv
from skrank.evaluation._comparison import Comparison
from skrank.evaluation._evaluate import DEFAULT_METRICS, evaluate
from skrank.evaluation._report import Report

__all__ = ["DEFAULT_METRICS", "Comparison", "Report", "compare", "compare_cv", "evaluate"]
