"""A page for a browser: tables that sort, significance, differences by query and curves.

The page is one file with styles, program and data, and loads nothing. `page.html` has all of it but
the body, which this file writes, and the data of the program.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skrank._typing import Options
from skrank.metrics.iprec import ELEVEN_LEVELS

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation import Comparison, Report

_COLOURS = ("#0b5fa5", "#c8102e", "#1a7f37", "#8a4fbf", "#b25e00", "#007a87", "#6b6b6b", "#d6338a")
_DIFFERENCES = """<h2>Differences by query</h2>
<p><label>Metric <select id="metric"></select></label>
<label>first run <select id="first"></select></label>
<label>second run <select id="second"></select></label></p>
<figure><svg id="bars" width="900" height="240" role="img" aria-label="Difference by query"></svg>
<figcaption id="tally"></figcaption></figure>
<details><summary>Values by query</summary><div class="scroll"><table><thead><tr>
<th scope="col">query</th><th scope="col" id="first-name"></th>
<th scope="col" id="second-name"></th><th scope="col">difference</th></tr></thead>
<tbody id="queries"></tbody></table></div></details>"""
_P_VALUES = {
    "p_max_t": "p_max_t is corrected for all rows: it is the probability that the largest t of all "
    "rows reaches the t of this row if the runs do not differ.",
    "p_holm": "p_holm is corrected for all rows by Holm's method.",
}


def page(
    report: Report,
    shown: Sequence[str],
    curve: Sequence[str],
    short: dict[str, str],
    how: Options,
    notes: str,
    made: str,
) -> str:
    """The page of a report.

    Parameters
    ----------
    report : Report
        With the columns of `shown` and `curve`.
    shown : sequence of str
        Columns to show; runs are sorted by the first.
    curve : sequence of str
        Columns with the interpolated precision at each of the eleven levels of recall.
    short : dict of str to str
        What to show in place of names of columns.
    how : dict
        Options of the comparison of the runs.
    notes, made : str
        How queries without a relevant document count, and how the page was made.

    Returns
    -------
    str
    """
    names = {name: short[name] for name in shown}
    rises = {name: report.metric_of[name].greater_is_better for name in shown}
    means = report.mean[list(names)].sort_values(shown[0], ascending=not rises[shown[0]])
    several = len(means) > 1
    comparison, trouble = _comparison(report, shown, how) if several else (None, "")
    parts = [
        "<h1>Evaluation of runs</h1>",
        f"<p>{len(means)} run{'s' * several}, {len(report.queries)} queries. Click the head of a "
        f"column to sort by it.</p><p>{escape(notes)}</p>",
    ]
    if several:
        parts.append("<h2>Which run is better?</h2>")
        parts += [
            f"<p>{_verdict(means[one], comparison, rises[one], names[one])}</p>" for one in shown
        ]
    if trouble:
        parts.append(f"<p>{escape(trouble)}</p>")
    best = means.eq([means[one].max() if rises[one] else means[one].min() for one in shown])
    counts = report.mean[[]].assign(**report.counts)
    frame = means.rename(columns=names).join(counts).rename_axis("run").reset_index()
    parts += ["<h2>Means</h2>", _table(frame, best=best.to_numpy())]
    if comparison is not None:
        parts.append(_comparisons(comparison, names))
    if several:
        parts.append(_DIFFERENCES)
    parts += [_curves(report, curve), f"<footer>{escape(made)}</footer>"]
    data = json.dumps(_data(report, names) if several else {}).replace("<", "\\u003c")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    before, after = template.split("@BODY@")
    return before + "\n".join(parts) + after.replace("@DATA@", data).rstrip("\n")


def _comparison(
    report: Report, shown: Sequence[str], how: Options
) -> tuple[Comparison | None, str]:
    """The comparison of the runs, or None and the reason."""
    try:
        return report.compare(shown, **how), ""
    except ValueError as error:
        return None, f"Differences are not tested: {error}"


def _corrected(comparison: Comparison) -> str:
    """The column of the p-values that decide what is significant."""
    columns = {"max-t": "p_max_t", "holm": "p_holm"}
    return columns.get(comparison.correction, f"p_{comparison.test.replace('-', '_')}")


def _verdict(
    means: pd.Series, comparison: Comparison | None, greater_is_better: bool, shown: str
) -> str:
    """A sentence about the best run under a metric, and the test of its lead."""
    ordered = means.sort_values(ascending=not greater_is_better)
    best, second = ordered.index[:2]
    text = (
        f"<b>{escape(shown)}</b>: {escape(str(best))} is first with {ordered.iloc[0]:.4f}, "
        f"then {escape(str(second))} with {ordered.iloc[1]:.4f}."
    )
    if comparison is None:
        return text
    frame = comparison.to_frame()
    pair = (frame.metric == means.name) & frame.system.isin([best, second])
    rows = frame[pair & frame.other.isin([best, second])]
    if rows.empty:  # only the differences from a baseline are tested
        return text
    row = rows.iloc[0]
    p = row[_corrected(comparison)]
    difference, low, high = row.difference, row.low, row.high
    if row.system == second:
        difference, low, high = -difference, -high, -low
    interval = f"{difference:.4f} with the interval [{low:.4f}, {high:.4f}]"
    if row.significant:
        return text + f" The difference, {interval}, is significant (p = {p:.3g})."
    return (
        f"{text} The difference, {interval}, is not significant (p = {p:.3g}): either may be "
        "better."
    )


def _cell(value: object, *, best: bool) -> str:
    if isinstance(value, (int, np.integer)):
        return f"<td>{value}</td>"
    if not isinstance(value, (float, np.floating)):
        return f'<td class="text">{escape(str(value))}</td>'
    number = float(value)
    text = f"{number:.3g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"
    return f'<td{" class=best" * best} data-value="{number!r}">{text}</td>'


def _table(
    frame: pd.DataFrame, significant: Sequence[bool] | None = None, best: np.ndarray | None = None
) -> str:
    """A table; `best` is True for values to mark, whose columns come after the first."""
    heads = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    marked = np.zeros(frame.shape, bool)
    if best is not None:
        marked[:, 1 : 1 + best.shape[1]] = best
    rows = []
    for place, row in enumerate(frame.itertuples(index=False)):
        sure = ' class="sure"' if significant is not None and significant[place] else ""
        cells = (_cell(value, best=bool(marked[place, i])) for i, value in enumerate(row))
        rows.append(f"<tr{sure}>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _comparisons(comparison: Comparison, names: dict[str, str]) -> str:
    frame = comparison.to_frame().replace({"metric": names})
    significant = frame.pop("significant").tolist()
    corrected = _corrected(comparison)
    others = [one for one in ("p_randomisation", "p_t") if one in frame and one != corrected]
    frame = frame.drop(columns=others)  # so that the table fits a screen of 1280 pixels
    what = _P_VALUES.get(corrected, f"{corrected} is not corrected for the number of rows.")
    return (
        "<h2>Differences between runs</h2><p>Rows in green are significant at "
        f"{comparison.alpha:g}. {what}</p>{_table(frame, significant)}"
    )


def _data(report: Report, names: dict[str, str]) -> dict[str, object]:
    """The data that the page draws: values by metric and run, with None for NaN."""
    cube = report.values.astype(object)
    cube[np.isnan(report.values)] = None
    runs, metrics = list(map(str, report.systems)), list(report.metric_of)
    values = {
        short: dict(zip(runs, cube[:, :, metrics.index(name)].tolist(), strict=True))
        for name, short in names.items()
    }
    signs = [1 if report.metric_of[name].greater_is_better else -1 for name in names]
    return {
        "queries": report.queries.tolist(), "runs": runs, "values": values,
        "signs": dict(zip(values, signs, strict=True)),
    }  # fmt: skip


def _curves(report: Report, curve: Sequence[str]) -> str:
    """Interpolated precision over recall, as SVG."""
    table = report.mean[list(curve)]
    top = max(math.ceil(10 * np.nanmax(table.to_numpy())), 1) / 10
    lines, legend = [], []
    for i, (run, values) in enumerate(zip(table.index, table.to_numpy(), strict=True)):
        colour = _COLOURS[i % len(_COLOURS)]
        points = " ".join(
            f"{50 + 500 * level:.1f},{320 - 300 * value / top:.1f}"
            for level, value in zip(ELEVEN_LEVELS, values, strict=True)
        )
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{escape(str(run))}</title></polyline>"
        )
        legend.append(f'<text x="50" y="{390 + 18 * i}" fill="{colour}">{escape(str(run))}</text>')
    ticks = "".join(
        f'<text x="{50 + 500 * tick:.0f}" y="340" text-anchor="middle">{tick:g}</text>'
        f'<text x="42" y="{324 - 300 * tick:.0f}" text-anchor="end">{tick * top:.2g}</text>'
        f'<path d="M50 {320 - 300 * tick:.0f}H550" stroke="#ddd"/>'
        for tick in (0, 0.2, 0.4, 0.6, 0.8, 1)
    )
    height = 390 + 18 * len(legend)
    return (
        f'<h2>Precision and recall</h2><figure><svg width="570" height="{height}" '
        f'viewBox="0 0 570 {height}" font-size="13" role="img" aria-label="Interpolated precision '
        f'over recall">{ticks}<text x="300" y="362" text-anchor="middle">recall</text>'
        f"{''.join(lines)}{''.join(legend)}</svg><figcaption>Interpolated precision at eleven "
        "levels of recall, mean over queries.</figcaption></figure>"
    )
