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
SHARES = st.sampled_from((0.05, 0.1, 0.5))
FEW = 40  # resamples


def scores(draw):
    """Values of two or three systems on a few queries."""
    return draw.matrix(VALUES, draw.size(2, 7), draw.size(2, 3))


def choices(draw, n_queries, **more):
    """Options that most statistical tests share."""
    return draw.options(
        nan=st.just("drop"),
        weights=st.lists(st.sampled_from((1.0, 2.0, 0.5)), min_size=n_queries, max_size=n_queries),
        **more,
    )


def rows(x):
    return len(x) if isinstance(x, np.ndarray) and x.ndim else 3


def columns(found, *names, low=0.0, high=1.0):
    """Assert that these attributes lie between `low` and `high`."""
    for name in names:
        within(low, high)(getattr(found, name))


def drive_test(name, attribute="p_value", least=None, **usual):
    """Add a case for a test or another statistic of a matrix of queries and systems."""

    @case(f"stats.{name}")
    def _(draw):
        x = scores(draw)
        options = choices(draw, rows(x), **usual)
        more = tuple(draw(one) for one in (least or ()))
        function = getattr(stats, name)
        if "n_resamples" in usual:
            options.setdefault("n_resamples", FEW)
        if "n_samples" in usual:
            options.setdefault("n_samples", FEW)
        return Call(lambda: function(x, *more, **options), lambda found: columns(found, attribute))


PAIRS = {"pairs": st.sampled_from((None, 0, 1))}
RANDOM = {"n_resamples": st.integers(1, 60), "random_state": st.integers(0, 9)}
drive_test("paired_bootstrap", **PAIRS, **RANDOM)
drive_test("randomisation_test", **PAIRS, **RANDOM)
drive_test("sign_test", **PAIRS)
drive_test("wilcoxon", **PAIRS, zeros=st.sampled_from(("wilcox", "pratt")))
drive_test("max_t", **PAIRS, **RANDOM, alpha=SHARES, adjust=st.booleans())
drive_test("tukey_hsd", **RANDOM, alpha=SHARES)
drive_test("discriminative_power", "asl", **RANDOM, alpha=SHARES)
drive_test("paired_effects", "superiority", **PAIRS, confidence=SHARES)
drive_test("equivalence_test", least=[st.sampled_from((0.1, (-0.1, 0.2)))], **PAIRS, alpha=SHARES)
drive_test(
    "bayesian_comparison", "better", least=[st.sampled_from((0.1, (-0.1, 0.2)))], **PAIRS,
    method=st.sampled_from(("t", "signed-rank")), n_samples=st.integers(1, 60),
)  # fmt: skip


@case("stats.paired_t")
def _(draw):
    x = scores(draw)

    def verify(found):
        within(0, 1)(found.p_value)
        if not draw.is_odd:
            for (a, b), p in zip(found.pairs, found.p_value, strict=True):
                z = x[:, a] - x[:, b]
                if np.ptp(z) > 1e-6:
                    assert p == pytest.approx(scipy.stats.ttest_1samp(z, 0).pvalue, rel=1e-6)

    return Call(lambda: stats.paired_t(x), verify)


@case("stats.two_way_anova")
def _(draw):
    x = scores(draw)
    return Call(lambda: stats.two_way_anova(x), lambda found: columns(found.systems, "p_value"))


def interval_of(values):
    def verify(found):
        low, mean, high = (np.asarray(x) for x in (found.low, found.mean, found.high))
        assert (np.isnan(low) | (low <= high)).all()
        known = odd.as_floats(values)
        within(np.nanmin(known), np.nanmax(known))(mean)

    return verify


@case("stats.t_interval")
def _(draw):
    values = draw.vector(VALUES, draw.size(2, 7), containers=odd.FLAT)
    options = draw.options(confidence=SHARES)
    return Call(lambda: stats.t_interval(values, **options), interval_of(values))


@case("stats.bootstrap_interval")
def _(draw):
    values = draw.vector(VALUES, draw.size(2, 7), containers=odd.FLAT)
    options = draw.options(
        confidence=SHARES, n_resamples=st.integers(40, 60), random_state=st.integers(0, 9),
        method=st.sampled_from(("percentile", "bca", "bootstrap-t")),
    )  # fmt: skip
    options.setdefault("n_resamples", FEW)
    return Call(lambda: stats.bootstrap_interval(values, **options), interval_of(values))


@case("stats.bounded_interval")
def _(draw):
    values = draw.vector(VALUES, draw.size(2, 7), containers=odd.FLAT)
    options = draw.options(confidence=SHARES, random_state=st.integers(0, 9))
    options["n_resamples"] = draw(st.integers(30, 60))
    return Call(lambda: stats.bounded_interval(values, **options), interval_of(values))


# rankings of systems ------------------------------------------------------------------------------


def rankings(draw):
    size = draw.size(2, 7)
    return tuple(draw.vector(SYSTEMS, size, odd.scores, containers=odd.FLAT) for _ in range(2))


def tau(x, y):
    """Concordant minus discordant pairs, as a share of all pairs."""

    def sign(a, b):  # without a - b, which can overflow
        return int(a > b) - int(a < b)

    pairs = combinations(range(len(x)), 2)
    return np.mean([sign(x[i], x[j]) * sign(y[i], y[j]) for i, j in pairs])


