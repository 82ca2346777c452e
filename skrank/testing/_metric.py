"""check_metric, and the properties of a metric: its values, and training on it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.testing import assert_array_equal

from skrank import _validation as check
from skrank._engine.judgments import judge
from skrank._engine.plan import bounds_of
from skrank.metrics import Metric, Mixture, metric
from skrank.objectives import LambdaRank
from skrank.testing._lists import ScoredLists, make_lists, without_nan
from skrank.testing._objective import (
    ObjectiveCase,
    gradients_of_queries_sum_to_0,
)
from skrank.testing._orders import Labels, lambdas, ranking, swap_delta
from skrank.testing._properties import (
    USE,
    Case,
    Inapplicable,
    assume,
    boosters_train_on_it,
    close,
    hold,
    judged_lists,
    per_query,
    run,
)


def values_equal_the_definition(case: Case) -> None:
    """Values equal the literal definition, averaged over all orders of tied documents."""
    for seed in range(3):
        for data in (
            make_lists(seed),
            make_lists(seed, scattered=False, n_queries=20, longest=12),
            make_lists(seed, levels=2, longest=5),
        ):
            close(per_query(case.settled, data), case.expected(data))
    if case.takes("k"):
        for one in case.cut:
            data = make_lists(3)
            close(per_query(one, data), case.expected(data, one.k))


def ties_are_averaged(case: Case) -> None:
    """The value of tied scores is the mean over all orders of the tied documents."""
    assume(not case.metric.strict, "it refuses ties")
    averaged = replace(case.metric, ties="average")
    for seed in range(3):
        data = make_lists(seed, levels=2, longest=5)
        orders, originals = data.every_order()
        sums = np.bincount(originals, per_query(averaged, orders))
        close(per_query(averaged, data), sums / np.bincount(originals))


def _untied(data: ScoredLists, key: Callable[[np.ndarray], np.ndarray]) -> ScoredLists:
    """Lists in which ties are broken by the ascending `key` of the labels, then by row order."""
    scores = data.scores.copy()
    for of_query in data.rows_of_queries():
        rows = of_query[np.argsort(key(data.relevance[of_query]), kind="stable")]
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
    for seed in range(3):
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
    for seed in range(3):
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


def ranks_below_a_cutoff_do_not_count(case: Case) -> None:
    """Documents below the cut-off may be in any order."""
    rng, data = np.random.default_rng(16), judged_lists(16)
    for one in case.cut:
        scores = data.scores.copy()
        for rows in data.rows_of_queries():
            below = rows[np.argsort(-scores[rows])][one.k :]
            scores[below] = rng.permutation(scores[below])
        close(per_query(one, data.with_scores(scores)), per_query(one, data))


def cutoffs_cut_the_ideal_list(case: Case) -> None:
    """With a cut-off, the ideal list has the value that it has without, as for nDCG.

    A metric with a parameter `normalize` has a choice, and a definition with an argument `k`
    decides otherwise.
    """
    one = case.metric
    divided = one.ideal_cutoff != 0 and not (one.strict or isinstance(one, Mixture))
    assume(divided and not hasattr(one, "normalize"), "it is not divided by an ideal list")
    assume(not case.takes("k"), "the definition has cut-offs")
    labels = np.array([3, 3, 2, 1, 1, 0])
    best = ScoredLists(labels, -np.arange(6.0), np.zeros(6, int))
    for cut in case.cut:
        value, whole = (
            per_query(each.on_scale(3), best)[0] for each in (cut, replace(cut, k=None))
        )
        hold(
            np.isclose(value, whole, rtol=1e-12),
            f"{cut} of the ideal list is {value}, and {whole} without a cut-off: `ideal_cutoff` "
            "must return self.k, unless the metric has a parameter `normalize` or its definition "
            "an argument `k`",
        )


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
    for seed in range(3):
        moved = data.reordered(np.random.default_rng(seed).permutation(len(data.groups)))
        values = case.metric.per_query(moved.relevance, moved.scores, groups=moved.groups)
        hold(list(values.index) == moved.ids, "values are not in the order of the queries")
        close(values[expected.index], expected)


def queries_are_measured_alone(case: Case) -> None:
    """The value of a query does not depend on other queries, such as 500 copies of all queries."""
    data = make_lists(14, levels=3)
    on_scale = case.settled.on_scale(data.max_grade)
    together = per_query(on_scale, data)
    for rows, value in zip(data.rows_of_queries(), together, strict=True):
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


def _objective(case: Case) -> LambdaRank:
    try:
        return LambdaRank(case.metric, tie_order="stable")
    except ValueError:
        raise Inapplicable("LambdaRank does not train on it") from None


def _refuse_mixture(metric: Metric) -> None:
    assume(not isinstance(metric, Mixture), "each part of a mixture has its own swap deltas")


def value_of_list(metric: Metric) -> Callable[[Labels], float]:
    """The metric as a function of the labels of one list, in rank order; values are cached."""

    @cache
    def value(ranked: tuple[float | None, ...]) -> float:
        labels = np.array(ranked, dtype=float)  # None becomes NaN
        return float(metric.per_query(labels, -np.arange(float(len(labels)))).iloc[0])

    return lambda ranked: value(tuple(ranked))


def swap_deltas(metric: Metric, labels: np.ndarray) -> np.ndarray:
    """Change of the value of one list for every swap of ranks a < b, by the family's tables."""
    plan = metric.bind(judge(labels))
    return plan.tables.deltas(plan.judgments.codes) * plan.inverse[0] * plan.slope()[0]


