"""Values of metrics: ties, labels between grades, and cases by hand.

test_properties.py tests properties of all metrics.
"""

import math
import re

import numpy as np
import pytest

import skrank
from tests.helpers import reference as ref
from tests.helpers.catalogue import Lists, Point, lists
from tests.helpers.engine import close, per_query

NAN = float("nan")


# ---------------------------------------------------------------------- ties


def tied_lists():
    random = np.random.default_rng(0)
    for _ in range(150):
        n = random.integers(1, 6)
        labels = random.choice([0, 0, 1, 2, NAN], n)
        if (labels > 0).any():
            yield labels.tolist(), random.integers(0, 3, n).tolist()


@pytest.mark.parametrize(
    "name",
    [
        *(f"iprec(recall={recall})" for recall in (0, 0.5, 0.7, 1)),
        *("infap", "inst", "bpm@4", "bpm(T=2)"),
    ],
)
def test_ties_are_refused_where_they_change_the_value(name):
    point = Point(name)
    metric = point.metric.on_scale(2)
    taken = refused = coincidences = 0
    for labels, scores in tied_lists():
        orders = ref.tie_orders(scores, ref.from_array(labels))
        values = {round(point.value(ranked, max_grade=2), 12) for ranked in orders}
        try:
            found = metric(labels, scores, groups=["q"] * len(labels))
        except ValueError as error:
            if not re.search("query 'q'.*ties=", str(error)):
                raise
            refused += 1
            coincidences += len(values) == 1
        else:
            assert found == pytest.approx(values.pop(), abs=1e-11)
            assert not values
            taken += len(set(scores)) < len(scores)
    assert min(taken, refused) > {"iprec": 15, "infap": 10}.get(point.name, 5)
    # a user of BPM who stops inside a block may find the same mean after another number of ranks
    assert coincidences <= {"bpm": 2}.get(point.name, 0)


# ---------------------------------------------------------------------- labels between grades


@pytest.mark.parametrize("how", ["step", "interp"])
@pytest.mark.parametrize("thresholds", ["", ",thresholds=[0.2,0.5,0.3]"])
def test_gap_of_labels_between_grades(how, thresholds):
    """The highest grade is the highest label, rounded up."""
    rng = np.random.default_rng(1)
    data, name = lists(1, n_queries=20), f"gap(fractional={how}{thresholds})"
    judged = ~np.isnan(data.relevance)
    data.relevance[judged] = rng.choice([0, 0.4, 1, 1.5, 2.25, 2.999], judged.sum())
    close(per_query(skrank.metric(name), data), Point(name).expected(data))


def test_ndcg_with_ten_thousand_distinct_labels():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 100)
    data = Lists(rng.random(10_000) * 5, rng.normal(size=10_000), groups)
    close(per_query(skrank.metric("ndcg@10"), data), Point("ndcg@10").expected(data))


def test_too_many_distinct_labels_are_refused():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(200) * 5, rng.normal(size=200)
    with pytest.raises(ValueError, match="1200 distinct labels"):
        skrank.metric("bpref")(np.arange(1200.0) / 7, np.arange(1200.0), groups=np.zeros(1200))
    with pytest.raises(ValueError, match="distinct labels"):
        skrank.metric("gap", fractional="interp")(labels, scores)
    assert 0 < skrank.metric("gap", fractional="step")(labels, scores) < 1  # they leave six classes
    assert 0 < skrank.metric("gap", fractional="interp")(np.floor(labels * 10) / 10, scores) < 1


# ---------------------------------------------------------------------- by hand, and of papers


def ranked(*blocks):
    """Labels of a list, best first, from (label, how often), and falling scores."""
    labels = np.repeat([label for label, _ in blocks], [times for _, times in blocks])
    return labels, np.arange(len(labels), 0.0, -1)


NTCIR = [0, 1, 0, 0, 2, 1, 1, 1, 1], [5, 4, 3, 2, 1, *[-np.inf] * 4]  # the example of pyNTCIREVAL


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        # two relevant documents; 15 and 9 others are above the lower one, of which 10 + 2 count
        ("bpref(variant='10')", ranked((1, 1), (0, 15), (1, 1)), (1 + (1 - 12 / 12)) / 2),
        ("bpref(variant='10')", ranked((1, 1), (0, 9), (1, 1)), (1 + (1 - 9 / 12)) / 2),
        ("bpref(variant='10')", ranked((0, 40), (1, 1)), 0),
        # suprema in ROMIP's scale
        ("err(max_grade=3)", ranked((3, 200)), 7 * math.log(8 / 7)),
        ("pfound", ranked((3, 200)), 0.5 / (1 - 0.5 * 0.85)),
        ("pfound(p_rel=raw)", ranked((0.5, 2)), 0.7125),
        ("q", NTCIR, 0.14242),
        ("ap", NTCIR, 0.15),
        ("insq(T=1e-20)", ranked((1, 1), (0, 1)), 1),
        ("q(normalize=ideal)@3", NTCIR, 0.13333),
    ],
)
def test_values_by_hand_and_of_papers(name, data, expected):
    assert skrank.metric(name)(*data) == pytest.approx(expected, rel=0, abs=5e-6)


def test_gap_is_the_random_experiment_over_user_document_incidences():
    """The success probability of the experiment, by enumeration of all its outcomes."""
    labels, users = np.array([1, 0, 3, 2, 0, 1, 3]), {1: 0.2, 2: 0.5, 3: 0.3}
    pairs = [(grade, rank) for grade in users for rank, y in enumerate(labels, 1) if y >= grade]
    total = sum(users[grade] for grade, _ in pairs)
    hits = [users[grade] * np.mean(labels[:rank] >= grade) for grade, rank in pairs]
    value = skrank.metric("gap", thresholds=list(users.values()))(labels, -np.arange(7))
    assert value == pytest.approx(sum(hits) / total)
    assert value == pytest.approx(0.5084, abs=5e-5)


@pytest.mark.parametrize(
    ("recall", "relevant", "needed"),
    [(0.55, 20, 11), (0.07, 100, 7), (0.28, 25, 7), (0.1, 30, 3), (0.7, 30, 21), (0.35, 30, 11)],
)
def test_a_level_of_recall_needs_its_share_of_documents(recall, relevant, needed):
    """0.07 * 100 and 0.28 * 25 are above 7 in floating point."""
    metric = skrank.metric("iprec", recall=recall)
    assert metric(*ranked((1, needed), (0, 100), (1, relevant - needed))) == 1
    short = metric(*ranked((1, needed - 1), (0, 100), (1, relevant + 1 - needed)))
    assert short == pytest.approx(relevant / (relevant + 100))


def test_a_tiny_best_value_is_refused():
    tiny = skrank.metric("ndcg", gain={0: 0, 1: 1e-320})
    with pytest.raises(ValueError, match=r"gain|scale"):
        skrank.LambdaRank(tiny)([1, 0], [0.5, 0.7])
