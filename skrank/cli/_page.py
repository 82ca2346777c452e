"""A page for a browser: tables that sort, significance, differences by query and curves.

The page is one file with styles, program and data, and loads nothing. `page.html` has all of it but
the data, which this file fills in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._typing import Options
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation import Comparison, Report

# interpolated precision at each of the eleven levels of recall
CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)


def page(
    report: Report, shown: Sequence[str], how: Options, notes: Sequence[str], made: str, title: str
) -> str:
    """The page of a report.

    Parameters
    ----------
    report : Report
        With the columns of `shown` and `CURVE`.
    shown : sequence of str
        Columns to show; runs are sorted by the first.
    how : dict
        Options of the comparison of the runs.
    notes, made, title : str
        How queries without a relevant document count, and other facts; how the page was made.

    Returns
    -------
    str
    """
    rises = {name: report.metric_of[name].greater_is_better for name in shown}
    means = report.mean[list(shown)].sort_values(shown[0], ascending=not rises[shown[0]])
    comparison, untested = None, ""
    if len(means) > 1:
        try:
            comparison = report.compare(shown, **how)
        except ValueError as error:
            untested = f"<p>Differences are not tested: {escape(str(error))}</p>\n"
    best = means.eq([means[name].max() if rises[name] else means[name].min() for name in shown])
    confidence = how.get("confidence", 0.95)
    ends = report.to_frame(confidence)[["low", "high"]].unstack().swaplevel(axis=1)
    bounds = ends.loc[means.index, list(shown)].to_numpy().reshape(*means.shape, 2)
    counts = report.mean[[]].assign(**report.counts)
    filled = {
        "TITLE": escape(title),
        "COUNT": check.counted(len(means), "run"),
        "QUERIES": str(len(report.queries)),
        "NOTES": "".join(f"<p>{escape(note)}</p>" for note in notes),
        "CONFIDENCE": f"{100 * confidence:g}",
        "MEANS": _table(means.join(counts).rename_axis("run").reset_index(), best, bounds),
        "DATA": json.dumps(_data(report, shown)).replace("<", "\\u003c"),
        "MADE": escape(made),
    }
    if len(means) > 1:
        verdicts = (_verdict(means[name], comparison, rises[name]) for name in shown)
        filled["VERDICTS"] = untested + "\n".join(f"<p>{verdict}</p>" for verdict in verdicts)
    else:
        by_query = report.per_query[list(shown)].droplevel("system").reset_index()
        filled["VALUES"] = _table(by_query)
    if comparison is not None:
        filled["CAPTION"] = escape(comparison.caption)
        filled["COMPARISONS"] = _table(comparison.to_frame().drop(columns="p_uncorrected"))
    parts = {"several": "VERDICTS", "single": "VALUES", "compared": "CAPTION"}
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8").rstrip("\n")
    template = re.sub(
        r"(?s)<!-- if (\w+) -->\n(.*?)<!-- end -->\n",
        lambda part: part[2] if parts[part[1]] in filled else "",
        template,
    )
    return re.sub(r"@([A-Z]+)@", lambda place: filled[place[1]], template)


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


def _table(
    frame: pd.DataFrame, best: pd.DataFrame | None = None, bounds: np.ndarray | None = None
) -> str:
    """A table; rows that are `significant` are marked, as are the `best` values.

    `bounds` are intervals of the values from the second column on.
    """
    sure = frame["significant"] if "significant" in frame else np.zeros(len(frame), bool)
    frame = frame.drop(columns="significant", errors="ignore")
    heads = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    rows = []
    for place, row in enumerate(frame.itertuples(index=False)):
        cells = [_cell(value) for value in row]
        if best is not None and bounds is not None:
            for column, (low, high) in enumerate(bounds[place].tolist(), 1):
                mark = " class=best" if best.iloc[place, column - 1] else ""
                ends = "" if np.isnan(low + high) else f" <small>[{low:.3f}, {high:.3f}]</small>"
                cell = cells[column].replace("<td", f"<td{mark}")
                cells[column] = cell.replace("</td>", f"{ends}</td>")
        mark = ' class="sure"' if sure[place] else ""
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, (int, np.integer)):
        return f"<td>{value}</td>"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        text = f"{number:.3g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"
        return f'<td data-value="{number!r}">{text}</td>'
    text = re.sub(r"([._])(?=.)", r"\1</span><wbr><span>", escape(str(value)))
    return f'<td class="text">{f"<span>{text}</span>" if "<wbr>" in text else text}</td>'


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
