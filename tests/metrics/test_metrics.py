"""Values of metrics: the literal definition, ties, and what must not change them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank._engine import threads as _parallel
from skrank._engine.judgments import Judgments, judge
from skrank._engine.ranking import Ranking
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, STRICT, Lists, every_point, lists, literal_values

SEEDS = (0, 1, 2)


def close(actual, expected, tolerance=1e-12):
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def per_query(metric, data):
    return metric.per_query(data.relevance, data.scores, groups=data.groups).to_numpy()


def permuted(data, seed=0):
    return data.reordered(np.random.default_rng(seed).permutation(len(data.groups)))


# ---------------------------------------------------------------------- literal definition


@every_point
def test_value_is_the_literal_definition(point):
    for seed in SEEDS:
        for data in (lists(seed), lists(seed, scattered=False, n_queries=20, longest=12)):
            close(per_query(point.settled, data), point.expected(data))


@every_point
def test_stable_ties_keep_row_order(point):
    metric = replace(point.metric, ties="stable")
    for seed in SEEDS:
        data = lists(seed, levels=3, longest=9)
        close(per_query(metric, data), literal_values(ref.stable, point, data))


@every_point
def test_average_ties_are_the_mean_over_all_orders(point):
    for seed in SEEDS:
        data = lists(seed, levels=2, longest=5)
        close(per_query(point.settled, data), point.expected(data))


@pytest.mark.parametrize("name", STRICT)
def test_ties_without_a_closed_form_are_refused(name):
    metric = skrank.metric(name)
    groups = ["a", "a", "b", "b", "b"]
    with pytest.raises(ValueError, match=r"no closed form.*break the ties.*ties=\"stable\""):
        metric([1, 0, 1, 0, 2], [2, 1, 1, 1, 1], groups=groups)
    for ties in ("stable", "worst", "best"):
        assert 0 < replace(metric, ties=ties)([1, 0, 1, 0, 2], [2, 1, 1, 1, 1], groups=groups) <= 1
    assert metric([1, 0, 0, 1, 1], [2, 1, 1, 3, 3], groups=groups[2:3] * 5) > 0  # equal labels tie


def by_label(metric, scores, labels, which):
    """Tied documents in order of label, an unjudged one below label 0."""
    sign = 1 if which == "worst" else -1
    worth = [-1 if label is None else label for label in labels]
    rows = sorted(ref.ranking(scores), key=lambda row: (-scores[row], sign * worth[row]))
    return metric([labels[row] for row in rows], unretrieved=ref.missing(scores, labels))


@every_point
@pytest.mark.parametrize("ties", ["worst", "best"])
def test_worst_and_best_ties_order_by_label(point, ties):
    metric = replace(point.metric, ties=ties)
    for seed in SEEDS:
        data = lists(seed, levels=2, longest=9)
        close(per_query(metric, data), literal_values(by_label, point, data, ties))


@every_point
@pytest.mark.parametrize("ties", ["worst", "best"])
def test_worst_and_best_ties_are_bounds(point, ties):
    if point.name in ("q", "rpref", "infap", "rbp_residual", "num_nonrel_judged_ret"):
        pytest.skip("a better document further up may be worth less")
    metric = replace(point.metric, ties=ties)
    how = (ties, metric.greater_is_better)
    data = lists(5, levels=2, longest=5)
    close(per_query(metric, data), literal_values(ref.tie_bound, point, data, *how))


@every_point
def test_every_tie_policy_agrees_without_ties(point):
    data = lists(3, special=False)
    values = [
        per_query(replace(point.metric, ties=ties), data)
        for ties in ("average", "stable", "worst", "best")
    ]
    for value in values[1:]:
        assert_array_equal(value, values[0])


def test_values_from_the_papers():
    ranked, g = [1, 0, 3, 2, 0, 1, 3], [0.2, 0.5, 0.3]
    scores = np.arange(7, 0, -1)
    assert skrank.metric("gap", thresholds=g)(ranked, scores) == pytest.approx(0.5084, abs=5e-5)
    relevant = [1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    ap = skrank.metric("ap")(relevant, -np.arange(20))
    assert ap == pytest.approx((1 + 1 + 3 / 4 + 4 / 15) / 4)


# ---------------------------------------------------------------------- range and ideal


def orders(labels):
    return np.array(sorted(set(itertools.permutations(labels)), reverse=True))


@every_point
def test_ideal_list_scores_the_maximum(point):
    metric = point.metric
    for labels in ([3, 2, 1, 0, 0], [3, 3, 0, 0], [2, 1, 1, 1, 0], [3, 0, 0, 0, 0, 0]):
        every = orders(labels)
        groups = np.repeat(np.arange(len(every)), len(labels))
        scores = np.tile(-np.arange(len(labels)), len(every))
        metric_on = replace(metric, max_grade=metric.max_grade or 3) if scaled(metric) else metric
        values = metric_on.per_query(every.ravel(), scores, groups=groups)
        best = values.max() if metric.greater_is_better else values.min()
        if not values.isna().all() and point.name != "infap":
            assert values[0] == pytest.approx(best, abs=1e-12)
        if normalised(metric) and not values.isna().all():
            assert best == pytest.approx(1, abs=1e-12)


def scaled(metric):
    fixed = getattr(metric, "thresholds", None) or getattr(metric, "rel", None)
    return hasattr(metric, "max_grade") and fixed is None


def normalised(metric):
    if isinstance(metric, skrank.metrics.Mixture):
        return all(normalised(one) for _, one in metric.parts)
    cut_by_all = getattr(metric, "normalize", "ideal") == "all" and metric.k is not None
    first_is_left_out = getattr(metric, "variant", None) == "relative"
    smoothed = metric.names[0] == "infap"
    return metric.ideal_cutoff != 0 and not (cut_by_all or first_is_left_out or smoothed)


@every_point
def test_range(point):
    for seed in SEEDS:
        values = per_query(point.settled, lists(seed, levels=4, n_queries=50))
        values = values[~np.isnan(values)]
        low, high = map(float, point.metric.value_range.strip("[]()").split(","))
        assert (values >= low).all()
        assert (values <= high + 1e-12).all()


@every_point
def test_precision_does_not_depend_on_the_number_of_queries(point):
    """Prefix sums over a whole data set would lose digits."""
    data = lists(4, levels=4, n_queries=5)
    alone = per_query(point.settled, data)
    many = 500
    together = Lists(
        np.tile(data.relevance, many),
        np.tile(data.scores, many),
        pd.factorize(
            np.repeat(np.arange(many), len(data.groups)).astype(str) + np.tile(data.groups, many)
        )[0],
    )
    close(per_query(point.settled, together), np.tile(alone, many))


# ---------------------------------------------------------------------- GAP


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("normalize", ["all", "ideal"])
@pytest.mark.parametrize("grade", [1, 2, 3])
def test_gap_of_a_point_mass_is_average_precision(grade, normalize, k):
    data = lists(7, levels=4, n_queries=30)
    thresholds = [float(j == grade) for j in (1, 2, 3)]
    gap = skrank.metric("gap", thresholds=thresholds, normalize=normalize, k=k)
    ap = skrank.metric("ap", rel=grade, normalize=normalize, k=k)
    close(per_query(gap, data), per_query(ap, data))


@pytest.mark.parametrize("k", [None, 3])
def test_gap_is_a_mixture_of_average_precisions(k):
    data = lists(8, levels=4, n_queries=30, special=False)
    g = np.array([0.2, 0.5, 0.3])
    counts = np.array(
        [
            [ref.count_relevant(labels, j) if k is None else min(k, ref.count_relevant(labels, j))
             for j in (1, 2, 3)]
            for _, labels in data.queries()
        ]
    )  # fmt: skip
    aps = np.column_stack(
        [per_query(skrank.metric("ap", rel=j, normalize="ideal", k=k), data) for j in (1, 2, 3)]
    )
    weights = g * counts
    with np.errstate(invalid="ignore"):
        expected = (weights * np.nan_to_num(aps)).sum(1) / weights.sum(1)
    gap = skrank.metric("gap", thresholds=g.tolist(), normalize="ideal", k=k)
    close(per_query(gap, data), expected)


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


@every_point
def test_increasing_transforms_change_nothing(point):
    data = lists(11, levels=5)
    expected = per_query(point.settled, data)
    for transform in (lambda s: s**3, lambda s: 5 * s - 2, lambda s: np.exp(s) * 1e-30):
        moved = np.where(np.isfinite(data.scores), transform(data.scores), data.scores)
        changed = Lists(data.relevance, moved, data.groups)
        assert_array_equal(per_query(point.settled, changed), expected)


@every_point
def test_order_of_rows_and_queries_changes_nothing(point):
    strict = point.name in STRICT
    data = lists(12, levels=None if strict else 3, special=not strict)
    expected = point.metric.per_query(data.relevance, data.scores, groups=data.groups)
    for seed in SEEDS:
        moved = permuted(data, seed)
        values = point.metric.per_query(moved.relevance, moved.scores, groups=moved.groups)
        assert list(values.index) == moved.ids
        close(values[expected.index], expected)


def test_scattered_rows_keep_their_order_inside_a_query():
    data = lists(13, levels=2, scattered=False)
    metric = skrank.metric("gap", ties="stable")
    expected = metric.per_query(data.relevance, data.scores, groups=data.groups)
    places = np.random.default_rng(0).random(len(data.groups))
    for query in data.ids:  # sorted places inside a query, random ones across queries
        rows = data.groups == query
        places[rows] = np.sort(places[rows])
    moved = data.reordered(np.argsort(places))
    values = metric.per_query(moved.relevance, moved.scores, groups=moved.groups)
    assert_array_equal(values[expected.index], expected)


@every_point
def test_a_query_does_not_see_the_others(point):
    data = lists(14, levels=3)
    metric = point.settled
    together = per_query(metric, data)
    if scaled(metric):
        metric = replace(metric, max_grade=metric.max_grade or data.max_grade)
    for query, value in zip(data.ids, together, strict=True):
        rows = data.groups == query
        alone = metric.per_query(data.relevance[rows], data.scores[rows])
        close(alone.to_numpy(), [value])


@every_point
def test_a_constant_scorer_gains_nothing_over_random_orders(point):
    if point.name in STRICT:
        pytest.skip("ties are refused")
    labels = np.array([2, 0, 1, 0, 3])
    every = np.array(list(itertools.permutations(range(5))))
    groups = np.repeat(np.arange(len(every)), 5)
    metric = replace(point.metric, average="macro")
    random = metric(np.tile(labels, len(every)), every.ravel(), groups=groups)
    assert metric(labels, np.zeros(5)) == pytest.approx(random, abs=1e-12)


# ---------------------------------------------------------------------- empty queries

RELEVANCE = [3, 0, 0, 0, np.nan]
SCORES = [1, 2, 1, 2, 1]
GROUPS = ["a", "a", "b", "b", "c"]


@every_point
def test_queries_without_relevant_documents(point):
    metric = point.metric
    if not metric.needs_relevant:
        pytest.skip("defined for every query")
    value = metric(RELEVANCE[:2], SCORES[:2])
    expected = {
        "skip": (np.nan, value),
        "nan": (np.nan, np.nan),
        0: (0, value / 3),
        1: (1, (value + 2) / 3),
    }
    for empty, (each, mean) in expected.items():
        chosen = replace(metric, empty=empty)
        values = chosen.per_query(RELEVANCE, SCORES, groups=GROUPS)
        assert_array_equal(values[["b", "c"]], [each, each])
        assert chosen(RELEVANCE, SCORES, groups=GROUPS) == pytest.approx(mean, nan_ok=True)
    with pytest.raises(ValueError, match=r"query 'b' has no relevant document.*empty="):
        replace(metric, empty="raise")(RELEVANCE, SCORES, groups=GROUPS)


@pytest.mark.parametrize("name", ["judged", "rbp_residual"])
def test_metrics_of_every_query_know_no_empty_one(name):
    for empty in ("skip", "nan", 0, 1, "raise"):
        values = skrank.metric(name, empty=empty).per_query(RELEVANCE, SCORES, groups=GROUPS)
        assert_array_equal(values, skrank.metric(name).per_query(RELEVANCE, SCORES, groups=GROUPS))
        assert values.notna().all()


def test_a_metric_that_pays_for_nothing_in_a_query_is_empty_there():
    labels, scores = [1, 1, 2, 0], [4, 3, 2, 1]
    groups = ["low", "low", "high", "high"]
    for name in ("gap(thresholds=[0,1])", "ap(rel=2)", "ndcg(gain=[0,0,1])", "rr(rel=2)"):
        values = skrank.metric(name).per_query(labels, scores, groups=groups)
        assert math.isnan(values["low"])
        assert values["high"] == 1


def test_no_query_counts():
    for metric in ("gap", "err", "precision@1"):
        with pytest.warns(RuntimeWarning, match="no query has a relevant document"):
            assert math.isnan(skrank.metric(metric)([0, np.nan], [1, 2]))
        assert skrank.metric(metric, empty=0)([0, np.nan], [1, 2]) == 0


def test_relevant_documents_that_were_not_retrieved_are_misses():
    for metric in ("gap", "ap", "ndcg", "rr", "err", "dcg", "precision@3"):
        assert skrank.metric(metric)([2, 1], [-np.inf, -np.inf]) == 0
    assert skrank.metric("ap")([1, 1, 0], [1, -np.inf, 0]) == 0.5
    assert skrank.metric("gap@1", normalize="ideal")([1, 2, 0], [1, -np.inf, 0]) == 0.5


# ---------------------------------------------------------------------- weights, index, name


def test_weights_weigh_queries():
    data = lists(15, n_queries=20)
    weight_of = {query: i % 4 for i, query in enumerate(data.ids)}
    weights = np.array([weight_of[query] for query in data.groups], float)
    values = skrank.metric("gap").per_query(data.relevance, data.scores, groups=data.groups)
    kept = values.dropna()
    expected = np.average(kept, weights=[weight_of[query] for query in kept.index])
    actual = skrank.metric("gap")(
        data.relevance, data.scores, groups=data.groups, sample_weight=weights
    )
    assert actual == pytest.approx(expected, abs=1e-15)
    same = skrank.metric("gap")(
        data.relevance, data.scores, groups=data.groups, sample_weight=7 * weights
    )
    assert same == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["gap", "precision@3", "err"])
def test_geometric_mean(name, weighted):
    data = lists(17, levels=4, n_queries=20)
    weights = np.array([1.0 + len(query) % 3 if weighted else 1.0 for query in data.groups])
    values = per_query(skrank.metric(name), data)
    first = [np.flatnonzero(data.groups == query)[0] for query in data.ids]
    kept = ~np.isnan(values)
    logs = np.log(np.maximum(values, 1e-5))[kept]
    expected = np.exp(np.average(logs, weights=weights[first][kept]))
    metric = skrank.metric(name, average="geometric")
    mean = metric(data.relevance, data.scores, groups=data.groups, sample_weight=weights)
    assert mean == pytest.approx(expected, rel=1e-12)
    assert_array_equal(per_query(metric, data), values)


@pytest.mark.parametrize(
    "name", ["precision", "precision@3", "recall@3", "f1@3", "accuracy@2", "error@2"]
)
def test_micro_average_counts_documents_of_all_queries_together(name):
    data = lists(18, n_queries=20, special=False, missing=0.2)
    metric = skrank.metric(name, average="micro")
    hits = shown = relevant = total = 0
    for scores, labels in data.queries():
        ranked = [labels[row] for row in ref.ranking(scores)]
        lost = ref.missing(scores, labels)
        if not ref.count_relevant(ranked + lost, 1):
            continue
        top = ref.top(ranked, metric.k)
        hits += ref.count_relevant(top, 1)
        shown += metric.k if metric.k and not name.startswith(("accuracy", "error")) else len(top)
        relevant += ref.count_relevant(ranked + lost, 1)
        total += len(ranked) + len(lost)
    right = 2 * hits + total - relevant - shown
    expected = {
        "precision": hits / shown,
        "recall": hits / relevant,
        "f1": 2 * hits / (shown + relevant),
        "accuracy": right / total,
        "error": 1 - right / total,
    }[name.split("@")[0]]
    assert metric(data.relevance, data.scores, groups=data.groups) == pytest.approx(expected)


def test_only_weightless_queries_have_relevant_documents():
    arguments = {"groups": ["a", "b"], "sample_weight": [0, 1]}
    with pytest.warns(RuntimeWarning, match="of weight above 0"):
        assert math.isnan(skrank.metric("gap")([1, 0], [1, 1], **arguments))


def test_per_query_is_indexed_by_query_in_order_of_first_row():
    values = skrank.metric("ndcg@2", gain="linear").per_query(
        [1, 0, 2, 1], [1, 2, 3, 4], groups=["b", "a", "b", "a"]
    )
    assert list(values.index) == ["b", "a"]
    assert values.index.name == "qid"
    assert values.name == "ndcg(gain=linear)@2"
    assert values.dtype == float


def test_mean_is_the_mean_of_the_queries():
    data = lists(16, levels=4, n_queries=30)
    for point in CATALOGUE:
        values = point.settled.per_query(data.relevance, data.scores, groups=data.groups)
        mean = point.settled(data.relevance, data.scores, groups=data.groups)
        assert isinstance(mean, float)
        expected = values.sum() if point.metric.average == "sum" else values.mean()
        assert mean == pytest.approx(expected, abs=1e-15, rel=1e-14)


def test_without_groups_all_rows_are_one_list():
    assert skrank.metric("ap")([0, 1], [2, 1]) == 0.5
    assert skrank.metric("ap").per_query([0, 1], [2, 1]).to_dict() == {0: 0.5}


# ---------------------------------------------------------------------- forms of input


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def polars(array):
    return pytest.importorskip("polars").Series(array)


FORMS = {
    "int64": lambda a: a.astype(np.int64),
    "int32": lambda a: a.astype(np.int32),
    "int8": lambda a: a.astype(np.int8),
    "float32": lambda a: a.astype(np.float32),
    "float16": lambda a: a.astype(np.float16),
    "big endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
    "read-only": read_only,
    "strided": lambda a: np.repeat(a, 3)[::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "column": lambda a: a[:, None],
    "fortran column": lambda a: np.asfortranarray(np.column_stack([a, a]))[:, :1],
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "series": lambda a: pd.Series(a, index=np.arange(len(a))[::-1]),
    "nullable": lambda a: pd.Series(a).astype("Int64"),
    "polars": polars,
}
NAMES = ("gap", "gap@2", "ap", "ndcg@3", "err", "rr", "precision@2")


@pytest.mark.parametrize("form", FORMS)
def test_form_of_labels_and_scores_changes_nothing(form):
    data = lists(17, levels=4, unjudged=0, missing=0, special=False, n_queries=12)
    make = FORMS[form]
    for name in NAMES:
        metric = skrank.metric(name)
        expected = metric.per_query(data.relevance, data.scores, groups=data.groups)
        actual = metric.per_query(make(data.relevance), make(data.scores), groups=data.groups)
        pd.testing.assert_series_equal(actual, expected, check_exact=True)


@pytest.mark.parametrize("form", ["float32", "read-only", "strided", "list", "series", "polars"])
def test_unjudged_and_unretrieved_in_every_form(form):
    data = lists(18, levels=4)
    make = FORMS[form]
    expected = per_query(skrank.metric("gap"), data)
    changed = Lists(make(data.relevance), make(data.scores), data.groups)
    assert_array_equal(per_query(skrank.metric("gap"), changed), expected)


@pytest.mark.parametrize("name", NAMES)
def test_boolean_labels(name):
    rng = np.random.default_rng(0)
    labels, scores, groups = rng.random(60) < 0.4, rng.random(60), np.repeat(np.arange(6), 10)
    for given in (labels, labels.tolist(), pd.Series(labels), read_only(labels)):
        actual = skrank.metric(name)(given, scores, groups=groups)
        assert actual == skrank.metric(name)(labels.astype(float), scores, groups=groups)


def test_missing_values_of_pandas_and_polars_are_unjudged():
    pl = pytest.importorskip("polars")
    scores = [3, 2, 1]
    for labels in (
        pd.Series([None, 1, 0], dtype="Float64"),
        pd.Series([None, 1, 0], dtype="Int64"),
        pl.Series([None, 1, 0]),
        [None, 1, 0],
    ):
        assert skrank.metric("ap")(labels, scores) == 0.5
        assert skrank.metric("ap", condensed=True)(labels, scores) == 1


def test_inputs_are_not_changed():
    data = lists(19, levels=3)
    copies = [array.copy() for array in data]
    for point in CATALOGUE:
        per_query(point.settled, data)
    for array, copy in zip(data, copies, strict=True):
        assert_array_equal(array, copy)


# ---------------------------------------------------------------------- threads, long lists


@pytest.mark.parametrize("name", ["gap", "gap(condensed=True)@5", "ndcg@10", "err", "ap", "rr"])
def test_number_of_threads_changes_no_bit(name):
    data = big()
    for ties in ("average", "stable", "worst"):
        metric = skrank.metric(name, ties=ties)
        values = []
        for n_threads in (1, 2, 5):
            with _parallel.limit_threads(n_threads):
                values.append(per_query(metric, data))
        assert_array_equal(values[1], values[0])
        assert_array_equal(values[2], values[0])
    assert _parallel._pool.n_threads >= 5  # they were used


def big(n_queries=1200, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 200, n_queries)
    n = int(sizes.sum())
    assert n > 5 * _parallel._ROWS_WORTH_A_THREAD
    relevance = rng.choice([0.0, 0, 0, 1, 2, 3, np.nan], n)
    return Lists(relevance, rng.normal(size=n).round(1), np.repeat(np.arange(n_queries), sizes))


def test_threads_reset_and_nest():
    before = _parallel.thread_count()
    with _parallel.limit_threads(3):
        with _parallel.limit_threads(1):
            assert _parallel.thread_count() == 1
        assert _parallel.thread_count() == 3
    assert _parallel.thread_count() == before


def test_errors_in_threads_are_raised():
    data = big()
    data.scores[70_000] = np.nan
    with _parallel.limit_threads(4), pytest.raises(ValueError, match="score of row 70000 is nan"):
        per_query(skrank.metric("gap"), data)


@pytest.mark.parametrize("levels", [None, 1000, 7, 1])
def test_order_of_lists_of_any_length(levels):
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 15, 16, 17, 31, 33, 255, 256, 257, 300, 511, 512, 513, 1000, 4097]
    n = sum(sizes)
    scores = rng.normal(size=n) if levels is None else rng.integers(0, levels, n) * 1.0
    scores[rng.random(n) < 0.1] = -np.inf
    groups = np.repeat(np.arange(len(sizes)), sizes)
    ranking = Ranking(judge(np.zeros(n), groups), scores)
    start = 0
    for query, size in enumerate(sizes):
        rows = slice(start, start + size)
        mine = scores[rows]
        order = np.argsort(-mine, kind="stable")
        assert_array_equal(ranking.order[rows], order)
        assert_array_equal(ranking.tied[rows], np.r_[0, mine[order][1:] == mine[order][:-1]])
        assert ranking.retrieved[query] == np.isfinite(mine).sum()
        start += size


@pytest.mark.parametrize("pattern", ["ascending", "descending", "constant", "sawtooth"])
def test_order_of_lists_that_are_nearly_sorted(pattern):
    n = 777
    scores = {
        "ascending": np.arange(n) * 1.0,
        "descending": -np.arange(n) * 1.0,
        "constant": np.zeros(n),
        "sawtooth": np.arange(n) % 16 * 1.0,
    }[pattern]
    order = Ranking(judge(np.zeros(n)), scores).order
    assert_array_equal(order, np.argsort(-scores, kind="stable"))


LONG = [point for point in CATALOGUE if point.text in ("gap", "gap@3", "ap", "ndcg", "err", "rr")]


@pytest.mark.parametrize("point", LONG, ids=repr)
@pytest.mark.parametrize("n", [256, 300])
def test_long_lists_with_ties(point, n):
    rng = np.random.default_rng(n)
    labels = rng.choice([0, 0, 0, 1, 2, 3], n).astype(float)
    scores = rng.permutation(n).astype(float)
    labels[:6] = 3, 0, 1, 0, 2, 0
    scores[:3], scores[3:5] = n - 2.5, n / 2 + 0.5
    data = Lists(labels, scores, np.full(n, "q", object))
    close(per_query(point.metric, data), literal_values(ref.tie_expectation, point, data))


def test_one_long_block_of_ties_by_formula():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 4, 5000)
    discount = 1 / np.log2(np.arange(2, 5002))
    expected = (2.0**labels - 1).mean() * discount.sum()
    value = skrank.metric("dcg")(labels, np.zeros(5000))
    assert value == pytest.approx(expected, rel=1e-12)
    relevant, n = (labels > 0).sum(), 5000
    ranks = np.arange(1, n + 1)
    chance = (1 + (ranks - 1) * (relevant - 1) / (n - 1)) / ranks
    ap = skrank.metric("ap")(labels, np.zeros(n))
    assert ap == pytest.approx(chance.sum() / n, rel=1e-12)


# ---------------------------------------------------------------------- labels as codes


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], [2, 2], [np.nan, 3, 0], [0.5, 2, np.nan], [40, 0, np.nan, 1], [np.nan], [31, 32]],
)
def test_codes_stand_for_labels(labels):
    judgments = judge(labels)
    decoded = judgments.labels[judgments.codes]
    given = np.array(labels, float)
    assert_array_equal(decoded, np.nan_to_num(given))
    unjudged = np.zeros(len(given), bool)
    if judgments.unjudged is not None:
        unjudged = judgments.codes == judgments.unjudged
    assert_array_equal(unjudged, np.isnan(given))
    assert judgments.judged_share == pytest.approx(np.mean(~np.isnan(given)))
    assert judgments.counts.sum() == len(given)
    assert judgments.max_grade == max(1, math.ceil(np.nanmax(np.append(given, 0))))


def test_more_than_a_byte_of_labels():
    labels = np.arange(1000) / 100
    judgments = judge(labels)
    assert_array_equal(judgments.labels[judgments.codes], labels)
    assert isinstance(judgments, Judgments)
