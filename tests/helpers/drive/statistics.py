"""Calls of the public functions of `skrank.stats`, compared with scipy or with loops."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import strategies as st

from skrank import stats
from tests.helpers import odd
from tests.helpers.drive import Call, case, within

VALUES = st.sampled_from((0.0, 0.1, 0.5, 1.0)) | st.floats(0, 1, width=32)
SYSTEMS = st.integers(0, 4).map(float) | st.floats(-9, 9, width=32)
GRADES = st.integers(0, 3).map(float)
SHARES = st.sampled_from((0.05, 0.1, 0.5))
FEW = 40  # resamples, where no number is drawn


def drive(name, arguments, verify, **usual):
    """Call a function with drawn arguments and options; `verify` checks the result and these.

    An option is drawn from a strategy, or from what a function of the arguments returns.
    """

    @case(f"stats.{name}")
    def _(draw):
        given = arguments(draw)
        choices = {key: one(*given) if callable(one) else one for key, one in usual.items()}
        options = draw.options(**choices) if choices else {}
        for number in {"n_resamples", "n_samples"} & usual.keys():
            options.setdefault(number, FEW)
        return Call(
            lambda: getattr(stats, name)(*given, **options),
            lambda found: verify(found, *given, **options),
        )


def in_range(low, high, *names):
    """The check that the result, or that these attributes of it, lie in a range."""

    def verify(found, *_, **options):
        for value in [getattr(found, name) for name in names] or [found]:
            within(low, high)(value)

    return verify


# queries x systems --------------------------------------------------------------------------------


def scores(draw, *more):
    """Values of two or three systems on a few queries, and one value of each further strategy."""
    return draw.matrix(VALUES, draw.size(2, 7), draw.size(2, 3)), *map(draw, more)


def drive_test(name, attribute="p_value", more=(), **usual):
    """A test, or another statistic, of queries x systems."""

    def weights(x, *_):
        size = len(x) if isinstance(x, np.ndarray) and x.ndim else 3
        return st.lists(st.sampled_from((1.0, 2.0, 0.5)), min_size=size, max_size=size)

    drive(
        name, lambda draw: scores(draw, *more), in_range(0, 1, attribute), nan=st.just("drop"),
        weights=weights, **usual,
    )  # fmt: skip


PAIRS = {"pairs": st.sampled_from((None, 0, 1))}
SEEDS = {"random_state": st.integers(0, 9)}
RANDOM = {"n_resamples": st.integers(1, 60), **SEEDS}
MARGINS = [st.sampled_from((0.1, (-0.1, 0.2)))]
drive_test("paired_bootstrap", **PAIRS, **RANDOM)
drive_test("randomisation_test", **PAIRS, **RANDOM)
drive_test("sign_test", **PAIRS)
drive_test("wilcoxon", **PAIRS, zeros=st.sampled_from(("wilcox", "pratt")))
drive_test("max_t", **PAIRS, **RANDOM, alpha=SHARES, adjust=st.booleans())
drive_test("tukey_hsd", **RANDOM, alpha=SHARES)
drive_test("discriminative_power", "asl", **RANDOM, alpha=SHARES)
drive_test("paired_effects", "superiority", **PAIRS, confidence=SHARES)
drive_test("equivalence_test", more=MARGINS, **PAIRS, alpha=SHARES)
drive_test(
    "bayesian_comparison", "better", MARGINS, **PAIRS, method=st.sampled_from(("t", "signed-rank")),
    n_samples=st.integers(1, 60),
)  # fmt: skip


def as_scipy(found, x):
    within(0, 1)(found.p_value)
    x = odd.as_floats(x).reshape(np.shape(x))
    for (a, b), p in zip(found.pairs, found.p_value, strict=True):
        z = x[:, a] - x[:, b]
        if np.ptp(z) > 1e-6:  # and no value is NaN
            assert p == pytest.approx(scipy.stats.ttest_1samp(z, 0).pvalue, rel=1e-6)


drive("paired_t", scores, as_scipy)
drive("two_way_anova", scores, lambda found, x: within(0, 1)(found.systems.p_value))


def vector(elements, low, high, number=1, other=None):
    """The arguments: vectors of one size."""

    def arguments(draw):
        size = draw.size(low, high)
        return tuple(draw.vector(elements, size, other, odd.FLAT) for _ in range(number))

    return arguments


def is_interval(found, values, **options):
    low, mean, high = (np.asarray(x) for x in (found.low, found.mean, found.high))
    assert (np.isnan(low) | (low <= high)).all()
    known = odd.as_floats(values)
    within(np.nanmin(known), np.nanmax(known))(mean)


METHODS = st.sampled_from(("percentile", "bca", "bootstrap-t"))
ENOUGH = {"n_resamples": st.integers(40, 60), "confidence": SHARES, **SEEDS}
drive("t_interval", vector(VALUES, 2, 7), is_interval, confidence=SHARES)
drive("bootstrap_interval", vector(VALUES, 2, 7), is_interval, **ENOUGH, method=METHODS)
drive("bounded_interval", vector(VALUES, 2, 7), is_interval, **ENOUGH)


# rankings of systems ------------------------------------------------------------------------------

rankings = vector(SYSTEMS, 2, 7, 2, odd.scores)


def tau(x, y):
    """Concordant minus discordant pairs, as a share of all pairs."""
    x, y = odd.as_floats(x), odd.as_floats(y)

    def sign(a, b):  # without a - b, which can overflow
        return int(a > b) - int(a < b)

    pairs = combinations(range(len(x)), 2)
    return np.mean([sign(x[i], x[j]) * sign(y[i], y[j]) for i, j in pairs])


def is_tau(found, x, y):
    assert found == pytest.approx(tau(x, y))


def is_tau_b(found, x, y):
    scale = np.sqrt(abs(tau(x, x)) * abs(tau(y, y)))
    assert found == pytest.approx(tau(x, y) / scale if scale else odd.NAN, nan_ok=True)


drive("kendall_tau", rankings, is_tau)
drive("tau_b", rankings, is_tau_b)


@case("stats.tau_ap")
def _(draw):
    x, y = rankings(draw)
    options = draw.options(symmetric=st.booleans()) | {"ties": draw(st.just("b"))}
    return Call(lambda: stats.tau_ap(x, y, **options), within(-1, 1))


drive(
    "rank_correlation", rankings, in_range(-1, 1, "value", "low", "high"), **RANDOM,
    confidence=SHARES, method=st.sampled_from(("tau", "tau_b", "tau_ap")),
)  # fmt: skip
drive(
    "rank_biased_overlap", rankings, in_range(0, 1), p=st.sampled_from((0.5, 0.9)),
    ties=st.sampled_from(("a", "b", "w")),
)  # fmt: skip


def is_overlap(found, x, y, **options):
    assert -1e-9 <= found.lower <= found.extrapolated + 1e-9
    assert found.extrapolated <= found.lower + found.residual + 1e-9 <= 1 + 1e-6


def items(draw):
    return tuple(draw(st.permutations("abcdef").map(lambda ids: ids[:5])) for _ in range(2))


drive("list_overlap", items, is_overlap, p=st.floats(0.1, 0.99))


# adjustment, agreement, planning ------------------------------------------------------------------


def is_holm(found, p):
    given = odd.as_floats(p)
    order, low = np.argsort(given, kind="stable"), 0.0
    for rank, test in enumerate(order):
        low = max(low, min(1.0, given[test] * (len(given) - rank)))
        assert np.ravel(found)[test] == pytest.approx(low)


def is_hochberg(found, p):
    expected = scipy.stats.false_discovery_control(odd.as_floats(p))
    np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-12)


drive("holm", vector(st.floats(0, 1), 1, 6), is_holm)
drive("benjamini_hochberg", vector(st.floats(0, 1), 1, 6), is_hochberg)


def labels(draw):
    return (draw.matrix(GRADES, draw.size(1, 5), draw.size(2, 3)),)


agreement = in_range(-np.inf, 1)
levels = st.sampled_from(("nominal", "ordinal", "interval", "ratio"))
costs = st.sampled_from((None, "linear", "quadratic"))
drive("cohen_kappa", vector(GRADES, 1, 6, 2, odd.labels), agreement, weights=costs)
drive("fleiss_kappa", labels, agreement)
drive("krippendorff_alpha", labels, agreement, level=levels)


def effect(draw):
    return draw(st.floats(0.01, 1)), draw(st.floats(0.01, 3))


def suffices(found, difference, std, alpha=0.05, power=0.8):
    assert stats.paired_t_power(difference, std, found, alpha=alpha) >= power
    if found > 2:
        assert stats.paired_t_power(difference, std, found - 1, alpha=alpha) < power


SIZES = st.integers(2, 1000) | st.just([2, 10, 100])
drive("paired_t_power", lambda d: (*effect(d), d(SIZES)), in_range(0, 1), alpha=SHARES)
drive("queries_needed", effect, suffices, alpha=SHARES, power=st.sampled_from((0.5, 0.8)))
