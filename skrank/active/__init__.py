"""Active evaluation: choose the queries whose labels are most informative about rankers.

`ActiveEvaluator` estimates the mean of a metric over a pool of queries, `ActiveComparator` the
difference of two rankers. Both request the labels of one query after another, within a budget.
`simulate` runs campaigns on a labelled collection.
"""

from skrank.active._campaign import Campaign
from skrank.active._design import Design, Request
from skrank.active._estimate import Estimate
from skrank.active._evaluators import ActiveComparator, ActiveEvaluator, Decision
from skrank.active._moments import Moments
from skrank.active._simulate import Simulation, simulate

__all__ = [
    "ActiveComparator", "ActiveEvaluator", "Campaign", "Decision", "Design", "Estimate",
    "Moments", "Request", "Simulation", "simulate",
]  # fmt: skip
