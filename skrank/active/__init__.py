"""Active evaluation: choose the queries whose labels are most informative about rankers.

`ActiveEvaluator` estimates the mean of a metric over a pool of queries, `ActiveComparator` the
difference of two rankers. Both request the labels of one query after another, within a budget.
`simulate` runs campaigns on a labelled collection.
"""

from skrank.active._campaign import Campaign as Campaign
from skrank.active._estimate import Estimate as Estimate
from skrank.active._evaluators import ActiveComparator as ActiveComparator
from skrank.active._evaluators import ActiveEvaluator as ActiveEvaluator
from skrank.active._evaluators import Decision as Decision
from skrank.active._moments import Moments as Moments
from skrank.active._moments import label_moments as label_moments
from skrank.active._sampling import sampling_distribution as sampling_distribution
from skrank.active._setup import Design as Design
from skrank.active._setup import Request as Request
from skrank.active._simulate import Simulation as Simulation
from skrank.active._simulate import simulate as simulate
