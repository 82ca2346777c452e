"""check_metric, and the properties of a metric: its values, and training on it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial

import numpy as np
from sklearn.model_selection import cross_validate

from skrank import _validation as check
from skrank._engine.groups import with_groups
from skrank._engine.judgments import judge
from skrank._engine.metric import Plan
from skrank._engine.names import registry
from skrank._engine.queries import RankedCodes
from skrank._engine.threads import ROWS_PER_THREAD, compiled
from skrank.metrics import Metric, metric
from skrank.model_selection import QueryKFold
from skrank.objectives import LambdaRank
from skrank.scoring import scorer
from skrank.testing import _orders
from skrank.testing._lists import ScoredLists, make_lists
from skrank.testing._orders import Literal
from skrank.testing._properties import (
    FirstFeature,
    Inapplicable,
    assume,
    check_boosters,
    check_copies,
    close,
    hold,
    in_boosters,
    judged_lists,
    per_query,
    run,
)


@dataclass(frozen=True, eq=False)
class Case:
    """A metric, and the arguments of `check_metric`.

    Attributes
    ----------
    metric : Metric
    definition : function of (ranked, unretrieved), optional
        A slow implementation that follows the definition; it may have the arguments `max_grade` and
        `k`.
    monotone : bool
        True if moving a better document up never lowers the value.
    """

    metric: Metric
    definition: Literal | None
    monotone: bool

    @cached_property
    def settled(self) -> Metric:
        """The metric, with ties in row order if its mean over orders of ties has no closed form."""
        return replace(self.metric, ties="stable") if self.metric.strict else self.metric

    @cached_property
    def cut(self) -> list[Metric]:
        """`settled` at its own cut-off, or at two others if it takes cut-offs."""
        if self.settled.k is not None:
            return [self.settled]
        try:
            return [replace(self.settled, k=k) for k in (1, 3)]
        except ValueError:
            raise Inapplicable("it takes no cut-off") from None

    def takes(self, name: str) -> bool:
        """Whether the definition has an argument of this name."""
        return self.definition is not None and name in inspect.signature(self.definition).parameters

    def expected(self, data: ScoredLists, k: int | None = None) -> np.ndarray:
        """Value of `settled` by `definition` for each query, NaN where it is not defined."""
        if self.definition is None:
            raise Inapplicable("no definition is given")
        known = {"max_grade": data.max_grade, "k": k or self.metric.k}
        definition = partial(
            self.definition, **{name: value for name, value in known.items() if self.takes(name)}
        )
        evaluate = _orders.stable if self.metric.strict else _orders.tie_expectation
        values = [evaluate(definition, scores, labels) for scores, labels in data.queries()]
        return np.array([np.nan if value is None else value for value in values])


UNDEFINED = "return None from the definition without a gain, or set needs_relevant = False"


def values_equal_the_definition(case: Case) -> None:
    """Values equal the literal definition, averaged over all orders of tied documents."""
    for seed in range(3):
        for data in (
            make_lists(seed),
            make_lists(seed, scattered=False, n_queries=20, longest=12),
            make_lists(seed, levels=2, longest=5),
        ):
            values, expected = per_query(case.settled, data), case.expected(data)
            hold(not np.any(np.isnan(values) & ~np.isnan(expected)), UNDEFINED)
            close(values, expected)
    for cut in case.cut if case.takes("k") else ():
        data = make_lists(3)
        close(per_query(cut, data), case.expected(data, cut.k))


def ties_count_as_the_mean_over_their_orders(case: Case) -> None:
    """The value of tied scores is the mean over all orders of the tied documents."""
    assume(not case.metric.strict, "it refuses ties")
    for seed in range(3):
        data = make_lists(seed, levels=2, longest=5, missing=0, special=False)
        metric = case.metric.on_scale(data.max_grade)
        orders = [
            list(_orders.tie_orders(data.scores[rows].tolist(), rows.tolist()))
            for rows in data.rows_of_queries()
        ]
        rows = np.concatenate([np.ravel(of_query) for of_query in orders])
        sizes = [len(order) for of_query in orders for order in of_query]
        groups = np.repeat(np.arange(len(sizes)), sizes)
        untied = ScoredLists(data.relevance[rows], -np.arange(float(len(rows))), groups)
        of_orders = np.split(per_query(metric, untied), np.cumsum([*map(len, orders)])[:-1])
        close([values.mean() for values in of_orders], per_query(metric, data))


def values_are_in_the_range(case: Case) -> None:
    """Values lie in `value_range`."""
    low, high = check.check_range("value_range", case.metric.value_range)
    for seed in range(3):
        values = per_query(case.settled, make_lists(seed, levels=4, n_queries=50))
        outside = values[(values < low - 1e-12) | (values > high + 1e-12)]
        named = f"value_range = {case.metric.value_range!r}, which the metric may set"
        hold(outside.size == 0, f"{outside[:1]} is outside {named}")


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
    for cut in case.cut:
        scores = data.scores.copy()
        for rows in data.rows_of_queries():
            below = rows[np.argsort(-scores[rows])][cut.k :]
            scores[below] = rng.permutation(scores[below])
        close(per_query(cut, data.with_scores(scores)), per_query(cut, data))


def cutoffs_cut_the_ideal_list(case: Case) -> None:
    """With a cut-off, the ideal list has the value that it has without, as for nDCG.

    A metric with a parameter `normalize` has a choice, and a definition with an argument `k`
    decides otherwise.
    """
    metric = case.metric
    chosen = any(field.name == "normalize" for field in fields(metric))
    assume(metric.ideal_cutoff != 0 and not chosen, "it is not divided by an ideal list")
    assume(not case.takes("k"), "the definition has cut-offs")
    best = ScoredLists(np.array([3, 3, 2, 1, 1, 0]), -np.arange(6.0), np.zeros(6, int))
    for cut in case.cut:
        value, whole = (per_query(each.on_scale(3), best) for each in (cut, replace(cut, k=None)))
        hold(
            np.allclose(value, whole, rtol=1e-12),
            f"{cut} of the ideal list is {value}, and {whole} without a cut-off: `ideal_cutoff` "
            "must return self.k, unless the metric has a parameter `normalize` or its definition "
            "an argument `k`",
        )


def the_order_of_rows_does_not_matter(case: Case) -> None:
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
    """The value of a query does not depend on other queries, such as copies of all queries.

    The copies are measured by compiled kernels, in chunks, in as many threads as there are.
    """
    data = make_lists(14, levels=3)
    on_scale = case.settled.on_scale(data.max_grade)
    together = per_query(on_scale, data)
    for rows, value in zip(data.rows_of_queries(), together, strict=True):
        close(on_scale.per_query(data.relevance[rows], data.scores[rows]), [value])
    n_copies = 1 + ROWS_PER_THREAD // len(data.groups)
    names = np.unique(data.groups, return_inverse=True)[1]
    copies = (np.arange(n_copies)[:, None] * (names.max() + 1) + names).ravel()
    many = ScoredLists(np.tile(data.relevance, n_copies), np.tile(data.scores, n_copies), copies)
    with compiled():
        close(per_query(on_scale, many), np.tile(together, n_copies))


def _swapped(n: int) -> np.ndarray:
    """Orders of `n` documents, one per row: as they are, and after each swap of two ranks."""
    pairs = [list(pair) for pair in itertools.combinations(range(n), 2)]
    orders = np.tile(np.arange(n), (1 + len(pairs), 1))
    for order, pair in zip(orders[1:], pairs, strict=True):
        order[pair] = order[pair[::-1]]
    return orders


def _normalised_sums(plan: Plan, codes: np.ndarray) -> np.ndarray:
    """The normalised sum of each list of documents, given as codes, by the tables of a metric."""
    queries = plan.judgments.queries
    lists = RankedCodes.in_order(queries.ids, queries.indptr, codes, queries.sizes)
    return plan.tables.values(lists, plan.inverse)


def swaps_change_it_as_its_tables_say(case: Case) -> None:
    """Sums of the tables differ after a swap as values do: `plan.slope()` times as much."""
    rng = np.random.default_rng(0)
    metric = case.metric.on_scale(3)
    for n in (1, 2, 5, 8):
        orders = _swapped(n)
        groups = np.repeat(np.arange(len(orders)), n)
        falling = np.tile(-np.arange(float(n)), len(orders))
        for grades in ([0, 1, 2, 3, 0 if metric.condensed else np.nan], [0, 0, 0, 3], [0, 2]):
            labels = rng.choice(np.array(grades, float), n)
            labels[rng.integers(n)] = 3
            plan = metric.bind(judge(np.tile(labels, len(orders)), groups))
            sums = _normalised_sums(plan, plan.judgments.codes[orders].ravel())
            values = per_query(metric, ScoredLists(labels[orders].ravel(), falling, groups))
            close((sums - sums[0]) * plan.slope(), values - values[0], 1e-10)


def _depends_on_order(metric: Metric) -> bool:
    data, on_scale = judged_lists(3), metric.on_scale(3)
    reverse = per_query(on_scale, data.with_scores(-data.scores))
    return not np.allclose(per_query(on_scale, data), reverse, equal_nan=True)


def all_orders_have_one_value(case: Case) -> None:
    """Without a cut-off, the order of a list does not change the value of an orderless metric."""
    assume(case.settled.orderless and case.settled.k is None, "its value depends on the order")
    hold(not _depends_on_order(case.settled), "the order does: set orderless = False")


def boosters_train_on_it(case: Case) -> None:
    """LightGBM and XGBoost get the gradients of LambdaRank."""
    try:
        objective = LambdaRank(case.metric)
    except ValueError:
        raise Inapplicable("LambdaRank does not train on it") from None
    no_order = "the order of a list does not change its value: set orderless = True"
    hold(_depends_on_order(case.settled), no_order)
    check_boosters(objective.on_scale(3))


def its_name_parses_back(case: Case) -> None:
    """``skrank.metric(str(metric))`` is the metric."""
    assume(registry.get(case.metric.first_name) is type(case.metric), "it has no registered name")
    hold(metric(str(case.metric)) == case.metric, f"{case.metric} is read as another metric")


def copies_are_equal(case: Case) -> None:
    """Pickled, copied and cloned metrics are equal, with equal hashes."""
    check_copies(case.metric)


def scorers_measure_it(case: Case) -> None:
    """Scorers of scikit-learn return its value on each fold, with the grades of all labels."""
    labels, scores, groups = data = judged_lists(22)
    X, y, cv = scores[:, None], with_groups(labels, groups), QueryKFold(3)
    means = cross_validate(FirstFeature(), X, y, scoring=scorer(case.settled), cv=cv)["test_score"]
    on = case.settled.on_scale(data.max_grade)
    sign = 1 if on.greater_is_better else -1
    tests = [test for _, test in cv.split(X, y)]
    close(means, [sign * on(labels[rows], scores[rows], groups=groups[rows]) for rows in tests])


def eval_metrics_of_boosters_measure_it(case: Case) -> None:
    """The eval metric of a booster gives its value, and to LightGBM also name and direction."""
    for booster, adapter, data, native in in_boosters():
        on = case.settled.on_scale(data.max_grade)
        name, value, *better = adapter.eval_metric(on)(data.scores, native)
        close(value, on(data.relevance, data.scores, groups=data.groups))
        if booster == "lightgbm":
            hold([name, *better] == [str(on), on.greater_is_better], f"it is called {name}")


PROPERTIES = [
    values_equal_the_definition,
    ties_count_as_the_mean_over_their_orders,
    values_are_in_the_range,
    ideal_lists_are_best,
    ranks_below_a_cutoff_do_not_count,
    cutoffs_cut_the_ideal_list,
    the_order_of_rows_does_not_matter,
    queries_are_measured_alone,
    swaps_change_it_as_its_tables_say,
    all_orders_have_one_value,
    boosters_train_on_it,
    its_name_parses_back,
    copies_are_equal,
    scorers_measure_it,
    eval_metrics_of_boosters_measure_it,
]


def check_metric(
    metric_or_name: str | Metric,
    definition: Callable[..., float | None] | None = None,
    *,
    monotone: bool = True,
) -> list[str]:
    """Test the properties that every metric of skrank has.

    Values: ties against all orders of the tied documents, range, ideal lists, cut-offs, the order
    of rows and queries. Training, if the metric can be trained on: sums of its tables against
    swaps, gradients in both boosters. Use: the name, copies, scorers in cross-validation, the eval
    metrics of LightGBM and XGBoost, if installed.

    Parameters
    ----------
    metric_or_name : str or Metric
        Its `ties` and `empty` are replaced by their defaults. It must take the labels 0 to 3, so
        that a `max_grade` must be 3 or higher.
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
    chosen = replace(metric(metric_or_name), ties="average", empty="skip")
    monotone = check.check_flag("monotone", monotone)
    return run(chosen, PROPERTIES, Case(chosen, definition, monotone))
