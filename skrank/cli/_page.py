"""A page for a browser: tables that sort, significance, differences by query and curves.

The page is one file with styles, program and data, and loads nothing. `page.html` has all of it but
the body, which this file writes, and the data of the program.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skrank._typing import Options
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation import Comparison, Report

# interpolated precision at each of the eleven levels of recall
CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)


def page(report: Report, shown: Sequence[str], how: Options, notes: str, made: str) -> str:
    """The page of a report.

    Parameters
    ----------
    report : Report
        With the columns of `shown` and `CURVE`.
    shown : sequence of str
        Columns to show; runs are sorted by the first.
    how : dict
        Options of the comparison of the runs.
    notes, made : str
        How queries without a relevant document count, and how the page was made.

    Returns
    -------
    str
    """
    rises = {name: report.metric_of[name].greater_is_better for name in shown}
    means = report.mean[list(shown)].sort_values(shown[0], ascending=not rises[shown[0]])
    several = len(means) > 1
    comparison = None
    parts = [
        f"<p>{len(means)} run{'s' * several}, {len(report.queries)} queries. Click the head of a "
        f"column to sort by it.</p><p>{escape(notes)}</p>",
    ]
    if several:
        parts.append("<h2>Which run is better?</h2>")
        try:
            comparison = report.compare(shown, **how)
        except ValueError as error:
            parts.append(f"<p>Differences are not tested: {escape(str(error))}</p>")
        parts += [f"<p>{_verdict(means[one], comparison, rises[one])}</p>" for one in shown]
    best = means.eq([means[one].max() if rises[one] else means[one].min() for one in shown])
    counts = report.mean[[]].assign(**report.counts)
    frame = means.join(counts).rename_axis("run").reset_index()
    confidence = how.get("confidence", 0.95)
    ends = report.to_frame(confidence)[["low", "high"]].unstack().swaplevel(axis=1)
    bounds = ends.loc[means.index, list(shown)].to_numpy().reshape(*means.shape, 2)
    parts += [
        f"<h2>Means</h2><p>In brackets: intervals of {100 * confidence:g} %, each of which holds "
        "by itself. Best values are bold.</p>",
        _table(frame, best=best.to_numpy(), bounds=bounds),
    ]
    if comparison is not None:
        parts.append(_comparisons(comparison))
    if not several:
        by_query = report.per_query[list(shown)].droplevel("system").reset_index()
        table = _table(by_query)
        parts.append(f"<details><summary>Values by query</summary>{table}</details>")
    data = json.dumps(_data(report, shown)).replace("<", "\\u003c")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    before, after = template.split("@BODY@")
    after = after.replace("@MADE@", escape(made)).replace("@DATA@", data)
    return before + "\n".join(parts) + after.rstrip("\n")


def _verdict(means: pd.Series, comparison: Comparison | None, greater_is_better: bool) -> str:
    """A sentence about the best run under a metric, and the test of its lead."""
    ordered = means.sort_values(ascending=not greater_is_better)
    best, second = ordered.index[:2]
    text = (
        f"<b>{escape(str(means.name))}</b>: {escape(str(best))} is first with "
        f"{ordered.iloc[0]:.4f}, then {escape(str(second))} with {ordered.iloc[1]:.4f}."
    )
    if comparison is None:
        return text
    frame = comparison.to_frame()
    pair = (frame.metric == means.name) & frame.system.isin([best, second])
    rows = frame[pair & frame.other.isin([best, second])]
    if rows.empty:  # only the differences from a baseline are tested
        return text
    row = rows.iloc[0]
    sure = "significant" if row.significant else "not significant, so that either may be better"
    return f"{text} The difference is {sure} (p = {row.p_corrected:.3g}, see below)."


def _cell(value: object, *, best: bool, ends: np.ndarray) -> str:
    if isinstance(value, (int, np.integer)):
        return f"<td>{value}</td>"
    if not isinstance(value, (float, np.floating)):
        return f'<td class="text">{escape(str(value))}</td>'
    number = float(value)
    text = f"{number:.3g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"
    if not np.isnan(ends).any():
        text += f" <small>[{ends[0]:.3f}, {ends[1]:.3f}]</small>"
    return f'<td{" class=best" * best} data-value="{number!r}">{text}</td>'


def _table(
    frame: pd.DataFrame,
    significant: Sequence[bool] | None = None,
    best: np.ndarray | None = None,
    bounds: np.ndarray | None = None,
) -> str:
    """A table; `best` marks values, and `bounds` are their intervals, from the second column on."""
    heads = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    marked, ends = np.zeros(frame.shape, bool), np.full((*frame.shape, 2), np.nan)
    if best is not None and bounds is not None:
        marked[:, 1 : 1 + best.shape[1]], ends[:, 1 : 1 + best.shape[1]] = best, bounds
    rows = []
    for place, row in enumerate(frame.itertuples(index=False)):
        sure = ' class="sure"' if significant is not None and significant[place] else ""
        marks = zip(row, marked[place], ends[place], strict=True)
        cells = (_cell(value, best=bool(mark), ends=both) for value, mark, both in marks)
        rows.append(f"<tr{sure}>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _comparisons(comparison: Comparison) -> str:
    frame = comparison.to_frame()
    significant = frame.pop("significant").tolist()
    frame = frame.drop(columns="p_uncorrected")  # so that the table fits a screen of 1280 pixels
    return (
        "<h2>Differences between runs</h2><p>Rows in green are significant at "
        f"{100 * comparison.confidence:g} % confidence. {escape(comparison.caption)}.</p>"
        f"{_table(frame, significant)}"
    )


def _data(report: Report, shown: Sequence[str]) -> dict[str, object]:
    """The data that the page draws: values by metric and run, with None for NaN, and curves."""
    runs = list(map(str, report.systems))
    cube, places = report.values.astype(object), list(report.metric_of)
    cube[np.isnan(report.values)] = None
    values = {
        name: dict(zip(runs, cube[:, :, places.index(name)].tolist(), strict=True))
        for name in shown
    }
    signs = [1 if report.metric_of[name].greater_is_better else -1 for name in shown]
    curves = np.nan_to_num(report.averages[:, [places.index(name) for name in CURVE]])
    return {
        "queries": report.queries.tolist(), "runs": runs, "values": values,
        "signs": dict(zip(values, signs, strict=True)), "levels": ELEVEN_LEVELS,
        "curves": curves.tolist(),
    }  # fmt: skip
