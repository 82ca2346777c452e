"""The informativeness of metrics about rankings, by the maximum entropy method.

Given the value of a metric and the number of documents of each grade in a list, `maximum_entropy`
finds the distribution of grades over ranks of highest entropy. A metric is informative if the
precision-recall curve of this distribution is close to that of the list. `study` measures the
distance on runs; `select_thresholds` chooses the thresholds of GAP for which it is smallest.
"""

from skrank.informativeness._distribution import GradeDistribution as GradeDistribution
from skrank.informativeness._distribution import maximum_entropy as maximum_entropy
from skrank.informativeness._study import Study as Study
from skrank.informativeness._study import study as study
from skrank.informativeness._thresholds import ThresholdChoice as ThresholdChoice
from skrank.informativeness._thresholds import select_thresholds as select_thresholds
from skrank.informativeness._thresholds import threshold_grid as threshold_grid
from skrank.informativeness._thresholds import thresholds_from_clicks as thresholds_from_clicks
