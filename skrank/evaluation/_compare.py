"""Compare rankers on the same queries or folds: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import Judgments, judge
from skrank._engine.names import unique_metrics
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._typing import Axes, Options, RandomState
from skrank.evaluation import _pair_tests
from skrank.evaluation._evaluate import DEFAULT_METRICS
from skrank.evaluation._tables import MarkedTable, Tabular
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from skrank.stats import PairedEffects

TEST_CHOICES = {
    "resampled-t": "t-test by resampling",
    "t": "paired t-test",
    "randomisation": "randomisation test",
    "anytime": "test by betting, for any number of looks",
}
CORRECTION_CHOICES = {
    "max-t": "corrected by the largest t of all; intervals hold together at {:g} %",
    "holm": "corrected by Holm's method; intervals hold together at {:g} % (Bonferroni)",
    "none": "not corrected; each interval holds by itself at {:g} %",
}
# Style of printed tables; longer tables are cut in the middle.
_STYLE: Options = {"float_format": "{:.4f}".format, "max_rows": 40}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """The result of `compare`.

    Attributes
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean over queries of each metric. The `empty` of a metric says how queries without a
        relevant document count.
    per_query : DataFrame of shape (n_queries, n_metrics * n_systems)
        Value of each query, with columns (metric, system); NaN where a metric is not defined. For
        systems with several seeds, the mean over seeds. For folds, the value of each fold.
    test : {"resampled-t", "t", "randomisation", "anytime"}
        Test whose p-values are corrected.
    correction : {"max-t", "holm", "none"}
        Correction for the number of comparisons.
    alpha : float
        Level of significance, and one minus the level of the intervals.
    baseline : hashable or None
        System that the others are compared with; None if all systems are compared with all.
    weighted : bool
        True if queries have weights.
    random_state : int, Generator, RandomState or None
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    test: str
    correction: str
    alpha: float
    baseline: Hashable
    weighted: bool
    random_state: RandomState
    _table: pd.DataFrame
    _test_text: str
    _greater_is_better: dict[str, bool]

    def to_frame(self) -> pd.DataFrame:
        """One row per metric and pair of systems.

        Returns
        -------
        DataFrame with columns

            metric, system, other
                The compared pair.
            difference, low, high
                Mean of `system` minus mean of `other`, and its confidence interval by `test`. With
                "max-t" and "holm", all intervals together contain the true differences with
                probability 1 - alpha, so more metrics or systems make each interval wider.
                Intervals of "max-t" exclude 0 exactly where `significant` is True. Intervals of
                "holm" are Bonferroni's, because Holm's method has none: they may contain 0 where
                Holm's method finds a difference. With the randomisation test, intervals are
                Student's. Intervals of "resampled-t" are infinite if queries are too few for a
                p-value below alpha.
            p_t, p_randomisation
                P-values of the paired t-test and of the randomisation test. With seeds and folds,
                p_t is the p-value of their own t-test, and p_randomisation is missing.
            p_resampled_t, p_anytime
                P-values of these tests, if one of them is corrected by Holm's method or not at all.
            p_max_t or p_holm
                P-value of the chosen test corrected over all rows; missing without correction.
            significant
                True if this p-value, or without correction that of the test, is below alpha.
            effect_size
                Cohen's d: mean over standard deviation of the differences.
            wins, ties, losses
                Queries on which `system` is better, equal and worse.
            queries
                Queries (or folds) compared: those with a value for both.
        """
        return self._table.copy()

    def _drawn(self, display: Any, metric: str | None, ax: Axes | None, **kwargs: Any) -> Any:
        return display.from_comparison(self, metric or self.means.columns[0], ax=ax, **kwargs)

    def _marked(self) -> MarkedTable:
        rows, columns = (list(axis) for axis in self.means.axes)
        better: dict[tuple[int, int], list[int]] = {}
        for found in self._table[self._table["significant"]].itertuples():
            pair = rows.index(found.system), rows.index(found.other)
            ahead = (found.difference > 0) == self._greater_is_better[found.metric]
            place = pair[not ahead], columns.index(found.metric)
            better.setdefault(place, []).append(pair[ahead])
        caption = (
            f"{self._caption()}. Best values are bold; superscripts name the systems that a value "
            "is significantly better than."
        )
        return MarkedTable(self.means, caption, [*self._greater_is_better.values()], better)

    def _caption(self) -> str:
        how = CORRECTION_CHOICES[self.correction].format(100 * (1 - self.alpha))
        queries = self._table["queries"]
        compared = " to ".join(map(str, sorted({queries.min(), queries.max()})))
        unit = "folds" if self.per_query.index.name == "fold" else "queries"
        weighted = ", weighted" * self.weighted
        return (
            f"{len(self.means)} systems on {compared} of "
            f"{len(self.per_query)} {unit}{weighted}: {len(self._table)} comparison(s) "
            f"by {self._test_text}, {self._table['significant'].sum()} significant at "
            f"{self.alpha:g}, {how}; random_state={self.random_state}"
        )

    def __repr__(self) -> str:
        means, table = self.means.to_string(**_STYLE), self._table.to_string(index=False, **_STYLE)
        return f"{self._caption()}\n\n{means}\n\n{table}"

    def _repr_html_(self) -> str:
        means, table = self.means.to_html(**_STYLE), self._table.to_html(index=False, **_STYLE)
        return f"<p>{self._caption()}</p>{means}{table}"


