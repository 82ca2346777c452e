"""Ties that do not change a strict metric are allowed; queries without judgments are skipped."""

from functools import partial

import numpy as np
import pytest

import skrank
from tests.helpers import reference as ref

NAN = float("nan")


def tied_lists():
    random = np.random.default_rng(0)
    for _ in range(300):
        n = random.integers(1, 7)
        labels = random.choice([0, 0, 1, 2, NAN], n)
        if (labels > 0).any():
            yield labels.tolist(), random.integers(0, 3, n).tolist()


def value_or_error(metric, labels, scores):
    try:
        return metric(labels, scores)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "name",
    [
        *(f"iprec(recall={recall})" for recall in (0, 0.5, 0.7, 1)),
        *("infap", "inst", "bpm@4", "bpm(T=2)", "nearly_err", "nearly_err(patience=all)@3"),
    ],
)
def test_ties_are_refused_where_they_change_the_value(name):
    metric = skrank.metric(name)
    if hasattr(metric, "max_grade"):
        metric = skrank.metric(metric, max_grade=2)
    user = ("T", "k", "max_grade")
    taken_by = {"iprec": ["recall"], "infap": [], "nearly_err": [*user, "patience"]}
    fields = taken_by.get(metric.names[0], user)
    parameters = {field: vars(metric)[field] for field in fields}
    literal = partial(getattr(ref, metric.names[0]), **parameters)
    taken = refused = coincidences = 0
    for labels, scores in tied_lists():
        orders = ref.tie_orders(scores, ref.from_array(labels))
        values = {round(literal(ranked), 12) for ranked in orders}
        found = value_or_error(metric, labels, scores)
        if isinstance(found, str):
            assert "value depends on the order of tied documents" in found
            refused += 1
            coincidences += len(values) == 1
        else:
            assert found == pytest.approx(values.pop(), abs=1e-11)
            assert not values
            taken += len(set(scores)) < len(scores)
    assert min(taken, refused) > {"iprec": 30, "infap": 20}.get(metric.names[0], 10)
    # a user of BPM who stops inside a block may find the same mean after another number of ranks
    assert coincidences <= {"bpm": 2}.get(metric.names[0], 0)


@pytest.mark.parametrize(
    "metric",
    [
        skrank.metric("pfound", p_rel={0: 0.1, 1: 0.5, 2: 0.9}),
        skrank.metric("ndcg", gain=[1, 2, 3]),
        skrank.metric("dcg", gain={0: 0.5, 1: 1, 2: 2}),
        skrank.metric("q", gain=[1, 2, 3]),
        skrank.metric("0.5*dcg+0.5*ndcg", gain=[1, 2, 3]),
    ],
)
@pytest.mark.parametrize("condensed", [False, True])
def test_a_query_without_judgments_is_skipped_where_label_0_is_worth_something(metric, condensed):
    metric = skrank.metric(metric, condensed=condensed)
    labels, groups = [NAN, NAN, 2, 0, 1], ["none", "none", "some", "some", "some"]
    values = metric.per_query(labels, [5, 4, 3, 2, 1], groups=groups)
    assert np.isnan(values["none"])
    assert metric(labels, [5, 4, 3, 2, 1], groups=groups) == values["some"] > 0
    report = skrank.evaluate(labels, [5, 4, 3, 2, 1], groups=groups, metrics=[metric])
    assert report.empty.tolist() == [1]