def deltas_are_those_of_swaps(case: Case) -> None:
    """The swap delta of the tables equals the difference of values after and before the swap."""
    _refuse_mixture(case.metric)
    rng = np.random.default_rng(0)
    metric = case.metric.on_scale(3)
    unjudged = 0 if metric.condensed else np.nan
    value = value_of_list(metric)
    for n in (1, 2, 5, 8):
        for grades in ([0, 1, 2, 3, unjudged], [0, 0, 0, 3], [0, 2]):
            labels = rng.choice(np.array(grades, float), n)
            labels[rng.integers(n)] = 3
            found, ranked = swap_deltas(metric, labels), without_nan(labels)
            for a in range(n):
                for b in range(a + 1, n):
                    close(found[a, b], swap_delta(value, ranked, a + 1, b + 1), 1e-10)


def better_documents_gain_upwards(case: Case) -> None:
    """No swap that moves a better document up makes the list worse."""
    _refuse_mixture(case.metric)
    assume(case.monotone, "moving a better document up may lower the value")
    sign = 1 if case.metric.greater_is_better else -1
    rng = np.random.default_rng(2)
    for _ in range(20):
        labels = rng.integers(0, 4, 10)
        labels[0] = 3
        falls = sign * swap_deltas(case.metric, labels)[np.triu(np.greater.outer(labels, labels))]
        hold((falls <= 1e-15).all(), f"a swap of {labels.tolist()} changes it by {falls.max()}")


def gradients_are_the_double_loop(case: Case) -> None:
    """Gradients equal those of a double loop over pairs."""
    plain = _objective(case)
    _refuse_mixture(case.metric)
    for objective in (plain, replace(plain, norm=False, truncation_level=3)):
        data = make_lists(5, levels=4, longest=7).retrieved()
        metric = case.metric.on_scale(data.max_grade)
        value = value_of_list(metric)
        grad, hess = objective(data.relevance, data.scores, groups=data.groups)
        for rows, (scores, labels) in zip(data.rows_of_queries(), data.queries(), strict=True):
            plan = metric.bind(judge(data.relevance[rows]))
            best = plan.inverse_ideal(objective.ideal_cutoff)[0]
            norm = objective.norm
            expected = lambdas(
                value, scores, labels,
                normalizer=plan.inverse[0] / best if best else 0.0, signed=True,
                truncation_level=objective.truncation_level, score_norm=norm, sum_norm=norm,
            )  # fmt: skip
            close([grad[rows], hess[rows]], expected, 1e-9)


