"""Swap deltas equal the change of the value for every swap of two ranks."""

import numpy as np
import pytest

import skrank
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE
from tests.helpers.engine import judge


def swaps(plan):
    """Deltas of the values of one fully ranked query."""
    return plan.tables.deltas(plan.judgments.codes) * plan.inverse[0] * plan.slope()[0]


@pytest.mark.parametrize("name", ["gap", "ap", "ndcg", "err", "rr", "precision@5"])
def test_an_empty_query_has_no_deltas(name):
    plan = skrank.metric(name).bind(judge([0, 0, np.nan, 0]))
    assert not swaps(plan).any()


@pytest.mark.parametrize("name", ["gap", "gap@40", "ap", "ndcg@10", "err", "rr"])
def test_deltas_of_long_lists(name):
    """Some pairs of ranks, at which rounding errors of prefix sums would be large."""
    rng = np.random.default_rng(1)
    labels = rng.choice([0, 0, 0, 0, 1, 2, 3], 400)
    labels[0] = 3
    point = next(point for point in CATALOGUE if point.text in (name, name.split("@")[0]))
    metric = skrank.metric(name)
    deltas = swaps(metric.bind(judge(labels)))
    how = {"max_grade": 3} if point.text.split("@")[0] in ("gap", "err") else {}
    ranked = labels.tolist()

    def literal(one):
        return point.literal(one, k=metric.k, **how)

    for a, b in [(1, 2), (1, 400), (3, 250), (39, 41), (40, 41), (200, 399), (399, 400)]:
        expected = ref.swap_delta(literal, ranked, a, b)
        assert deltas[a - 1, b - 1] == pytest.approx(expected, abs=1e-10)
