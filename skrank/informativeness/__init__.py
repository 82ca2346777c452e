"""The informativeness of metrics about rankings, by the maximum entropy method.

Given the value of a metric and the number of documents of each grade in a list, `maximum_entropy`
finds the distribution of grades over ranks of highest entropy. A metric is informative if the
precision-recall curve of this distribution is close to that of the list. `study` measures the
distance on runs; `select_thresholds` chooses the thresholds of GAP for which it is smallest.
"""

from skrank.informativeness._distribution import GradeDistribution, maximum_entropy
from skrank.informativeness._study import Study, study
from skrank.informativeness._thresholds import ThresholdChoice, select_thresholds, threshold_grid

__all__ = [
    "GradeDistribution", "Study", "ThresholdChoice", "maximum_entropy", "select_thresholds",
    "study", "threshold_grid",
]  # fmt: skip
