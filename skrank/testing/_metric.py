"""check_metric, and the properties of the values of a metric."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from skrank import _validation as check
from skrank._engine.plan import bounds_of
from skrank.metrics import Metric, metric
from skrank.testing._case import SEEDS, Case, assume, close, hold, per_query, run
from skrank.testing._lists import ScoredLists, make_lists
from skrank.testing._orders import ranking
from skrank.testing._training import TRAINING
from skrank.testing._use import USE


def values_equal_the_definition(case: Case) -> None:
    """Values equal the literal definition, averaged over all orders of tied documents."""
    for seed in SEEDS:
        for data in (
            make_lists(seed),
            make_lists(seed, scattered=False, n_queries=20, longest=12),
            make_lists(seed, levels=2, longest=5),
        ):
            close(per_query(case.settled, data), case.expected(data))


def ties_are_averaged(case: Case) -> None:
    """The value of tied scores is the mean over all orders of the tied documents."""
    assume(not case.metric.strict, "it refuses ties")
    averaged = replace(case.metric, ties="average")
    for seed in SEEDS:
        data = make_lists(seed, levels=2, longest=5)
        orders, originals = data.every_order()
        sums = np.bincount(originals, per_query(averaged, orders))
        close(per_query(averaged, data), sums / np.bincount(originals))


def _untied(data: ScoredLists, key: Callable[[np.ndarray], np.ndarray]) -> ScoredLists:
    """Lists in which ties are broken by the ascending `key` of the labels, then by row order."""
    scores = data.scores.copy()
    for query in data.ids:
        rows = np.flatnonzero(data.groups == query)
        rows = rows[np.argsort(key(data.relevance[rows]), kind="stable")]
        order = ranking(data.scores[rows].tolist())
        scores[rows[order]] = -np.arange(float(len(order)))
    return data.with_scores(scores)


def ties_are_ordered_as_ties_says(case: Case) -> None:
    """Ties are in row order ("stable"), or in ascending ("worst") or descending label order."""
    keys = {
        "stable": lambda y: np.zeros(len(y)),
        "worst": lambda y: np.nan_to_num(y, nan=-1),
        "best": lambda y: -np.nan_to_num(y, nan=-1),
    }
    for seed in SEEDS:
        data = make_lists(seed, levels=2, longest=9)
        for ties, key in keys.items():
            one = replace(case.metric, ties=ties)
            close(per_query(one, data), per_query(one, _untied(data, key)))
    untied = make_lists(3, special=False)
    values = per_query(replace(case.metric, ties="average"), untied)
    for ties in keys:
        assert_array_equal(per_query(replace(case.metric, ties=ties), untied), values)


def values_are_in_range(case: Case) -> None:
    """Values lie in `value_range`."""
    low, high = bounds_of(case.metric)
    for seed in SEEDS:
        values = per_query(case.settled, make_lists(seed, levels=4, n_queries=50))
        values = values[~np.isnan(values)]
        outside = values[(values < low - 1e-12) | (values > high + 1e-12)]
        hold(outside.size == 0, f"{outside[:1]} is not in {case.metric.value_range}")


def ideal_lists_are_best(case: Case) -> None:
    """The order by label has the highest value of all orders."""
    assume(case.monotone, "moving a better document up may lower the value")
    on_scale = case.metric.on_scale(3)
    sign = 1 if on_scale.greater_is_better else -1
    for labels in ([3, 2, 1, 0, 0], [3, 3, 0, 0], [2, 1, 1, 1, 0], [3, 0, 0, 0, 0, 0]):
        every = np.array(sorted(set(itertools.permutations(labels)), reverse=True))
        groups = np.repeat(np.arange(len(every)), len(labels))
        scores = np.tile(-np.arange(float(len(labels))), len(every))
        values = sign * per_query(on_scale, ScoredLists(every.ravel(), scores, groups))
        if not np.isnan(values).all():
            close(values[0], values.max())


def only_the_order_of_scores_counts(case: Case) -> None:
    """Increasing transforms of scores leave values unchanged."""
    data = make_lists(11, levels=5)
    expected = per_query(case.settled, data)
    with np.errstate(invalid="ignore"):
        for moved in (data.scores**3, 5 * data.scores - 2, np.exp(data.scores) * 1e-30):
            scores = np.where(np.isfinite(data.scores), moved, data.scores)
            assert_array_equal(per_query(case.settled, data.with_scores(scores)), expected)


def order_of_rows_does_not_matter(case: Case) -> None:
    """Rows and queries may come in any order."""
    strict = case.metric.strict
    data = make_lists(12, levels=None if strict else 3, special=not strict)
    expected = case.metric.per_query(data.relevance, data.scores, groups=data.groups)
    for seed in SEEDS:
        moved = data.reordered(np.random.default_rng(seed).permutation(len(data.groups)))
        values = case.metric.per_query(moved.relevance, moved.scores, groups=moved.groups)
        hold(list(values.index) == moved.ids, "values are not in the order of the queries")
        close(values[expected.index], expected)


def queries_are_measured_alone(case: Case) -> None:
    """The value of a query does not depend on other queries, such as 500 copies of all queries."""
    data = make_lists(14, levels=3)
    on_scale = case.settled.on_scale(data.max_grade)
    together = per_query(on_scale, data)
    for query, value in zip(data.ids, together, strict=True):
        rows = data.groups == query
        close(on_scale.per_query(data.relevance[rows], data.scores[rows]), [value])
    names = np.unique(data.groups, return_inverse=True)[1]
    copies = (np.arange(500)[:, None] * (names.max() + 1) + names).ravel()
    many = ScoredLists(np.tile(data.relevance, 500), np.tile(data.scores, 500), copies)
    close(per_query(on_scale, many), np.tile(together, 500))


def weights_weigh_queries(case: Case) -> None:
    """The mean is weighted by the weights of queries; a common factor cancels."""
    assume(case.metric.average == "macro", "the mean is not arithmetic")
    data = make_lists(15, n_queries=20)
    weight_of = {query: float(number % 4) for number, query in enumerate(data.ids)}
    weights = np.array([weight_of[query] for query in data.groups])
    values = case.settled.per_query(data.relevance, data.scores, groups=data.groups).dropna()
    expected = np.average(values, weights=[weight_of[query] for query in values.index])
    for factor in (1, 7):
        actual = case.settled(
            data.relevance, data.scores, groups=data.groups, sample_weight=factor * weights
        )
        close(actual, expected)


def empty_queries_are_what_empty_says(case: Case) -> None:
    """The value of a query without a relevant document follows from `empty`."""
    assume(case.metric.needs_relevant, "it is defined for every query")
    labels, scores = np.array([3, 0, 0, 0, np.nan]), np.array([1.0, 2, 1, 2, 1])
    data = ScoredLists(labels, scores, np.array(["a", "a", "b", "b", "c"]))
    each_of: dict[str | int, float] = {"skip": np.nan, "nan": np.nan, 0: 0, 1: 1}
    for empty, each in each_of.items():
        found = per_query(replace(case.metric, empty=empty), data)
        assert_array_equal(found[1:], [each, each])
    try:
        per_query(replace(case.metric, empty="raise"), data)
    except ValueError:
        return
    raise AssertionError('empty="raise" does not raise for a query without a relevant document')


def storage_does_not_matter(case: Case) -> None:
    """Lists, narrow dtypes, strided and read-only arrays give identical values."""
    data = make_lists(17, levels=4, unjudged=0, missing=0, special=False, n_queries=12)
    expected = per_query(case.settled, data)
    frozen = [np.array(one) for one in (data.relevance, data.scores)]
    for one in frozen:
        one.flags.writeable = False
    variants = [
        frozen,
        [np.repeat(one, 3)[::3] for one in frozen],
        [one.tolist() for one in frozen],
        [one.astype(np.float32) for one in frozen],
        [one.astype(np.int8) for one in frozen],
    ]
    for labels, scores in variants:
        found = case.settled.per_query(labels, scores, groups=data.groups)
        assert_array_equal(found.to_numpy(), expected)


VALUES = [
    ("its values are those of its definition", values_equal_the_definition),
    ("ties count as the mean over their orders", ties_are_averaged),
    ("ties are ordered as `ties` says", ties_are_ordered_as_ties_says),
    ("its values are in its range", values_are_in_range),
    ("no list is worth more than the ideal one", ideal_lists_are_best),
    ("only the order of scores counts", only_the_order_of_scores_counts),
    ("the order of rows does not matter", order_of_rows_does_not_matter),
    ("queries are measured alone", queries_are_measured_alone),
    ("weights weigh queries", weights_weigh_queries),
    ("empty queries are what `empty` says", empty_queries_are_what_empty_says),
    ("storage does not matter", storage_does_not_matter),
]


def check_metric(
    metric_or_name: str | Metric,
    definition: Callable[..., float | None] | None = None,
    *,
    monotone: bool = True,
) -> list[str]:
    """Test the properties that every metric of skrank has.

    Values: ties against all orders of the tied documents, range, ideal lists, invariance (to the
    order of rows and queries, increasing transforms of scores, storage), weights, queries without
    relevant documents. Training, if the metric can be trained on: swap deltas against swaps,
    LambdaRank against the double loop over pairs, both boosters. Use: the name, copies, scorers in
    cross-validation, the eval metrics of LightGBM and XGBoost, if installed.

    Parameters
    ----------
    metric_or_name : str or Metric
    definition : callable, optional
        A slow implementation, to which values must be equal:
        ``definition(ranked, unretrieved=(), max_grade=3)``. `ranked` are the labels of one list in
        rank order, None for a document that was not judged; `unretrieved` are the labels of judged
        documents that the list does not contain; `max_grade`, which may be missing, is the highest
        grade of the collection. It returns None where the metric is not defined.
    monotone : bool
        True if moving a better document up never lowers the value, as for most metrics; False for
        variants of bpref and for the Q-measure.

    Returns
    -------
    list of str
        The properties that were tested. Properties that do not apply are left out.

    Raises
    ------
    AssertionError
        If a property does not hold; the message names the first.

    Examples
    --------
    >>> from skrank.testing import check_metric
    >>> def definition(ranked, unretrieved=()):
    ...     found = [place for place, label in enumerate(ranked, start=1) if label]
    ...     if not found and not any(unretrieved):
    ...         return None
    ...     return 1 / found[0] if found else 0.0
    >>> "ties count as the mean over their orders" in check_metric("rr", definition)
    True
    """
    one = metric(metric_or_name)
    monotone = check.check_flag("monotone", monotone)
    return run(one, [*VALUES, *TRAINING, *USE], Case(one, definition, monotone))
