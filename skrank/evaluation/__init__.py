"""Evaluate and compare rankers."""

from skrank.evaluation._compare import Comparison as Comparison
from skrank.evaluation._compare import compare as compare
from skrank.evaluation._evaluate import Report as Report
from skrank.evaluation._evaluate import evaluate as evaluate
