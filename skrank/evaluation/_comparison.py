"""What a comparison of systems found, as tables and as text."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skrank._typing import Axes, Options, RandomState
from skrank.evaluation._tables import MarkedTable, Tabular

if TYPE_CHECKING:
    import pandas as pd

CORRECTION_CHOICES = {
    "max-t": "corrected by the largest t of all; intervals hold together at {:g} %",
    "holm": "corrected by Holm's method; intervals hold together at {:g} % (Bonferroni)",
    "none": "not corrected; each interval holds by itself at {:g} %",
}
# Of a table that is printed; longer ones are cut in the middle.
_STYLE: Options = {"float_format": "{:.4f}".format, "max_rows": 40}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """What `compare` found.

    Attributes
    ----------
    means : DataFrame of shape (n_systems, n_metrics)
        Mean over queries of each metric, as its `empty` says.
    per_query : DataFrame of shape (n_queries, n_metrics * n_systems)
        Value of each query; the columns are (metric, system). NaN where a metric is not defined.
        The mean over seeds for systems that have several; values of folds if such were compared.
    test : {"resampled-t", "t", "randomisation", "anytime"}
        The test whose p-values are corrected.
    correction : {"max-t", "holm", "none"}
        For the number of comparisons.
    alpha : float
        Level of significance, and one minus the level of the intervals.
    baseline : str or None
        System that the others are compared with; None if all are with all.
    weighted : bool
        Queries have weights.
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
                What is compared.
            difference, low, high
                Mean of `system` minus mean of `other`, and its confidence interval by `test`, as
                `correction` says: by "max-t" and "holm" all of them hold together with a chance of
                1 - alpha, so that more metrics or systems make each wider. Those of "max-t" exclude
                0 exactly where `significant`. Those of "holm" are Bonferroni's, as Holm's method
                has none: they may hold 0 where it finds a difference. With the randomisation test
                they are Student's. Infinite where queries are too few for any p-value below alpha.
            p_t, p_randomisation
                P-values of the paired t-test and of the randomisation test, of ordinary
                comparisons. With seeds and folds, p_t is that of their own test.
            p_resampled_t, p_anytime
                P-values of these tests, where one is corrected by Holm's method or not at all.
            p_max_t (or p_holm), significant
                P-value of the chosen test corrected over all rows, and whether it is below alpha.
                Without correction there is no such column, and that of the test counts.
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
