"""Best lists of judgments, and what metrics learn about them."""

import numpy as np

import skrank
from skrank.extending import Judgments, Queries, measure
from tests.helpers.engine import Ranking


def ranking(ties):
    """Lists of 1 to 200 documents, some without a label, some not retrieved."""
    rng = np.random.default_rng(0)
    sizes = [1, 2, 9, 64, 200]
    n = sum(sizes)
    labels = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, n))
    labels[: sizes[0]] = 0
    scores = np.where(rng.random(n) < 0.1, -np.inf, rng.normal(size=n))
    queries = Queries.from_groups(np.repeat(np.arange(len(sizes)), sizes))
    judgments = Judgments(labels, queries)
    return judgments, Ranking(judgments, np.round(scores, 1) if ties else scores)


def test_best_lists_go_down_to_a_rank():
    judgments, _ = ranking(ties=False)
    for worth in (judgments.labels, -judgments.labels):
        best, head = judgments.best_lists(worth), judgments.best_lists(worth, 3)
        for q, start in enumerate(judgments.indptr[:-1]):
            codes = best.codes[start : judgments.indptr[q + 1]]
            assert worth[codes].tolist() == sorted(worth[codes], reverse=True)
            assert sorted(codes) == sorted(judgments.codes[start : judgments.indptr[q + 1]])
            first = head.codes[head.indptr[q] : head.indptr[q + 1]]
            assert first.tolist() == codes[:3].tolist()
            assert head.retrieved[q] == len(first)


def test_metrics_get_numbers_of_documents(monkeypatch):
    """Of four documents, two are retrieved, and one of these and one of the others are judged."""
    judgments = Judgments([np.nan, 1, 0, np.nan], Queries.single(4))
    one, seen = Ranking(judgments, [3, -np.inf, 1, -np.inf]), []
    values = skrank.metrics.AP.values

    def noted(metric, sums, shown, relevant, total):
        seen.append((*shown, *relevant, *total))
        return values(metric, sums, shown, relevant, total)

    monkeypatch.setattr(skrank.metrics.AP, "values", noted)
    for condensed in (False, True):
        measure(judgments, [one], [skrank.metric("ap@3", condensed=condensed)])
    assert seen == [(2, 1, 3), (1, 1, 2)]
