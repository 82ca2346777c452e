"""Any input gives a p-value in [0, 1] or a ValueError with a message, and never a warning."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skrank import stats

TESTS = {
    "paired_t": stats.paired_t,
    "wilcoxon": stats.wilcoxon,
    "sign_test": stats.sign_test,
    "randomisation_test": lambda x, **w: stats.randomisation_test(x, n_resamples=50, **w),
    "paired_bootstrap": lambda x, **w: stats.paired_bootstrap(x, n_resamples=50, **w),
    "max_t": lambda x, **w: stats.max_t(x, n_resamples=50, **w),
    "tukey_hsd": lambda x, **w: stats.tukey_hsd(x, n_resamples=50, **w),
    "equivalence_test": lambda x, **w: stats.equivalence_test(x, 0.1, **w),
    "two_way_anova": lambda x, **w: stats.two_way_anova(x, **w).systems,
}
OTHERS = {
    "paired_effects": stats.paired_effects,
    "discriminative_power": lambda x, **w: stats.discriminative_power(x, n_resamples=50, **w),
    "bayesian_comparison": lambda x, **w: stats.bayesian_comparison(x, 0.1, **w),
    "t_interval": stats.t_interval,
    "bootstrap_interval": lambda x, **w: stats.bootstrap_interval(
        x, method="bootstrap-t", n_resamples=60, **w
    ),
    "bounded_interval": lambda x, **w: stats.bounded_interval(x, bounds=(-1, 1), n_resamples=60),
    "fleiss_kappa": lambda x, **w: stats.fleiss_kappa(x),
    "krippendorff_alpha": lambda x, **w: stats.krippendorff_alpha(x, level="ordinal"),
}
VALUES = st.one_of(
    st.sampled_from([0.0, 0.1, 0.5, 1.0, -1.0, np.nan, np.inf, 1e308, 1e49, 5e-324, 1e-200]),
    st.floats(0, 1),
)
MATRICES = arrays(
    np.float64, st.tuples(st.integers(0, 7), st.integers(0, 4)), elements=VALUES, fill=st.nothing()
)
WEIGHTS = st.sampled_from([0.0, 1.0, 2.0, 0.3, 1e-300, 1e300])


@pytest.mark.parametrize("name", TESTS | OTHERS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_input_gives_a_result_or_a_value_error(name, data):
    x = data.draw(MATRICES)
    weights = data.draw(st.none() | arrays(np.float64, len(x), elements=WEIGHTS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = (TESTS | OTHERS)[name](x, weights=weights)
        except ValueError as error:
            found, message = None, str(error)
    if found is None:
        assert len(message) > 20
    elif name in TESTS:
        p = np.asarray(found.p_value)
        assert ((p >= 0) & (p <= 1)).all()
