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
from skrank.evaluation._tables import Tabular, Worse
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from skrank.plotting import IntervalDisplay

TEST_CHOICES = {
    "resampled-t": "t-test by resampling",
    "t": "paired t-test",
    "randomisation": "randomisation test",
}
CORRECTION_CHOICES = {
    "max-t": "corrected by the largest t of all; intervals hold together at {:g} %",
    "holm": "corrected by Holm's method; intervals hold together at {:g} % (Bonferroni)",
    "none": "not corrected; each interval holds by itself at {:g} %",
}


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
    test : {"resampled-t", "t", "randomisation"}
        Test whose p-values are corrected.
    correction : {"max-t", "holm", "none"}
        Correction for the number of comparisons.
    confidence : float
        Level of the intervals, and of what is called significant.
    baseline : hashable, list or None
        Systems that the others are compared with; None if all systems are compared with all.
    weighted : bool
        True if queries have weights.
    random_state : int, Generator, RandomState or None
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    test: str
    correction: str
    confidence: float
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
                probability `confidence`, so more metrics or systems make each interval wider.
                Intervals of "max-t" exclude 0 exactly where `significant` is True. Intervals of
                "holm" are Bonferroni's, because Holm's method has none: they may contain 0 where
                Holm's method finds a difference. With the randomisation test, intervals are
                Student's. Intervals of "resampled-t" are infinite if queries are too few for a
                p-value below 1 - confidence.
            p_t, p_randomisation
                P-values of the paired t-test and of the randomisation test. With seeds and folds,
                p_t is the p-value of their own t-test, and p_randomisation is missing.
            p_resampled_t
                P-value of "resampled-t", if corrected by Holm's method or not at all.
            p_max_t or p_holm
                P-value of the chosen test corrected over all rows; missing without correction.
            significant
                True if this p-value, or without correction that of the test, is below
                1 - confidence.
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
            Where to draw. Default: a new figure.
        **kwargs
            Passed to `matplotlib.axes.Axes.errorbar`.

        Returns
        -------
        skrank.plotting.IntervalDisplay
        """
        from skrank.plotting import IntervalDisplay

        name = check.chosen_names("metric", metric, self.means.columns)[0]
        found = self._table[self._table["metric"] == name]
        names = found["system"].astype(str) + " \u2212 " + found["other"].astype(str)
        table = found.rename(columns={"difference": "value"}).set_index(names)
        each = "each by itself" if self.correction == "none" else "all together"
        title = f"intervals hold {each} at {100 * self.confidence:g} %"
        table, label = table[["value", "low", "high"]], f"difference of {name}"
        display = IntervalDisplay(table, label=label, title=title, reference=0.0)
        return display.plot(ax, **kwargs)

    def _shown(self) -> tuple[pd.DataFrame, str, Sequence[bool], Worse]:
        rows, columns = (list(axis) for axis in self.means.axes)
        worse: dict[tuple[int, int], list[int]] = {}
        for found in self._table[self._table["significant"]].itertuples():
            pair = rows.index(found.system), rows.index(found.other)
            ahead = (found.difference > 0) == self._greater_is_better[found.metric]
            place = pair[not ahead], columns.index(found.metric)
            worse.setdefault(place, []).append(pair[ahead])
        caption = (
            f"{self._caption()}. Best values are bold; superscripts name the systems that a value "
            "is significantly better than."
        )
        return self.means, caption, [*self._greater_is_better.values()], worse

    def _caption(self) -> str:
        how = CORRECTION_CHOICES[self.correction].format(100 * self.confidence)
        queries = self._table["queries"]
        compared = " to ".join(map(str, sorted({queries.min(), queries.max()})))
        unit = "folds" if self.per_query.index.name == "fold" else "queries"
        weighted = ", weighted" * self.weighted
        return (
            f"{len(self.means)} systems on {compared} of "
            f"{len(self.per_query)} {unit}{weighted}: {len(self._table)} comparison(s) "
            f"by {self._test_text}, {self._table['significant'].sum()} significant at "
            f"{100 * self.confidence:g} % confidence, {how}; random_state={self.random_state}"
        )

    def _printed(self) -> list[tuple[pd.DataFrame, bool]]:
        return [(self.means, True), (self._table, False)]


def compare_values(
    per_query: pd.DataFrame,
    means: pd.DataFrame,
    metric_of: Mapping[str, Metric],
    *,
    weights: np.ndarray | None = None,
    baseline: Hashable = None,
    test: str | None = None,
    correction: str | None = None,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: RandomState = 0,
    own_test: tuple[str, Callable[[np.ndarray, float], Tested]] | None = None,
) -> Comparison:
    """Compare systems whose values per query are known.

    The columns of `per_query` are (metric, system), the systems of a metric side by side and in one
    order; `means` are of systems x metrics. `metric_of` has the metric of each column of `means`;
    it is empty for scores of folds, whose greater values are better. `own_test` is a test for
    values over seeds or folds: its name, and a function of pairs and 1 - confidence. The other
    parameters are those of `compare`.
    """
    import pandas as pd

    from skrank import stats

    pairs = system_pairs(list(means.index), baseline)
    test, correction = _choices(test, correction, own_test is not None)
    check.check_draws(n_resamples, random_state)
    confidence, alpha = check.check_confidence(confidence)
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
    paired = stats.paired_t(per_query, confidence=1 - level, **how)
    low, high, p_values = paired.low, paired.high, {"t": paired.p_value}
    if own_test is not None:
        p_values["t"], low, high = own_test[1](columns, level)
    else:
        p_values["randomisation"] = stats.randomisation_test(per_query, **how, **resampled).p_value
    if test == "resampled-t":
        adjust = correction == "max-t"
        largest = stats.max_t(per_query, adjust=adjust, confidence=1 - level, **how, **resampled)
        p_values["max-t" if adjust else test] = largest.p_value
        low, high = largest.low, largest.high
    corrected = p_values["max-t" if correction == "max-t" else test]
    if correction == "holm":
        corrected = p_values["holm"] = stats.holm(corrected)
    # scikit-learn's scores of folds are better where they are greater
    rises = dict.fromkeys(means.columns, True)
    rises |= {name: one.greater_is_better for name, one in metric_of.items()}
    first, second = (per_query.columns[numbers] for numbers in columns.T)
    names, of_system = (first.get_level_values(name) for name in ("metric", "system"))
    effect_size, ahead, behind = paired_effects(per_query, columns, weights)
    rising = np.array([rises[name] for name in names], dtype=bool)
    p_columns = {f"p_{name.replace('-', '_')}": p for name, p in p_values.items()}
    table = pd.DataFrame({
        "metric": names, "system": of_system, "other": second.get_level_values("system"),
        "difference": paired.difference, "low": low, "high": high, **p_columns,
        "significant": corrected < alpha, "effect_size": effect_size,
        "wins": np.where(rising, ahead, behind), "ties": paired.n_queries - ahead - behind,
        "losses": np.where(rising, behind, ahead), "queries": paired.n_queries,
    })  # fmt: skip
    text = TEST_CHOICES[test] if own_test is None else own_test[0]
    return Comparison(
        means, per_query, test, correction, confidence, baseline, weights is not None, random_state,
        table, text, rises,
    )  # fmt: skip


def _choices(test: str | None, correction: str | None, has_own_test: bool) -> tuple[str, str]:
    """The test and the correction, by default those that hold their level best."""
    if has_own_test and test not in (None, "t"):
        raise ValueError(f"test={test!r} does not count seeds: leave test out.")
    test = test or ("t" if has_own_test else "resampled-t")
    check.check_choice("test", test, tuple(TEST_CHOICES))
    correction = correction or ("max-t" if test == "resampled-t" else "holm")
    check.check_choice("correction", correction, tuple(CORRECTION_CHOICES))
    if correction == "max-t" and test != "resampled-t":
        raise ValueError(f'correction="max-t" is not for test={test!r}: choose correction="holm".')
    return test, correction


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
