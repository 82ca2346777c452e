"""Active evaluation: label the queries that tell most about rankers.

`ActiveEvaluator` estimates the mean of a metric over a pool of queries, `ActiveComparator` the
difference between two rankers. Both ask for labels query by query, within a budget. `estimate`
takes labels that were collected elsewhere, `simulate` runs campaigns on a labelled collection.
"""

from skrank.active._budget import BudgetWarning as BudgetWarning
from skrank.active._campaign import Campaign as Campaign
from skrank.active._decision import Decision as Decision
from skrank.active._estimate import Estimate as Estimate
from skrank.active._estimate import estimate as estimate
from skrank.active._evaluators import ActiveComparator as ActiveComparator
from skrank.active._evaluators import ActiveEvaluator as ActiveEvaluator
from skrank.active._labels import ContestantWarning as ContestantWarning
from skrank.active._moments import Moments as Moments
from skrank.active._moments import label_moments as label_moments
from skrank.active._requests import Request as Request
from skrank.active._sampling import sampling_distribution as sampling_distribution
from skrank.active._simulate import Simulation as Simulation
from skrank.active._simulate import simulate as simulate
