"""Values of the evaluation scripts of LETOR, by the recipes of the documentation."""

import math

import numpy as np

import skrank
from tests.helpers.catalogue import lists


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
