"""Property tests of metrics and objectives that users write."""

from skrank.datasets import make_ranking as make_ranking
from skrank.testing._lists import ScoredLists as ScoredLists
from skrank.testing._lists import make_lists as make_lists
from skrank.testing._metric import check_metric as check_metric
from skrank.testing._objective import check_objective as check_objective
