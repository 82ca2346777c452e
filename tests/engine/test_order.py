"""Documents have the order of a stable sort; with a cut-off, only the first ranks are sorted."""

from contextlib import nullcontext

import numpy as np
import pytest

import skrank
from skrank.extending import Judgments, Queries, Ranking, measure, plain_up_to
from tests.helpers.catalogue import CATALOGUE

SIZES = np.array([1, 2, 9, 31, 33, 64, 120, 130, 256, 257, 400])
GROUPS = np.repeat(np.arange(len(SIZES)), SIZES)
SCORES = {
    "apart": lambda x: x,
    "tied": lambda x: x.round(1),
    "blocks": lambda x: x.round(),
    "all tied": lambda x: np.zeros(len(x)),
    "near, far from 0": lambda x: 1e12 + x.round(2),
    "near each other, at both ends": lambda x: np.where(x > 0, 1.0, -1e9) + 1e-3 * x.round(1),
    "below single precision": lambda x: 1e-310 * x,
    "above single precision": lambda x: 1.5e308 * np.tanh(x),
    "outliers": lambda x: np.where(x > 2, 1e300, 1e-9 * x),
    "zeros of both signs": lambda x: np.where(x > 0, 0.0, -0.0),
    "rising": lambda x: 1e9 + 1e-6 * np.arange(len(x)),
    "falling": lambda x: -np.arange(len(x), dtype=np.float64),
    "some not retrieved": lambda x: np.where(x > -0.5, x, -np.inf),
    "none retrieved": lambda x: np.full(len(x), -np.inf),
}
every_kind = pytest.mark.parametrize("kind", SCORES)


def labels_and_scores(kind):
    rng = np.random.default_rng(0)
    scores = SCORES[kind](rng.normal(size=len(GROUPS)))
    return rng.integers(0, 4, len(GROUPS)), scores


def by_query(values):
    return np.split(values, np.cumsum(SIZES)[:-1])


@pytest.mark.parametrize("plain", [True, False])
@every_kind
def test_the_order_is_that_of_a_stable_sort(kind, plain):
    labels, scores = labels_and_scores(kind)
    with plain_up_to(len(scores)) if plain else nullcontext():
        ranking = Ranking(Judgments(labels, Queries.from_sizes(SIZES)), scores)
        assert len(ranking.order) == len(ranking.tied) == len(scores)
    order = np.concatenate([np.argsort(-query, kind="stable") for query in by_query(scores)])
    assert ranking.order.tolist() == order.tolist()
    for tied, query in zip(by_query(ranking.tied), by_query(scores), strict=True):
        best_first = -np.sort(-query)
        assert tied.tolist() == [0, *(best_first[1:] == best_first[:-1])]
    assert ranking.retrieved.tolist() == [np.sum(query > -np.inf) for query in by_query(scores)]


def test_what_loops_would_read_beyond_or_mix_up_is_refused():
    judgments, others = (Judgments([1, 0, 0, 1], Queries.from_sizes([2, 2])) for _ in range(2))
    for sizes in ([2, 0, 2], [3, -1, 2], [1.5, 2.5]):
        with pytest.raises(ValueError, match="sizes"):
            Queries.from_sizes(sizes)
    for retrieved in ([3, 1], [-1, 2], [2]):
        with pytest.raises(ValueError, match="retrieved"):
            Ranking.in_order(judgments, retrieved)
    ap, ranking = skrank.metric("ap"), Ranking(judgments, [1, 2, 3, 4])
    for bound, plan in ((others, ap), (judgments, ap.bind(others))):
        with pytest.raises(ValueError, match="judgments"):
            measure(bound, [ranking], [plan])
    for rankings, metrics in (([], [ap]), ([ranking], [])):
        with pytest.raises(ValueError, match="at least one"):
            measure(judgments, rankings, metrics)


# one metric of each name
CUT = list({point.name: point.settled for point in CATALOGUE if point.settled.k}.values())


@every_kind
def test_first_ranks_give_the_values_of_whole_lists(kind):
    """A metric of whole lists first has all documents sorted."""
    labels, scores = labels_and_scores(kind)
    with plain_up_to(-1):
        together = skrank.evaluate(labels, scores, groups=GROUPS, metrics=["ap", *CUT]).per_query
        for metric in CUT:
            alone = metric.on_scale(3).per_query(labels, scores, groups=GROUPS)
            np.testing.assert_array_equal(alone, together[str(metric)])
