"""Statistics of evaluations: arrays of queries x systems in, results out; knows nothing of metrics.

A query on which a system has no value (NaN) is dropped for the pairs of that system and counted in
the result. Whatever is random is fixed by `random_state`, which is 0 unless given.
"""

from skrank.stats.correlation import kendall_tau as kendall_tau
from skrank.stats.correlation import rank_biased_overlap as rank_biased_overlap
from skrank.stats.correlation import tau_ap as tau_ap
from skrank.stats.correlation import tau_b as tau_b
from skrank.stats.design import paired_t_power as paired_t_power
from skrank.stats.design import queries_needed as queries_needed
from skrank.stats.discrimination import DiscriminativePower as DiscriminativePower
from skrank.stats.discrimination import discriminative_power as discriminative_power
from skrank.stats.effects import PairedEffects as PairedEffects
from skrank.stats.effects import paired_effects as paired_effects
from skrank.stats.intervals import Interval as Interval
from skrank.stats.intervals import bootstrap_interval as bootstrap_interval
from skrank.stats.multiple import TukeyHSD as TukeyHSD
from skrank.stats.multiple import benjamini_hochberg as benjamini_hochberg
from skrank.stats.multiple import holm as holm
from skrank.stats.multiple import tukey_hsd as tukey_hsd
from skrank.stats.paired import PairedTest as PairedTest
from skrank.stats.paired import paired_bootstrap as paired_bootstrap
from skrank.stats.paired import paired_t as paired_t
from skrank.stats.paired import randomisation_test as randomisation_test
from skrank.stats.paired import wilcoxon as wilcoxon
