"""Statistics of arrays of queries x systems: tests, intervals and correlations.

Comparisons of a system leave out the queries on which that system has no value (NaN), and results
report their number as `n_dropped`. Results name the columns of a DataFrame. `random_state` seeds
all random draws; its default is 0.
"""

from skrank.stats.all_pairs import holm, max_t
from skrank.stats.discrimination import DiscriminativePower, discriminative_power
from skrank.stats.intervals import Interval, bootstrap_interval, t_interval
from skrank.stats.paired import (
    PairedTest,
    paired_bootstrap,
    paired_t,
    randomisation_test,
    sign_test,
    wilcoxon,
)
from skrank.stats.rankings import tau_ap, tau_b
from skrank.stats.tukey import tukey_hsd

__all__ = [
    "DiscriminativePower", "Interval", "PairedTest", "bootstrap_interval",
    "discriminative_power", "holm", "max_t", "paired_bootstrap",
    "paired_t", "randomisation_test", "sign_test",
    "t_interval", "tau_ap", "tau_b", "tukey_hsd", "wilcoxon",
]  # fmt: skip
