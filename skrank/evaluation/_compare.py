"""Compare rankers on the same queries: differences, intervals, tests, and what survives Holm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.groups import require_groups
from skrank._engine.judgments import Judgments, judge
from skrank._engine.plan import Plan
from skrank._engine.ranking import Ranking
from skrank._typing import Options, RandomState
from skrank.evaluation._evaluate import DEFAULT_METRICS, unique_metrics
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from skrank.stats import PairedEffects

TEST_CHOICES = {"t": "paired t-test", "randomisation": "randomisation test"}
CORRECTION_CHOICES = {
    "holm": "corrected by Holm's method; intervals hold together at {:g} % (Bonferroni)",
    "max-t": "by the largest t of all; intervals hold together at {:g} %",
    "none": "not corrected; each interval holds by itself at {:g} %",
}
_MOST_LINES = 40  # of a table that is printed: longer ones are cut in the middle


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean over queries of each metric, as its `empty` says.
    per_query : DataFrame of shape (n_queries, n_metrics * n_systems)
        Value of each query; the columns are (metric, system). NaN where a metric is not defined.
    test : {"t", "randomisation"}
        The test whose p-values are corrected.
    correction : {"holm", "max-t", "none"}
        For the number of comparisons.
    alpha : float
        Level of significance, and one minus the level of the intervals.
    baseline : str or None
        System that the others are compared with; None if all are with all.
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    test: str
    correction: str
    alpha: float
    baseline: Hashable
    _table: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """One row per metric and pair of systems.

        Returns
        -------
        DataFrame with columns

            metric, system, other
                What is compared.
            difference, low, high
                Mean of `system` minus mean of `other`, and its confidence interval by Student's t,
                as `correction` says: by "holm" and "max-t" all of them hold together with a chance
                of 1 - alpha. Those of "max-t" exclude 0 exactly where `significant`. Those of
                "holm" are Bonferroni's, for Holm's method has none of its own: they may hold 0
                where it finds a difference.
            p_t, p_randomisation
                P-values of the paired t-test and of the randomisation test.
            p_holm (or p_max_t), significant
                P-value of the chosen test corrected over all rows, and whether it is below alpha.
                Without correction there is no such column, and that of the test counts.
            effect_size
                Cohen's d: mean over standard deviation of the differences.
            wins, ties, losses
                Queries on which `system` is better, equal and worse.
            queries
                Queries compared: those with a value for both.
        """
        return self._table.copy()

    def _caption(self) -> str:
        how = CORRECTION_CHOICES[self.correction].format(100 * (1 - self.alpha))
        return (
            f"{len(self.means)} systems, {len(self.per_query)} queries: {len(self._table)} "
            f"comparison(s) by {TEST_CHOICES[self.test]}, "
            f"{self._table['significant'].sum()} significant at {self.alpha:g}, {how}"
        )

    def __repr__(self) -> str:
        style = {"float_format": "{:.4f}".format, "max_rows": _MOST_LINES}
        means, table = self.means.to_string(**style), self._table.to_string(index=False, **style)
        return f"{self._caption()}\n\n{means}\n\n{table}"

    def _repr_html_(self) -> str:
        style = {"float_format": "{:.4f}".format, "max_rows": _MOST_LINES}
        means, table = self.means.to_html(**style), self._table.to_html(index=False, **style)
        return f"<p>{self._caption()}</p>{means}{table}"


def compare(
    systems: Mapping[Hashable, ArrayLike],
    relevance: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    baseline: Hashable = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    max_grade: int | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare systems that rank the same documents, under one or many metrics.

    Parameters
    ----------
    systems : mapping of name to array-like of shape (n_rows,)
        Scores of each system, at least two of them. Higher ranks first; -inf = not retrieved.
    relevance : array-like of shape (n_rows,)
        Labels, at least 0; NaN = not judged.
    groups : array-like of shape (n_rows,), optional
        Query of each row, in any order. Default: the index level "qid" of `relevance`.
    metrics : names or Metrics
    baseline : name of a system, optional
        Compare the other systems with this one only. Default: all with all.
    test : {"t", "randomisation"}
        Test whose p-values are corrected, over all pairs and metrics together.
    correction : {"holm", "max-t", "none"}
        "holm": Holm's method, and Bonferroni's intervals. "max-t": `skrank.stats.max_t`, whose
        p-values and intervals agree and gain from how systems and metrics depend on each other; it
        is a t-test. "none": each comparison by itself.
    alpha : float
        Level of significance, and one minus the level of the intervals.
    n_resamples : int
        Random assignments of the randomisation test, and random signs of "max-t".
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.
    sample_weight : array-like of shape (n_rows,), optional
        Weight of each row's query, constant inside a query: how much it counts in means and tests.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there are fewer than two systems, the baseline is none of them, groups are missing, or a
        metric is defined on fewer than two queries; a message about scores names the system.

    See Also
    --------
    skrank.stats : the tests themselves, and more of them.

    Notes
    -----
    A query on which a metric is not defined, such as one without a relevant document, is left out
    of its comparisons and counted in none of their columns. Every other query counts the same,
    also where the means are geometric or micro-averaged.

    Examples
    --------
    >>> from skrank import compare
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> systems = {"new": data.X[:, 5], "other": data.X[:, 1], "old": data.X[:, 0]}
    >>> found = compare(systems, data.relevance, groups=data.qid, metrics="gap", baseline="old")
    >>> found.to_frame()[["system", "difference", "low", "high", "p_holm", "wins"]].round(3)
      system  difference    low   high  p_holm  wins
    0    new       0.075  0.027  0.123   0.001    35
    1  other       0.012 -0.021  0.045   0.412    32
    """
    chosen = unique_metrics(metrics)
    _pairs(systems, baseline)
    _check_correction(test, correction)
    scores = {f"system {name!r}": values for name, values in systems.items()}
    check.check_same_index(
        relevance=relevance, groups=groups, sample_weight=sample_weight, **scores
    )
    judgments = judge(relevance, require_groups(groups, relevance, who="compare"))
    check.warn_single_rows(judgments.queries)
    weights = check.query_weights(sample_weight, judgments.queries)
    max_grade = check.check_max_grade(max_grade)
    plans = {name: one.bind(judgments, max_grade=max_grade) for name, one in chosen.items()}
    per_query, means = _evaluate(systems, judgments, plans, weights)
    return compare_values(
        per_query,
        means,
        chosen,
        weights=weights,
        baseline=baseline,
        test=test,
        correction=correction,
        alpha=alpha,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def compare_values(
    per_query: pd.DataFrame,
    means: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    *,
    weights: np.ndarray | None = None,
    baseline: Hashable = None,
    test: str = "t",
    correction: str = "holm",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare systems whose values per query are known.

    Parameters
    ----------
    per_query : DataFrame of shape (n_queries, n_metrics * n_systems)
        Columns (metric, system), the systems of a metric side by side and in one order.
    means : DataFrame of shape (n_systems, n_metrics)
    metric_of : mapping of str to Metric
        The metric of each column of `means`.
    weights : array-like of shape (n_queries,), optional
    baseline, test, correction, alpha, n_resamples, random_state
        See `compare`.

    Returns
    -------
    Comparison
    """
    from skrank import stats

    pairs = _pairs(dict.fromkeys(means.index), baseline)
    _check_correction(test, correction)
    alpha = check.check_share("alpha", alpha)
    _check_counts(per_query)
    # the columns of all metrics stand side by side, so that one call tests them all
    columns = np.concatenate([pairs + i * len(means) for i in range(means.shape[1])])
    how: Options = {"pairs": columns, "weights": weights}
    level = alpha / len(columns) if correction == "holm" else alpha
    effects = stats.paired_effects(per_query, confidence=1 - level, **how)
    bounds = effects.low, effects.high
    resampled = how | {"n_resamples": n_resamples, "random_state": random_state}
    p_values = {
        "t": stats.paired_t(per_query, **how).p_value,
        "randomisation": stats.randomisation_test(per_query, **resampled).p_value,
    }
    corrected = p_values[test]
    if correction == "holm":
        corrected = p_values["holm"] = stats.holm(corrected)
    elif correction == "max-t":
        found = stats.max_t(per_query, alpha=alpha, **resampled)
        corrected = p_values["max_t"] = found.p_value
        bounds = found.low, found.high
    rises = {name: one.greater_is_better for name, one in metric_of.items()}
    table = _tabulate(per_query.columns, rises, effects, bounds, p_values, corrected < alpha)
    return Comparison(means, per_query, test, correction, alpha, baseline, table)


def _check_correction(test: str, correction: str) -> None:
    check.check_choice("test", test, tuple(TEST_CHOICES))
    check.check_choice("correction", correction, tuple(CORRECTION_CHOICES))
    if correction == "max-t" and test != "t":
        raise ValueError('correction="max-t" is a t-test: choose test="t", or correction="holm".')


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
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values per query, with columns (metric, system), and means of systems x metrics."""
    import pandas as pd

    values: dict[tuple[str, Hashable], np.ndarray] = {}
    means = np.empty((len(systems), len(plans)))
    for i, (system, scores) in enumerate(systems.items()):
        with check.about(f"system {system!r}"):
            ranking = Ranking(judgments, scores)
        for j, (name, plan) in enumerate(plans.items()):
            values[name, system] = plan.values(ranking)
            means[i, j] = plan.mean(ranking, values[name, system], weights)
    columns = pd.MultiIndex.from_product([plans, systems], names=["metric", "system"])
    index = pd.Index(judgments.queries.ids, name="qid")
    per_query = pd.DataFrame(np.column_stack([values[key] for key in columns]), index, columns)
    return per_query, pd.DataFrame(means, pd.Index(systems, name="system"), list(plans))


def _check_counts(per_query: pd.DataFrame) -> None:
    for (name, system), count in per_query.notna().sum().items():
        if count < 2:
            raise ValueError(
                f"{name} is defined on {count} of {len(per_query)} queries for system {system!r}: "
                "a comparison needs at least 2. Leave the metric out, or give empty queries a "
                "value with its empty=0."
            )


def _tabulate(
    columns: pd.MultiIndex,
    greater_is_better: Mapping[str, bool],
    effects: PairedEffects,
    bounds: tuple[np.ndarray, np.ndarray],
    p_values: Mapping[str, np.ndarray],
    significant: np.ndarray,
) -> pd.DataFrame:
    """What `Comparison.to_frame` returns."""
    import pandas as pd

    first, second = (columns[numbers] for numbers in effects.pairs.T)
    names = first.get_level_values("metric")
    rises = np.array([greater_is_better[name] for name in names], dtype=bool)
    return pd.DataFrame(
        {
            "metric": names,
            "system": first.get_level_values("system"),
            "other": second.get_level_values("system"),
            "difference": effects.difference,
            "low": bounds[0],
            "high": bounds[1],
            **{f"p_{name}": values for name, values in p_values.items()},
            "significant": significant,
            "effect_size": effects.cohen_d,
            "wins": np.where(rises, effects.wins, effects.losses),
            "ties": effects.ties,
            "losses": np.where(rises, effects.losses, effects.wins),
            "queries": effects.n_queries,
        }
    )
