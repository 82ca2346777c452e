"""Learning to rank with graded relevance, inside scikit-learn, LightGBM and XGBoost."""

from skrank import metrics as metrics
from skrank._queries import with_groups as with_groups
from skrank.evaluation import Report as Report
from skrank.evaluation import evaluate as evaluate
from skrank.metrics.base import Metric as Metric
from skrank.metrics.base import metric as metric
from skrank.objectives import LambdaRank as LambdaRank
from skrank.objectives import Objective as Objective

__version__ = "0.1.0"
