"""Properties of every metric, such as equality with its literal definition."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank.metrics import registered
from skrank.testing import check_metric, make_lists
from tests.helpers.catalogue import CATALOGUE, trainable
from tests.helpers.engine import close, per_query, ranking

# a better document further up may be worth less
ODD = (
    "q", "rpref", "infap", "judged", "num_nonrel_judged_ret", "bpm",
    *(name for name in registered() if name.endswith("_residual")),
)  # fmt: skip
ALWAYS = {
    "values equal the definition",
    "the order of rows does not matter",
    "queries are measured alone",
    "copies are equal",
    "scorers measure it",
    "eval metrics of boosters measure it",
}


# of each metric the point with most parameters, for what does not depend on them
OF_EACH = {
    name: max((one for one in CATALOGUE if one.name == name), key=lambda one: len(one.parameters))
    for name in dict.fromkeys(point.name for point in CATALOGUE)
}
every_metric = pytest.mark.parametrize("point", OF_EACH.values(), ids=repr)


@pytest.mark.parametrize("point", [p for p in CATALOGUE if p not in OF_EACH.values()], ids=repr)
def test_values_equal_the_definition(point):
    """Where scores are tied, the mean over all orders of the tied documents, or the first.

    `check_metric` tests it of the points of `OF_EACH`.
    """
    for data in (make_lists(0), make_lists(1, levels=3)):
        close(per_query(point.settled, data), point.expected(data))


def test_attributes_of_the_class_say_what_holds():
    """`orderless`, and a range above 1; `check_metric` sees the former without a cut-off only."""
    for point in CATALOGUE:
        if point.metric.k is None:
            values = [point.value(ranked) for ranked in permutations([3, 0, 2, None, 1])]
            assert point.metric.orderless == (np.ptp(values) < 1e-9), point
        if point.metric.average != "sum":
            assert (point.value([3] * 9) > 1.001) == (point.metric.value_range[1] > 1), point


@every_metric
def test_every_property(point):
    held = set(
        check_metric(
            point.metric,
            point.value,
            monotone=point.name not in ODD and "retrieved" not in point.text,
        )
    )
    assert held >= ALWAYS
    assert ("ties count as the mean over their orders" in held) != point.metric.strict
    assert ("boosters train on it" in held) == trainable(point)
    assert "its name parses back" in held


KEYS = {
    "stable": lambda y: np.zeros(len(y)),
    "worst": lambda y: np.nan_to_num(y, nan=-1),
    "best": lambda y: -np.nan_to_num(y, nan=-1),
}


def untied(data, key):
    """Lists in which ties are broken by the ascending `key` of the labels, then by row order."""
    scores = data.scores.copy()
    for of_query in data.rows_of_queries():
        rows = of_query[np.argsort(key(data.relevance[of_query]), kind="stable")]
        order = ranking(data.scores[rows].tolist())
        scores[rows[order]] = -np.arange(float(len(order)))
    return data.with_scores(scores)


@every_metric
def test_orders_of_ties_and_of_scores(point):
    """Ties are ordered as `ties` says; increasing transforms of scores change nothing."""
    data, distinct = make_lists(1, levels=2, longest=9), make_lists(3, special=False)
    for ties, key in KEYS.items():
        metric = replace(point.metric, ties=ties)
        close(per_query(metric, data), per_query(metric, untied(data, key)))
        assert_array_equal(per_query(metric, distinct), per_query(point.settled, distinct))
    expected = per_query(point.settled, data)
    with np.errstate(invalid="ignore"):
        for moved in (5 * data.scores - 2, np.exp(data.scores) * 1e-30):
            scores = np.where(np.isfinite(data.scores), moved, data.scores)
            assert_array_equal(per_query(point.settled, data.with_scores(scores)), expected)


@every_metric
def test_storage_does_not_change_values(point):
    data = make_lists(17, levels=4, unjudged=0, missing=0, special=False, n_queries=12)
    expected = per_query(point.settled, data)
    frozen = [np.array(one) for one in (data.relevance, data.scores)]
    for one in frozen:
        one.flags.writeable = False
    for stored in (
        frozen, *([np.repeat(one, 3)[::3] for one in frozen], [one.tolist() for one in frozen]),
        *([one.astype(dtype) for one in frozen] for dtype in ("f4", "i1", "f2", ">f8", "O")),
    ):  # fmt: skip
        assert_array_equal(point.settled.per_query(*stored, groups=data.groups), expected)


@every_metric
def test_weights_and_empty_queries(point):
    """The mean is weighted; a query without relevant documents has the value that `empty` says."""
    data = make_lists(15, n_queries=20)
    weight_of = {query: float(number % 4) for number, query in enumerate(data.ids)}
    weights = np.array([weight_of[query] for query in data.groups])
    labels, scores, groups = data
    if point.metric.average == "macro":
        values = point.settled.per_query(labels, scores, groups=groups).dropna()
        expected = np.average(values, weights=[weight_of[query] for query in values.index])
        for factor in (1, 7):
            close(
                point.settled(labels, scores, groups=groups, sample_weight=factor * weights),
                expected,
            )
    if point.metric.needs_relevant:
        labels, scores, groups = [3, 0, 0, 0, np.nan], [1.0, 2, 1, 2, 1], list("aabbc")
        for empty, each in {"skip": np.nan, "nan": np.nan, 0: 0, 1: 1}.items():
            metric = replace(point.metric, empty=empty)
            assert_array_equal(metric.per_query(labels, scores, groups=groups)[1:], [each, each])
        with pytest.raises(ValueError, match="'b'"):
            replace(point.metric, empty="raise").per_query(labels, scores, groups=groups)


METRICS = [replace(point.settled, empty="nan") for point in OF_EACH.values()]


def values(metrics, data):
    labels, scores, groups = data
    report = skrank.evaluate(labels, scores, groups=groups, metrics=metrics, max_grade=3)
    return report.per_query.to_numpy()


def takes(metric, data):
    try:
        values([metric], data)
    except ValueError:  # labels that are not grades of the metric, or too many for it
        return False
    return True


@pytest.mark.parametrize("levels", [None, 7], ids=["apart", "tied"])
def test_values_do_not_depend_on_other_queries_to_the_last_bit(levels):
    """With many distinct labels, sums over documents use another algorithm."""
    rng = np.random.default_rng(1)
    data = make_lists(0, n_queries=8, longest=60, levels=levels, special=False)
    beside = rng.permutation(300) / 100, rng.normal(size=300), np.full(300, "beside")
    both = [np.concatenate(pair) for pair in zip(data, beside, strict=True)]
    of_many = [metric for metric in METRICS if takes(metric, both)]
    assert len(of_many) > len(METRICS) / 2
    for metrics, lists in ((METRICS, data), (of_many, both)):
        alone = [values(metrics, data.reordered(rows)) for rows in data.rows_of_queries()]
        assert_array_equal(values(metrics, lists)[: len(alone)], np.concatenate(alone))
