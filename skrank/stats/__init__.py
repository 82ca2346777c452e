"""Statistics of arrays of queries x systems: tests, intervals and correlations.

Comparisons of a system leave out the queries on which that system has no value (NaN), and results
report their number as `n_dropped`. `random_state` seeds all random draws; its default is 0.
"""

from skrank import _renamed
from skrank.stats.all_pairs import holm as holm
from skrank.stats.all_pairs import max_t as max_t
from skrank.stats.design import queries_needed as queries_needed
from skrank.stats.discrimination import DiscriminativePower as DiscriminativePower
from skrank.stats.discrimination import discriminative_power as discriminative_power
from skrank.stats.intervals import Interval as Interval
from skrank.stats.intervals import bootstrap_interval as bootstrap_interval
from skrank.stats.intervals import t_interval as t_interval
from skrank.stats.paired import PairedTest as PairedTest
from skrank.stats.paired import paired_bootstrap as paired_bootstrap
from skrank.stats.paired import paired_t as paired_t
from skrank.stats.paired import randomisation_test as randomisation_test
from skrank.stats.paired import sign_test as sign_test
from skrank.stats.paired import wilcoxon as wilcoxon
from skrank.stats.rankings import ListOverlap as ListOverlap
from skrank.stats.rankings import RankCorrelation as RankCorrelation
from skrank.stats.rankings import kendall_tau as kendall_tau
from skrank.stats.rankings import list_overlap as list_overlap
from skrank.stats.rankings import rank_biased_overlap as rank_biased_overlap
from skrank.stats.rankings import rank_correlation as rank_correlation
from skrank.stats.rankings import tau_ap as tau_ap
from skrank.stats.rankings import tau_b as tau_b
from skrank.stats.tukey import tukey_hsd as tukey_hsd

_renamed.refuse_old_names(__name__)
