"""The comparison of systems whose values per query, or per fold, are known."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._typing import Axes, Options, RandomState
from skrank.evaluation._pair_tests import Tested, paired_effects
from skrank.evaluation._tables import Shown, Tabular, spanned
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from skrank.plotting import IntervalDisplay

TESTS = {"max-t": "max-t test", "t": "paired t-test", "randomisation": "randomisation test"}


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
    test : str
        Test of the differences: "max-t", "t", "randomisation", or that of seeds or of folds.
    confidence : float
        Level of the intervals, and of what is called significant.
    baseline : hashable, list or None
        Systems that the others are compared with; None if all systems are compared with all.
    weighted : bool
        True if queries have weights.
    caption : str
        What was compared, by which test, and how p-values and intervals are corrected.
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    test: str
    confidence: float
    baseline: Hashable
    weighted: bool
    _table: pd.DataFrame
    _greater_is_better: dict[str, bool]
    _notes: Sequence[str]

    def to_frame(self) -> pd.DataFrame:
        """One row per metric and pair of systems.

        Returns
        -------
        DataFrame with columns

            metric, system, other
                The compared pair.
            difference, low, high
                Mean of `system` minus mean of `other`, and its confidence interval. All intervals
                together contain the true differences with probability `confidence`, so more metrics
                or systems make each interval wider. Intervals of "max-t" exclude 0 exactly where
                `significant` is True, and are infinite if queries are too few for a p-value below
                1 - confidence. Those of other tests are Student's with Bonferroni's correction:
                they may contain 0 where Holm's method finds a difference.
            p_corrected
                P-value corrected for the number of rows: by the max-t test, or by Holm's method.
            p_uncorrected
                P-value of this row by itself: of the test; with "max-t", of the paired t-test.
            significant
                True if `p_corrected` is below 1 - confidence.
            effect_size
                Cohen's d: mean over standard deviation of the differences.
            wins, ties, losses
                Queries on which `system` is better, equal and worse.
            queries
                Queries (or folds) compared: those with a value for both.
        """
        return self._table.copy()

    def plot(
        self, metric: str | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> IntervalDisplay:
        """Draw the differences of one metric with their intervals.

        Parameters
        ----------
        metric : str, optional
            Default: the first metric.
        ax : matplotlib Axes, optional
            Where to draw. Default: a new figure, whose title has the test and the correction.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        skrank.plotting.IntervalDisplay
        """
        from skrank.plotting import IntervalDisplay

        name = check.chosen_names("metric", metric and [metric], self.means.columns)[0]
        found = self._table[self._table["metric"] == name]
        names = found["system"].astype(str) + " \u2212 " + found["other"].astype(str)
        table = found.rename(columns={"difference": "value"}).set_index(names)
        table, label = table[["value", "low", "high", "significant"]], f"difference of {name}"
        title = f"{self._method()}\n" * (ax is None) + "grey: not significant"
        display = IntervalDisplay(table, label=label, title=title, reference=0.0)
        return display.plot(ax, **kwargs)

    def _shown(self, *, intervals: bool) -> Shown:
        if intervals:
            columns = ["system", "other", "difference", "low", "high", "p_corrected"]
            return Shown(self._table.set_index("metric")[columns], self.caption)
        rows, columns = (list(axis) for axis in self.means.axes)
        worse: dict[tuple[int, int], list[int]] = {}
        for found in self._table[self._table["significant"]].itertuples():
            pair = rows.index(found.system), rows.index(found.other)
            ahead = (found.difference > 0) == self._greater_is_better[found.metric]
            place = pair[not ahead], columns.index(found.metric)
            worse.setdefault(place, []).append(pair[ahead])
        caption = (
            f"{self._caption(intervals=False)}\nBest values are bold, superscripts name the "
            "systems that a value is significantly better than"
        )
        return Shown(self.means, caption, [*self._greater_is_better.values()], worse)

    def _method(self, *, intervals: bool = True) -> str:
        """The test, and how p-values and, if they are shown, intervals are corrected."""
        level, n_rows = f"{100 * self.confidence:g} % intervals", len(self._table)
        text = TESTS.get(self.test, self.test)
        if n_rows == 1:
            return text + f", {level}" * intervals
        by = ("", "") if self.test == "max-t" else (" by Holm's method", " by Bonferroni's")
        text += " with pooled variances" * (self.test == "max-t")
        text = f"{text}, p-values corrected for {n_rows} comparisons{by[0]}"
        return text + f", {level} too{by[1]}" * intervals

    @property
    def caption(self) -> str:
        return self._caption(intervals=True)

    def _caption(self, *, intervals: bool) -> str:
        compared = spanned(self._table["queries"])
        unit = "folds" if self.per_query.index.name == "fold" else "queries"
        text = (
            f"{len(self.means)} systems on {compared} of {len(self.per_query)} {unit}"
            f"{', weighted' * self.weighted}; "
            f"{self._method(intervals=intervals)}; {self._table['significant'].sum()} of "
            f"{check.counted(len(self._table), 'difference')} significant"
        )
        return "\n".join([text, *self._notes])

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"": self.means, "Differences": self._table}


def compare_values(
    per_query: pd.DataFrame,
    means: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    *,
    weights: np.ndarray | None = None,
    baseline: Hashable = None,
    test: str = "max-t",
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: RandomState = 0,
    progress: bool | None = None,
    own_test: Callable[[np.ndarray, float], Tested] | None = None,
    notes: Sequence[str] = (),
) -> Comparison:
    """Compare systems whose values per query are known.

    The columns of `per_query` are (metric, system), the systems of a metric side by side and in one
    order; `means` are of systems x metrics. `metric_of` has the metric of each column of `means`;
    it is empty for scores of folds, whose greater values are better. `own_test`, for values over
    seeds or folds, is a function of pairs and 1 - confidence, and `test` is its name then. `notes`
    are lines of the caption. The other parameters are those of `compare`.
    """
    import pandas as pd

    from skrank import stats

    pairs = system_pairs(list(means.index), baseline)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    confidence, alpha = check.check_confidence(confidence)
    for (name, system), count in per_query.notna().sum().items():
        if count < 2:
            raise ValueError(
                f"{name} is defined on {count} of {len(per_query)} queries for system {system!r}: "
                "a comparison needs at least 2. Leave the metric out, or give empty queries a "
                "value with its empty=0."
            )
    notes, shares = [*notes], 1.0 if weights is None else weights[:, None]
    other = [name for name, one in metric_of.items() if one.average != "macro"]
    if other:  # the tests are of arithmetic means over queries
        notes.append(f"{', '.join(other)}: arithmetic means over queries")
        found = per_query[other]
        tested = (found * shares).sum() / (found.notna() * shares).sum()
        means = means.assign(**{name: tested[name] for name in other})
    defined = per_query.notna().to_numpy().reshape(len(per_query), -1, len(means))
    if np.any(defined.any(axis=2) != defined.all(axis=2)):
        notes.append("means are over the queries of each system, differences over common ones")
    # the columns of all metrics stand side by side, so that one call tests them all
    columns = np.concatenate([pairs + i * len(means) for i in range(means.shape[1])])
    how: Options = {"pairs": columns, "weights": weights}
    resampled: Options = {"n_resamples": n_resamples, "random_state": seed, "progress": progress}
    level = alpha / len(columns)  # Bonferroni's
    paired = stats.paired_t(per_query, confidence=1 - level, **how)
    p_value, low, high = paired.p_value, paired.low, paired.high
    if own_test is not None:
        p_value, low, high = own_test(columns, level)
    elif check.check_choice("test", test, tuple(TESTS)) == "randomisation":
        p_value = stats.randomisation_test(per_query, **how, **resampled).p_value
    corrected = stats.holm(p_value)
    if test == "max-t":
        largest = stats.max_t(per_query, confidence=confidence, **how, **resampled)
        corrected, low, high = largest.p_value, largest.low, largest.high
    # scikit-learn's scores of folds are better where they are greater
    rises = dict.fromkeys(means.columns, True)
    rises |= {name: one.greater_is_better for name, one in metric_of.items()}
    first, second = (per_query.columns[numbers] for numbers in columns.T)
    names, of_system = (first.get_level_values(name) for name in ("metric", "system"))
    effect_size, ahead, behind = paired_effects(per_query, columns, weights)
    rising = np.array([rises[name] for name in names], dtype=bool)
    table = pd.DataFrame({
        "metric": names, "system": of_system, "other": second.get_level_values("system"),
        "difference": paired.difference, "low": low, "high": high, "p_corrected": corrected,
        "p_uncorrected": p_value, "significant": corrected < alpha, "effect_size": effect_size,
        "wins": np.where(rising, ahead, behind), "ties": paired.n_queries - ahead - behind,
        "losses": np.where(rising, behind, ahead), "queries": paired.n_queries,
    })  # fmt: skip
    return Comparison(
        means, per_query, test, confidence, baseline, weights is not None, table, rises, notes
    )


def system_pairs(systems: Sequence[Hashable], baseline: Any) -> np.ndarray:
    """Numbers of the systems to compare, of shape (n_pairs, 2): all pairs, or with baselines."""
    if len(systems) < 2:
        raise ValueError(
            f"systems has {len(systems)} entries: a comparison needs at least two names with "
            'scores, such as {"new": scores_new, "old": scores_old}.'
        )
    if baseline is None:
        return np.array(list(combinations(range(len(systems)), 2)))
    against = []
    for name in dict.fromkeys(baseline if isinstance(baseline, list) else [baseline]):
        if name not in systems:
            raise check.unknown_name("baseline", name, map(str, systems))
        against.append(systems.index(name))
    others = [i for i in range(len(systems)) if i not in against]
    if not others or not against:
        raise ValueError(
            f"baseline={baseline!r} has {len(against)} of the {len(systems)} systems: name at "
            "least one, and leave at least one to compare it with."
        )
    return np.array([(i, one) for one in against for i in others])
