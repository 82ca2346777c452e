"""Values of metrics: ties, ideal lists, GAP. test_properties.py tests properties of all metrics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import skrank
from tests.helpers import reference as ref
from tests.helpers.catalogue import STRICT, lists
from tests.helpers.metrics_cases import close, per_query

SEEDS = (0, 1, 2)


# ---------------------------------------------------------------------- ties, papers


RESIDUALS = [name for name in STRICT if name.endswith("_residual")]


@pytest.mark.parametrize("name", sorted({*STRICT} - {*RESIDUALS}))
def test_ties_without_a_closed_form_are_refused(name):
    metric = skrank.metric(name)
    groups = ["a", "a", "b", "b", "b"]
    with pytest.raises(ValueError, match=r"in query 'b': break the ties.*ties=\"stable\""):
        metric([1, 0, 1, 0, 2], [2, 1, 1, 1, 1], groups=groups)
    for ties in ("stable", "worst", "best"):
        assert 0 < replace(metric, ties=ties)([1, 0, 1, 0, 2], [2, 1, 1, 1, 1], groups=groups) <= 1
    assert metric([1, 0, 0, 1, 1], [2, 1, 1, 3, 3], groups=groups[2:3] * 5) > 0  # equal labels tie


@pytest.mark.parametrize("name", RESIDUALS)
def test_ties_of_residuals_are_refused_where_they_matter(name):
    metric = skrank.metric(name, max_grade=2)
    labels, scores, groups = [2, 0, 1, 0, math.nan], [2, 1, 1, 1, 1], ["a", "a", "b", "b", "b"]
    with pytest.raises(ValueError, match=r"no closed form.*in query 'b': break the ties"):
        metric(labels, scores, groups=groups)
    for ties in ("stable", "worst", "best"):
        assert 0 < replace(metric, ties=ties)(labels, scores, groups=groups) <= 1
    assert metric([0, 0, 1, math.nan], [1, 1, 3, 2]) > 0  # equal gains tie


def test_values_from_the_papers():
    ranked, g = [1, 0, 3, 2, 0, 1, 3], [0.2, 0.5, 0.3]
    scores = np.arange(7, 0, -1)
    assert skrank.metric("gap", thresholds=g)(ranked, scores) == pytest.approx(0.5084, abs=5e-5)
    relevant = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    ap = skrank.metric("ap")(relevant, -np.arange(20))
    assert ap == pytest.approx((1 + 1 + 3 / 4 + 4 / 15) / 4)


# ---------------------------------------------------------------------- range and ideal


# ---------------------------------------------------------------------- GAP


@pytest.mark.parametrize("how", ["step", "interp"])
@pytest.mark.parametrize("thresholds", [None, (0.2, 0.5, 0.3)])
def test_gap_of_labels_between_grades(how, thresholds):
    rng = np.random.default_rng(1)
    data = lists(1, n_queries=20)
    judged = ~np.isnan(data.relevance)
    data.relevance[judged] = rng.choice([0, 0.4, 1, 1.5, 2.25, 2.999, 3], judged.sum())
    metric = skrank.metric("gap", thresholds=thresholds, labels=how, max_grade=3)
    expected = [
        ref.tie_expectation(
            lambda ranked, unretrieved: ref.gap(
                ranked, unretrieved=unretrieved, thresholds=thresholds, max_grade=3, labels=how
            ),
            scores,
            labels,
        )
        for scores, labels in data.queries()
    ]
    close(per_query(metric, data), np.array(expected, float))


def test_gap_default_scale_is_the_highest_label_rounded_up():
    labels, scores = [2.5, 0, 1], [1, 3, 2]
    for how in ("step", "interp"):
        free = skrank.metric("gap", labels=how)(labels, scores)
        assert free == skrank.metric("gap", labels=how, max_grade=3)(labels, scores)


@pytest.mark.parametrize("name", ["gap", "err"])
def test_scale_is_a_property_of_the_collection_not_of_the_query(name):
    metric = skrank.metric(name)
    alone = metric.per_query([1, 0, 1], [3, 2, 1])
    among = metric.per_query([1, 0, 1, 3], [3, 2, 1, 0], groups=[0, 0, 0, 1])
    fixed = skrank.metric(name, max_grade=3).per_query([1, 0, 1], [3, 2, 1])
    assert among[0] == fixed[0]
    if name == "err":
        assert among[0] != alone[0]


def test_ndcg_with_ten_thousand_distinct_labels():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(10_000) * 5, rng.normal(size=10_000)
    groups = np.repeat(np.arange(100), 100)
    values = skrank.metric("ndcg@10").per_query(labels, scores, groups=groups)
    expected = [
        ref.stable(
            lambda ranked, unretrieved: ref.ndcg(ranked, k=10), scores[rows], labels[rows].tolist()
        )
        for rows in np.arange(10_000).reshape(100, 100)[:5]
    ]
    close(values.to_numpy()[:5], expected)


def test_gap_with_too_many_distinct_labels_says_to_bin_them():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(200) * 5, rng.normal(size=200)
    with pytest.raises(ValueError, match=r"distinct labels .*bin the labels.*digitize"):
        skrank.metric("gap", labels="interp")(labels, scores)
    assert 0 < skrank.metric("gap", labels="step")(labels, scores) < 1  # they leave six classes
    assert 0 < skrank.metric("gap", labels="interp")(np.floor(labels * 10) / 10, scores) < 1


# ---------------------------------------------------------------------- invariance