def compare(
    systems: Mapping[Hashable, ArrayLike],
    relevance: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    baseline: Hashable = None,
    test: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    max_grade: int | None = None,
    sample_weight: ArrayLike | None = None,
    test_share: float | None = None,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare systems that rank the same documents, or were validated on the same folds.

    Parameters
    ----------
    systems : mapping of name to array-like of shape (n_rows,) or (n_rows, n_seeds)
        Scores of each system, at least two of them. Higher ranks first; -inf = not retrieved. A
        system that was trained with several random seeds has a column of scores for each.
        Without `relevance`: a mapping of name to the result of `cross_validate` or
        `cross_val_score`, or a fitted search such as GridSearchCV, whose candidates are compared.
    relevance : array-like of shape (n_rows,), optional
        Labels, at least 0; NaN = not judged.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance`.
    metrics : names or Metrics
    baseline : name of a system, optional
        Compare the other systems with this one only. Default: all with all.
    test : {"resampled-t", "t", "randomisation", "anytime"}, optional
        Test whose p-values are corrected, over all pairs and metrics together. "resampled-t", the
        default: `skrank.stats.max_t`. "t": `skrank.stats.paired_t`. "anytime": a test by betting
        for queries that arrive one after the other; its p-values and intervals hold however often
        the comparison is repeated with more rows, for metrics between 0 and 1 without weights.
    correction : {"max-t", "holm", "none"}, optional
        "max-t", the default for "resampled-t": p-values and intervals agree, and gain from how
        systems and metrics depend on each other. "holm", the default otherwise: Holm's method, and
        Bonferroni's intervals. "none": each comparison by itself.
    alpha : float
        Level of significance, and one minus the level of the intervals.
    n_resamples : int
        Random assignments of the randomisation test, and resamples of "resampled-t".
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query: how much it counts in means and tests.
    test_share : float, optional
        Share of the queries in the test part of each fold. Default: one over the number of folds.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than two systems, the baseline is not one of them, groups are missing, or
        a metric is defined on fewer than two queries; a message about scores names the system.

    See Also
    --------
    skrank.stats : the tests themselves, and more of them.

    Notes
    -----
    A query on which a metric is not defined, such as one without a relevant document, is left out
    of its comparisons and counted in none of their columns. Every other query counts the same,
    also where the means are geometric or micro-averaged.

    Other seeds and other training queries would give other rankers. With several seeds, values are
    means over seeds, and the test is a t-test whose variance is that over queries plus that over
    the seeds of both systems. A system with one column of scores counts as fixed. With folds, the
    test is the corrected resampled t-test (Nadeau and Bengio 2003). Both take ``correction="holm"``
    or "none".

    References
    ----------
    C. Nadeau, Y. Bengio, Inference for the Generalization Error, Machine Learning 52, 2003. D. D.
    Dorfman, K. S. Berbaum, C. E. Metz, Receiver Operating Characteristic Rating Analysis,
    Investigative Radiology 27(9), 1992.

    Examples
    --------
    >>> from skrank import compare
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> systems = {"new": data.X[:, 5], "other": data.X[:, 1], "old": data.X[:, 0]}
    >>> found = compare(systems, data.relevance, groups=data.qid, metrics="gap", baseline="old")
    >>> found.to_frame()[["system", "difference", "low", "high", "p_max_t", "wins"]].round(3)
      system  difference    low   high  p_max_t  wins
    0    new       0.075  0.032  0.118    0.002    35
    1  other       0.012 -0.024  0.048    0.643    32
    """
    how: Options = {"baseline": baseline, "correction": correction, "alpha": alpha}
    if relevance is None:
        if groups is not None or sample_weight is not None or test is not None:
            raise ValueError(
                "groups, sample_weight and test need relevance: without it, scores of folds are "
                "compared by the corrected resampled t-test."
            )
        folds = _pair_tests.fold_scores(systems)
        share = 1 / len(folds) if test_share is None else test_share
        t_test = partial(_pair_tests.fold_test, folds, check.check_share("test_share", share))
        over_folds = OwnTest("corrected resampled t-test", t_test)
        means = folds.mean().unstack("metric", sort=False)
        return compare_values(folds, means, {}, own_test=over_folds, **how)
    chosen = unique_metrics(metrics)
    _pairs(systems, baseline)  # raises for fewer than two systems, or an unknown baseline
    scores = {f"system {name!r}": values for name, values in systems.items()}
    check.check_same_index(
        relevance=relevance, groups=groups, sample_weight=sample_weight, **scores
    )
    judgments = judge(relevance, require_groups(groups, relevance, who="compare"))
    check.warn_single_rows(judgments.queries)
    weights = check.query_weights(sample_weight, judgments.queries)
    max_grade = check.check_max_grade(max_grade)
    plans = {name: one.bind(judgments, max_grade=max_grade) for name, one in chosen.items()}
    per_query, means, by_seed = _evaluate(systems, judgments, plans, weights)
    over_seeds = None
    if any(values.shape[1] > 1 for values in by_seed):
        t_test = partial(_pair_tests.seed_test, by_seed, weights)
        over_seeds = OwnTest("t-test over queries and seeds", t_test)
    return compare_values(
        per_query, means, chosen, weights=weights, test=test, n_resamples=n_resamples,
        random_state=random_state, own_test=over_seeds, **how,
    )  # fmt: skip


class OwnTest(NamedTuple):
    """A test for values over seeds or folds: its name, and a function of pairs and alpha."""

    text: str
    run: Callable[[np.ndarray, float], _pair_tests.Tested]


def compare_values(
    per_query: pd.DataFrame,
    means: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    *,
    weights: np.ndarray | None = None,
    baseline: Hashable = None,
    test: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    random_state: RandomState = 0,
    own_test: OwnTest | None = None,
) -> Comparison:
    """Compare systems whose values per query are known.

    The columns of `per_query` are (metric, system), the systems of a metric side by side and in one
    order; `means` are of systems x metrics. `metric_of` has the metric of each column of `means`;
    it is empty for scores of folds, whose greater values are better. The other parameters are those
    of `compare`.
    """
    from skrank import stats

    pairs = _pairs(dict.fromkeys(means.index), baseline)
    test, correction = _choices(test, correction, own_test)
    alpha = check.check_share("alpha", alpha)
    for (name, system), count in per_query.notna().sum().items():
        if count < 2:
            raise ValueError(
                f"{name} is defined on {count} of {len(per_query)} queries for system {system!r}: "
                "a comparison needs at least 2. Leave the metric out, or give empty queries a "
                "value with its empty=0."
            )
    # the columns of all metrics stand side by side, so that one call tests them all
    columns = np.concatenate([pairs + i * len(means) for i in range(means.shape[1])])
    level = alpha / len(columns) if correction == "holm" else alpha
    how: Options = {"pairs": columns, "weights": weights}
    resampled: Options = {"n_resamples": n_resamples, "random_state": random_state}
    effects = stats.paired_effects(per_query, confidence=1 - level, **how)
    bounds: Sequence[np.ndarray] = effects.low, effects.high
    p_values: dict[str, np.ndarray] = {}
    if own_test is not None:
        p_values["t"], *bounds = own_test.run(columns, level)
    else:
        p_values["t"] = stats.paired_t(per_query, **how).p_value
        p_values["randomisation"] = stats.randomisation_test(per_query, **how, **resampled).p_value
    if test == "resampled-t":
        adjust = correction == "max-t"
        largest = stats.max_t(per_query, adjust=adjust, alpha=level, **how, **resampled)
        p_values["max-t" if adjust else test] = largest.p_value
        bounds = largest.low, largest.high
    elif test == "anytime":
        if weights is not None:
            raise ValueError('test="anytime" takes no sample_weight: choose another test.')
        p_values[test], *bounds = _pair_tests.anytime_test(per_query, metric_of, columns, level)
    corrected = p_values["max-t" if correction == "max-t" else test]
    if correction == "holm":
        corrected = p_values["holm"] = stats.holm(corrected)
    # scikit-learn's scores of folds are better where they are greater
    rises = dict.fromkeys(means.columns, True)
    rises |= {name: one.greater_is_better for name, one in metric_of.items()}
    table = _table(per_query.columns, rises, effects, bounds, p_values, corrected < alpha)
    text = TEST_CHOICES[test] if own_test is None else own_test.text
    return Comparison(
        means, per_query, test, correction, alpha, baseline, weights is not None, random_state,
        table, text, rises,
    )  # fmt: skip


def _table(
    columns: pd.MultiIndex,
    rises: Mapping[str, bool],
    effects: PairedEffects,
    bounds: Sequence[np.ndarray],
    p_values: Mapping[str, np.ndarray],
    significant: np.ndarray,
) -> pd.DataFrame:
    """The table that `Comparison.to_frame` returns."""
    import pandas as pd

    first, second = (columns[numbers] for numbers in effects.pairs.T)
    names = first.get_level_values("metric")
    is_better_above = np.array([rises[name] for name in names], dtype=bool)
    return pd.DataFrame(
        {
            "metric": names,
            "system": first.get_level_values("system"),
            "other": second.get_level_values("system"),
            "difference": effects.difference,
            "low": bounds[0],
            "high": bounds[1],
            **{f"p_{name.replace('-', '_')}": p for name, p in p_values.items()},
            "significant": significant,
            "effect_size": effects.cohen_d,
            "wins": np.where(is_better_above, effects.wins, effects.losses),
            "ties": effects.ties,
            "losses": np.where(is_better_above, effects.losses, effects.wins),
            "queries": effects.n_queries,
        }
    )


def _choices(test: str | None, correction: str | None, own_test: OwnTest | None) -> tuple[str, str]:
    """The test and the correction, by default those that hold their level best."""
    if own_test is not None and test not in (None, "t"):
        raise ValueError(f"test={test!r} does not count seeds: leave test out.")
    test = test or ("resampled-t" if own_test is None else "t")
    check.check_choice("test", test, tuple(TEST_CHOICES))
    correction = correction or ("max-t" if test == "resampled-t" else "holm")
    check.check_choice("correction", correction, tuple(CORRECTION_CHOICES))
    if correction == "max-t" and test != "resampled-t":
        raise ValueError(
            f'correction="max-t" is a t-test by resampling, not test={test!r}: choose '
            + ('test="resampled-t", or ' if own_test is None else "")
            + 'correction="holm".'
        )
    return test, correction


def _pairs(systems: object, baseline: Hashable) -> np.ndarray:
    """Numbers of the systems to compare, of shape (n_pairs, 2)."""
    if not isinstance(systems, Mapping) or len(systems) < 2:
        raise ValueError(
            "systems must be a mapping of at least two names to scores, such as "
            '{"new": scores_new, "old": scores_old}.'
        )
    names = list(systems)
    if baseline is None:
        return np.array(list(combinations(range(len(names)), 2)))
    if baseline not in names:
        raise check.unknown_name("baseline", baseline, map(str, names))
    against = names.index(baseline)
    return np.array([(i, against) for i in range(len(names)) if i != against])


def _evaluate(
    systems: Mapping[Hashable, ArrayLike],
    judgments: Judgments,
    plans: Mapping[str, Plan],
    weights: np.ndarray | None,
) -> tuple[pd.DataFrame, pd.DataFrame, list[np.ndarray]]:
    """Values per query, means of systems x metrics, and values of queries x seeds per column."""
    import pandas as pd

    by_seed: dict[tuple[str, Hashable], list[np.ndarray]] = {}
    means = np.zeros((len(systems), len(plans)))
    for i, (system, scores) in enumerate(systems.items()):
        seeds = np.asarray(scores).T if np.ndim(scores) == 2 else [scores]
        for one in seeds:
            with check.about(f"system {system!r}"):
                ranking = Ranking(judgments, one)
            for j, (name, plan) in enumerate(plans.items()):
                values = plan.values(ranking)
                by_seed.setdefault((name, system), []).append(values)
                means[i, j] += plan.mean(ranking, values, weights) / len(seeds)
    columns = pd.MultiIndex.from_product([plans, systems], names=["metric", "system"])
    index = pd.Index(judgments.queries.ids, name="qid")
    stacked = [np.column_stack(by_seed[key]) for key in columns]
    per_query = pd.DataFrame(
        np.column_stack([values.mean(axis=1) for values in stacked]), index, columns
    )
    return per_query, pd.DataFrame(means, pd.Index(systems, name="system"), list(plans)), stacked
