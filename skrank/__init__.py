"""Learning to rank with graded relevance, inside scikit-learn, LightGBM and XGBoost."""

from importlib import import_module
from typing import Any

from skrank import metrics as metrics
from skrank._guards import CutQueryWarning as CutQueryWarning
from skrank._queries import with_groups as with_groups
from skrank.comparison import Comparison as Comparison
from skrank.comparison import compare as compare
from skrank.evaluation import Report as Report
from skrank.evaluation import evaluate as evaluate
from skrank.metrics.base import Metric as Metric
from skrank.metrics.base import metric as metric
from skrank.model_selection import LETORFolds as LETORFolds
from skrank.model_selection import QueryKFold as QueryKFold
from skrank.model_selection import QueryShuffleSplit as QueryShuffleSplit
from skrank.model_selection import QueryTimeSeriesSplit as QueryTimeSeriesSplit
from skrank.model_selection import RepeatedQueryKFold as RepeatedQueryKFold
from skrank.model_selection import query_train_test_split as query_train_test_split
from skrank.objectives import AdditivePositionBias as AdditivePositionBias
from skrank.objectives import LambdaLoss as LambdaLoss
from skrank.objectives import LambdaRank as LambdaRank
from skrank.objectives import Objective as Objective
from skrank.objectives import SoftRank as SoftRank
from skrank.objectives import SquaredError as SquaredError
from skrank.objectives import UnbiasedLambdaRank as UnbiasedLambdaRank
from skrank.ranker import GroupedRanker as GroupedRanker
from skrank.scoring import get_scorer as get_scorer
from skrank.scoring import get_scorer_names as get_scorer_names
from skrank.scoring import scorer as scorer

__version__ = "0.1.0"

_ON_DEMAND = (
    "active",
    "dask",
    "datasets",
    "incompleteness",
    "informativeness",
    "lightgbm",
    "plotting",
    "stats",
    "trec",
    "xgboost",
)
_NAMES_ON_DEMAND = {"reduce_judgments": "incompleteness"}


def __getattr__(name: str) -> Any:
    """Import a submodule when it is first used: `import skrank` stays light."""
    if name in _ON_DEMAND:
        return import_module(f"skrank.{name}")
    if name in _NAMES_ON_DEMAND:
        return getattr(import_module(f"skrank.{_NAMES_ON_DEMAND[name]}"), name)
    raise AttributeError(f"module 'skrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ON_DEMAND, *_NAMES_ON_DEMAND])
