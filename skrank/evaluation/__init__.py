"""Evaluate and compare rankers."""

from skrank.evaluation._compare import compare as compare
from skrank.evaluation._compare import compare_cv as compare_cv
from skrank.evaluation._comparison import Comparison as Comparison
from skrank.evaluation._evaluate import DEFAULT_METRICS as DEFAULT_METRICS
from skrank.evaluation._evaluate import evaluate as evaluate
from skrank.evaluation._report import Report as Report