def gradients_balance(case: Case) -> None:
    """Gradients of a query sum to 0 and raise the best documents; hessians are not below 0."""
    objective = ObjectiveCase(_objective(case), shift_invariant=True, random=False)
    gradients_of_queries_sum_to_0(objective)
    data = make_lists(0, levels=6, n_queries=90, longest=20).retrieved()
    grad, hess = objective.gradient(data)
    hold((hess >= 0).all(), "a hessian is below 0")
    hold(grad.any(), "all gradients are 0")
    for rows in data.rows_of_queries():
        labels = np.nan_to_num(data.relevance[rows])
        best, worst = grad[rows][labels == labels.max()], grad[rows][labels == labels.min()]
        hold((best <= 1e-15).all(), "a gradient lowers the best documents")
        hold((worst >= -1e-15).all(), "a gradient raises the worst documents")


def it_serves_boosters(case: Case) -> None:
    """Both boosters train on it."""
    boosters_train_on_it(_objective(case).on_scale(3))


PROPERTIES = [
    ("its values are those of its definition", values_equal_the_definition),
    ("ties count as the mean over their orders", ties_are_averaged),
    ("ties are ordered as `ties` says", ties_are_ordered_as_ties_says),
    ("its values are in its range", values_are_in_range),
    ("no list is worth more than the ideal one", ideal_lists_are_best),
    ("ranks below a cut-off do not count", ranks_below_a_cutoff_do_not_count),
    ("cut-offs cut the ideal list, too", cutoffs_cut_the_ideal_list),
    ("only the order of scores counts", only_the_order_of_scores_counts),
    ("the order of rows does not matter", order_of_rows_does_not_matter),
    ("queries are measured alone", queries_are_measured_alone),
    ("weights weigh queries", weights_weigh_queries),
    ("empty queries are what `empty` says", empty_queries_are_what_empty_says),
    ("storage does not matter", storage_does_not_matter),
    ("swaps change it as its tables say", deltas_are_those_of_swaps),
    ("better documents gain by going up", better_documents_gain_upwards),
    ("gradients are the double loop over pairs", gradients_are_the_double_loop),
    ("gradients balance", gradients_balance),
    ("boosters train on it", it_serves_boosters),
]


def check_metric(
    metric_or_name: str | Metric,
    definition: Callable[..., float | None] | None = None,
    *,
    monotone: bool = True,
) -> list[str]:
    """Test the properties that every metric of skrank has.

    Values: ties against all orders of the tied documents, range, ideal lists, cut-offs, invariance
    (to the order of rows and queries, increasing transforms of scores, storage), weights, queries
    without relevant documents. Training, if the metric can be trained on: swap deltas against
    swaps, LambdaRank against the double loop over pairs, gradients in both boosters. Use: the name,
    copies, scorers in cross-validation, the eval metrics of LightGBM and XGBoost, if installed.

    Parameters
    ----------
    metric_or_name : str or Metric
        Its `ties` and `empty` are replaced by their defaults; all their values are tested.
    definition : callable, optional
        A slow implementation, to which values must be equal:
        ``definition(ranked, unretrieved=(), max_grade=3, k=None)``. `ranked` are the labels of one
        list in rank order, None for a document that was not judged; `unretrieved` are the labels of
        judged documents that the list does not contain; `max_grade`, which may be missing, is the
        highest grade of the collection; with `k`, which may be missing, values at cut-offs are
        compared, too. It returns None where the metric is not defined.
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
    one = replace(metric(metric_or_name), ties="average", empty="skip")
    monotone = check.check_flag("monotone", monotone)
    return run(one, [*PROPERTIES, *USE], Case(one, definition, monotone))