@case("stats.kendall_tau")
def _(draw):
    x, y = rankings(draw)

    def verify(found):
        assert found == pytest.approx(tau(odd.as_floats(x), odd.as_floats(y)))

    return Call(lambda: stats.kendall_tau(x, y), verify)


@case("stats.tau_b")
def _(draw):
    x, y = rankings(draw)

    def verify(found):
        one, other = odd.as_floats(x), odd.as_floats(y)
        scale = np.sqrt(abs(tau(one, one)) * abs(tau(other, other)))
        expected = tau(one, other) / scale if scale else odd.NAN
        assert found == pytest.approx(expected, nan_ok=True)

    return Call(lambda: stats.tau_b(x, y), verify)


@case("stats.tau_ap")
def _(draw):
    x, y = rankings(draw)
    options = draw.options(symmetric=st.booleans()) | {"ties": draw(st.just("b"))}
    return Call(lambda: stats.tau_ap(x, y, **options), within(-1, 1))


@case("stats.rank_correlation")
def _(draw):
    x, y = rankings(draw)
    options = draw.options(
        method=st.sampled_from(("tau", "tau_b", "tau_ap")), confidence=SHARES,
        n_resamples=st.integers(1, 60), random_state=st.integers(0, 9),
    )  # fmt: skip
    options.setdefault("n_resamples", FEW)
    return Call(
        lambda: stats.rank_correlation(x, y, **options),
        lambda found: columns(found, "value", "low", "high", low=-1),
    )


@case("stats.rank_biased_overlap")
def _(draw):
    x, y = rankings(draw)
    options = draw.options(p=st.sampled_from((0.5, 0.9)), ties=st.sampled_from(("a", "b", "w")))
    return Call(lambda: stats.rank_biased_overlap(x, y, **options), within(0, 1))


# adjustment, agreement, planning ------------------------------------------------------------------


def p_values(draw):
    return draw.vector(st.floats(0, 1), draw.size(1, 6), containers=odd.FLAT)


@case("stats.holm")
def _(draw):
    p = p_values(draw)

    def verify(found):
        given = odd.as_floats(p)
        order, low = np.argsort(given, kind="stable"), 0.0
        for rank, test in enumerate(order):
            low = max(low, min(1.0, given[test] * (len(given) - rank)))
            assert np.ravel(found)[test] == pytest.approx(low)

    return Call(lambda: stats.holm(p), verify)


@case("stats.benjamini_hochberg")
def _(draw):
    p = p_values(draw)

    def verify(found):
        expected = scipy.stats.false_discovery_control(odd.as_floats(p))
        np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-12)

    return Call(lambda: stats.benjamini_hochberg(p), verify)


GRADES = st.integers(0, 3).map(float)


@case("stats.cohen_kappa")
def _(draw):
    size = draw.size(1, 6)
    x, y = (draw.vector(GRADES, size, odd.labels, containers=odd.FLAT) for _ in range(2))
    options = draw.options(weights=st.sampled_from((None, "linear", "quadratic")))
    return Call(lambda: stats.cohen_kappa(x, y, **options), within(-np.inf, 1))


@case("stats.fleiss_kappa")
def _(draw):
    table = draw.matrix(GRADES, draw.size(1, 5), draw.size(2, 3))
    return Call(lambda: stats.fleiss_kappa(table), within(-np.inf, 1))


@case("stats.list_overlap")
def _(draw):
    x, y = (draw(st.permutations("abcdef").map(lambda ids: ids[:5])) for _ in range(2))
    options = draw.options(p=st.floats(0.1, 0.99))

    def verify(found):
        assert -1e-9 <= found.lower <= found.extrapolated + 1e-9
        assert found.extrapolated <= found.lower + found.residual + 1e-9 <= 1 + 1e-6

    return Call(lambda: stats.list_overlap(x, y, **options), verify)


@case("stats.krippendorff_alpha")
def _(draw):
    table = draw.matrix(GRADES, draw.size(1, 5), draw.size(2, 3))
    levels = st.sampled_from(("nominal", "ordinal", "interval", "ratio"))
    options = draw.options(level=levels)
    return Call(lambda: stats.krippendorff_alpha(table, **options), within(-np.inf, 1))


@case("stats.paired_t_power")
def _(draw):
    difference, std = draw(st.floats(-1, 1)), draw(st.floats(0.01, 3))
    n = draw(st.integers(2, 1000) | st.just([2, 10, 100]))
    options = draw.options(alpha=SHARES)
    return Call(lambda: stats.paired_t_power(difference, std, n, **options), within(0, 1))


@case("stats.queries_needed")
def _(draw):
    difference, std = draw(st.floats(0.01, 1)), draw(st.floats(0.01, 3))
    options = draw.options(alpha=SHARES, power=st.sampled_from((0.5, 0.8)))

    def verify(found):
        how = {"alpha": options.get("alpha", 0.05)}
        assert stats.paired_t_power(difference, std, found, **how) >= options.get("power", 0.8)
        if found > 2:
            assert stats.paired_t_power(difference, std, found - 1, **how) < options.get(
                "power", 0.8
            )

    return Call(lambda: stats.queries_needed(difference, std, **options), verify)
