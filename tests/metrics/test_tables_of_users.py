"""Metrics of tables that users define are the sums that `skrank.extending` documents."""

from dataclasses import dataclass

import numpy as np
import pytest

import skrank
from skrank import extending
from skrank.testing import make_lists
from tests.helpers import reference as ref

GAIN, WEIGHTS, COST = [0.0, 0.25, 0.5, 1.0], [1.0, 0.75, 0.5, 0.25], 0.1


@dataclass(frozen=True, kw_only=True)
class OfTables(skrank.Metric):
    """The metric of tables that a function makes of gains, discounts and the scale."""

    reads_judgments = True
    make: object = None

    def tables(self, scale, k):
        discounts = extending.discounts(lambda r: np.array(WEIGHTS[: len(r)]), scale.longest, k)
        return self.make(np.array([GAIN[int(y)] for y in scale.labels]), discounts, scale)


def gains(gain, weights, scale):
    return extending.QuadraticTables(gain, weights)


def pairs(join):
    def make(gain, weights, scale):
        worth = extending.PairWorth(weights, gain, gain, join)
        return extending.QuadraticTables(gain, weights, worth)

    return make


def stops(gain, weights, scale):
    return extending.CascadeTables(gain, weights)


def preferences(gain, weights, scale):
    lack = np.where(np.subtract.outer(gain, gain) > 0, COST, 0.0) * scale.judged
    each = np.ones(scale.n_queries)
    return extending.PreferenceTables(gain, lack, each * np.inf, each, "total", scale.unjudged)


def sum_of_gains(ranked):
    return ranked @ WEIGHTS[: len(ranked)]


def sum_of_pairs(join):
    return lambda ranked: sum_of_gains(
        ranked + [join(ranked[:r], gain).sum() for r, gain in enumerate(ranked)]
    )


def expected_stop(ranked):
    return sum_of_gains(np.cumprod([1, *(1 - ranked)])[:-1] * ranked)


def preferred(ranked):
    return sum(g * (1 - COST * sum(ranked[:r] < g)) for r, g in enumerate(ranked))


@pytest.mark.parametrize(
    ("make", "total"),
    [
        (gains, sum_of_gains),
        (pairs(np.multiply), sum_of_pairs(np.multiply)),
        (pairs(np.minimum), sum_of_pairs(np.minimum)),
        (stops, expected_stop),
        (preferences, preferred),
    ],
)
def test_sums_of_families(make, total):
    for seed in range(5):
        data = make_lists(seed, unjudged=0, missing=0, longest=4, levels=2, special=False)
        found = OfTables(make=make).per_query(data.relevance, data.scores, groups=data.groups)

        def literal(ranked, unretrieved=()):
            worth = np.array([GAIN[int(label)] for label in ranked])
            return total(worth) if worth.any() else None

        expected = [ref.tie_expectation(literal, s, y) for s, y in data.queries()]
        expected = [np.nan if one is None else one for one in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@dataclass(frozen=True, kw_only=True)
class OfGrades(skrank.Metric):
    max_grade: int = 2

    def tables(self, scale, k):
        return extending.QuadraticTables(scale.labels / scale.max_grade, [1.0] * scale.longest)


@dataclass(frozen=True, kw_only=True)
class OfGains(skrank.Metric):
    """Its tables ask the scale for gains."""

    gain: object = "exp2"

    def tables(self, scale, k):
        return extending.QuadraticTables(scale.gains(self.gain), [1.0] * scale.longest)


@pytest.mark.parametrize(
    "gain", [{0: 0, 1: 2, 3: 5}, [0, 2, 3, 5], ((0, 0), (1, 2), (3, 5))], ids=str
)
def test_gains_of_a_scale_may_have_any_form(gain):
    assert OfGains(gain=gain)([1, 0, 3], [3, 2, 1]) == 7
    with pytest.raises(ValueError, match="gain"):
        OfGains(gain="log")([1, 0, 3], [3, 2, 1])


class OfSizes(OfTables):
    """Its tables read the sizes of queries without `reads_judgments`."""

    reads_judgments = False

    def tables(self, scale, k):
        return extending.QuadraticTables(scale.labels, scale.n_queries * np.ones(scale.longest))


@pytest.mark.parametrize(
    ("metric", "error", "named"),
    [
        (OfGrades(), ValueError, "label 3"),
        (OfSizes(), TypeError, "reads_judgments"),
        (skrank.metric("rbp", gain=[0, 0, 0, 0]), ValueError, r"rbp.*gain of 3"),
        (skrank.metric("utility", n_documents=2), ValueError, "n_documents=2.* 3 documents"),
    ],
)
def test_what_tables_may_read(metric, error, named):
    """Labels up to the highest grade of the metric, and numbers of queries if they are asked."""
    with pytest.raises(error, match=named):
        metric([1, 0, 3], [3, 2, 1])


@pytest.mark.parametrize(
    "metric",
    [skrank.metric(name, **{parameter: table}) for name, parameter, table in (
        ("ndcg", "gain", {1: 1, 3: 5}), ("q", "gain", {0: 0, 1: 1, 3: 5}),
        ("rbp", "gain", {0: 0, 1: 1, 3: 5}), ("err", "gain", {0: 0, 1: 1, 3: 5}),
        ("pfound", "p_rel", {0: 0, 1: 0.2, 3: 1}),
    )],
    ids=str,
)  # fmt: skip
def test_labels_that_do_not_occur_need_no_gain(metric):
    """Also after a call with the same distinct labels, for which tables would be cached."""
    for _ in range(2):
        assert 0 < metric([1, 3, 0], [3, 2, 1]) < 1
        with pytest.raises(ValueError, match=r"label 2 \(row 1\)"):
            metric([1, 2, 3], [3, 2, 1])


def test_labels_that_do_not_occur_need_no_gain_in_objectives():
    for objective in (skrank.Softmax({1: 1, 3: 5}), skrank.SquaredError({1: 1, 3: 5})):
        assert np.isfinite(objective([1, 3, 0], [0, 0, 0])[0]).all()
        with pytest.raises(ValueError, match=r"label 2 \(row 1\)"):
            objective([1, 2, 3], [0, 0, 0])
