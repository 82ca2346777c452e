"""Values computed by hand at caps, roundings and boundaries, and by the scripts of LETOR."""

import math

import numpy as np
import pytest

import skrank
from skrank.informativeness import thresholds_from_clicks
from tests.helpers.catalogue import lists

NAN = float("nan")


def ranked(*blocks):
    """Labels of a list, best first, from (label, how often), and falling scores."""
    labels = np.repeat([label for label, _ in blocks], [times for _, times in blocks])
    return labels, np.arange(len(labels), 0.0, -1)


def test_bpref_10_counts_at_most_10_plus_r_documents():
    """Two relevant documents; 15 others are above the lower one, of which 10 + 2 count."""
    metric = skrank.metric("bpref(variant='10')")
    assert metric(*ranked((1, 1), (0, 15), (1, 1))) == pytest.approx((1 + (1 - 12 / 12)) / 2)
    assert metric(*ranked((1, 1), (0, 9), (1, 1))) == pytest.approx((1 + (1 - 9 / 12)) / 2)
    assert metric(*ranked((0, 40), (1, 1))) == 0


@pytest.mark.parametrize(
    ("k", "value"), [(2, 1 / 2 * 1 / 3), (3, 2 / 3 * 2 / 3), (5, 2 / 4 * 2 / 3)]
)
def test_the_precision_of_a_set_is_divided_by_the_documents_shown(k, value):
    """Four documents are retrieved, two of the three relevant ones among them."""
    labels, scores = [1, 0, 1, 0, 1], [4, 3, 2, 1, -np.inf]
    assert skrank.metric(f"set_ap@{k}")(labels, scores) == pytest.approx(value)


@pytest.mark.parametrize(
    ("recall", "relevant", "needed"),
    [(0.55, 20, 11), (0.07, 100, 7), (0.28, 25, 7), (0.1, 30, 3), (0.7, 30, 21), (0.35, 30, 11)],
)
def test_a_level_of_recall_needs_its_share_of_documents(recall, relevant, needed):
    """0.07 * 100 and 0.28 * 25 are above 7 in floating point."""
    metric = skrank.metric("iprec", recall=recall)
    assert metric(*ranked((1, needed), (0, 200), (1, relevant - needed))) == 1
    short = metric(*ranked((1, needed - 1), (0, 200), (1, relevant + 1 - needed)))
    assert short == pytest.approx(relevant / (relevant + 200))


def test_click_rates_that_fall_are_pooled_by_how_often_they_were_shown():
    """Grade 2 was clicked less often than grade 1, but rarely shown: pooled, both have 52 / 110."""
    found = thresholds_from_clicks(
        [0, 1, 2, 3], [0, 50, 2, 90], shown=[100, 100, 10, 100], method="rate"
    )
    pooled = 52 / 110
    assert found == pytest.approx((pooled / 0.9, 0, (0.9 - pooled) / 0.9))


# LETOR


def letor_dcg(labels):
    """Running sums of gains: undiscounted at ranks 1 and 2, by 1 / log2(rank) below."""
    total, sums = 0.0, []
    for rank, label in enumerate(labels, start=1):
        total += (2**label - 1) / math.log2(max(rank, 2))
        sums.append(total)
    return sums


def letor_mean_ndcg(ranked):
    """Mean over all ranks of a list; 0 where nothing is relevant."""
    best = letor_dcg(sorted(ranked, reverse=True))
    values = [a / b if b else 0.0 for a, b in zip(letor_dcg(ranked), best, strict=True)]
    return sum(values) / len(values)


def test_mean_ndcg_is_a_mean_of_cut_offs():
    data = lists(0, n_queries=30, longest=12, unjudged=0, missing=0, special=False)
    sizes = [len(scores) for scores, _ in data.queries()]
    names = [f"ndcg(discount=letor,empty=0)@{k}" for k in range(1, max(sizes) + 1)]
    report = skrank.evaluate(data.relevance, data.scores, groups=data.groups, metrics=names)
    found = report.per_query.sum(axis=1) / sizes
    expected = [
        letor_mean_ndcg([label for _, label in sorted(zip(scores, labels, strict=True))[::-1]])
        for scores, labels in data.queries()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert 0 in expected
    assert len(set(sizes)) > 5
