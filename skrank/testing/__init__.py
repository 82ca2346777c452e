"""Property tests of metrics and objectives that users write."""

from skrank.datasets import make_ranking
from skrank.testing._lists import ScoredLists, make_lists
from skrank.testing._metric import check_metric
from skrank.testing._objective import check_objective

__all__ = ["ScoredLists", "check_metric", "check_objective", "make_lists", "make_ranking"]
