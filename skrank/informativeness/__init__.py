"""How informative is the value of a metric about a ranking? The maximum entropy method.

Given the value of a metric and how many documents of each grade a list holds, the most random
distribution of grades over ranks is found. A metric is informative if the precision-recall curve of
that distribution is close to the curve of the list: `study` measures it on the runs of systems, and
`select_thresholds` takes the probabilities of graded average precision from it.
"""

from skrank.informativeness._clicks import (
    thresholds_from_clicks as thresholds_from_clicks,
)
from skrank.informativeness._distribution import GradeDistribution as GradeDistribution
from skrank.informativeness._distribution import maximum_entropy as maximum_entropy
from skrank.informativeness._study import Study as Study
from skrank.informativeness._study import study as study
from skrank.informativeness._thresholds import ThresholdChoice as ThresholdChoice
from skrank.informativeness._thresholds import select_thresholds as select_thresholds
from skrank.informativeness._thresholds import threshold_grid as threshold_grid
