"""A page for a browser: tables that sort, significance, differences by query and curves.

The page is one file with styles, program and data, and loads nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skrank._engine.metric import Metric
from skrank._engine.names import columns
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation._comparison import Comparison
    from skrank.trec import TrecReport

CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)
_COLOURS = ("#0b5fa5", "#c8102e", "#1a7f37", "#8a4fbf", "#b25e00", "#007a87", "#6b6b6b", "#d6338a")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .5rem;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
th:first-child,td:first-child,td.text{text-align:left}
td.text{white-space:normal;overflow-wrap:anywhere;min-width:4rem}
th button{all:unset;cursor:pointer;font-weight:600}th button:focus{outline:2px solid #0b5fa5}
th[aria-sort=ascending] button::after{content:" \\25B2"}
th[aria-sort=descending] button::after{content:" \\25BC"}
tr.sure td{background:#eef6ee}figure{margin:1rem 0}svg{max-width:100%;height:auto}
.scroll{overflow-x:auto}label{margin-right:1rem}
"""
_PROGRAM = """
"use strict";
for (const head of document.querySelectorAll("th")) {
  const text = head.textContent;
  const button = document.createElement("button");
  button.textContent = text;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const table = head.closest("table"), place = head.cellIndex;
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => row.cells[place].dataset.value ?? row.cells[place].textContent;
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const x = key(a), y = key(b), difference = Number(x) - Number(y);
      return Number.isNaN(difference) ? x.localeCompare(y) : difference;
    });
    if (down) rows.reverse();
    table.tBodies[0].append(...rows);
  });
}
const data = JSON.parse(document.getElementById("data").textContent);
const chosen = ["metric", "first", "second"].map(name => document.getElementById(name));
function draw() {
  const [metric, first, second] = chosen.map(one => one.value);
  const a = data.values[metric][first], b = data.values[metric][second];
  const bars = data.queries.map((query, i) => [query, a[i] === null ? NaN : a[i] - (b[i] ?? NaN)])
    .filter(bar => !Number.isNaN(bar[1])).sort((x, y) => y[1] - x[1]);
  const top = Math.max(1e-12, ...bars.map(bar => Math.abs(bar[1])));
  const width = Math.max(2, Math.min(24, 900 / Math.max(1, bars.length)));
  const figure = document.getElementById("bars"), space = "http://www.w3.org/2000/svg";
  figure.replaceChildren();
  figure.setAttribute("viewBox", `0 0 ${Math.max(200, width * bars.length)} 240`);
  bars.forEach(([query, difference], i) => {
    const bar = document.createElementNS(space, "rect"), height = Math.abs(difference) / top * 110;
    bar.setAttribute("x", i * width);
    bar.setAttribute("width", width * .85);
    bar.setAttribute("y", difference > 0 ? 120 - height : 120);
    bar.setAttribute("height", Math.max(height, .5));
    bar.setAttribute("fill", difference > 0 ? "#0b5fa5" : "#c8102e");
    const title = document.createElementNS(space, "title");
    title.textContent = `${query}: ${difference.toFixed(4)}`;
    bar.append(title);
    figure.append(bar);
  });
  const wins = bars.filter(bar => bar[1] > 0).length;
  const losses = bars.filter(bar => bar[1] < 0).length;
  document.getElementById("tally").textContent =
    `${first} is better on ${wins} queries, ${second} on ${losses}; equal on ` +
    `${bars.length - wins - losses}. The longest bar is ${top.toFixed(4)}.`;
}
if (chosen[0]) {
  chosen.forEach(one => one.addEventListener("change", draw));
  draw();
}
"""


def page(report: TrecReport, shown: Sequence[str], short: dict[str, str]) -> str:
    """The page of a report.

    Parameters
    ----------
    report : TrecReport
        With the columns of `CURVE` beside those that are shown.
    shown : sequence of str
        Columns to show.
    short : dict of str to str
        What to call them, where that differs.

    Returns
    -------
    str
    """
    names = {name: short.get(name, name) for name in shown}
    several = len(report.mean) > 1
    comparison, trouble = _comparison(report, shown) if several else (None, "")
    parts = [
        "<h1>Evaluation of runs</h1>",
        f"<p>{len(report.mean)} runs, {report.per_query.index.get_level_values('qid').nunique()} "
        "queries. Click the head of a column to sort by it.</p>",
        "<h2>Which run is better?</h2>" if several else "",
        *(f"<p>{_verdict(report, comparison, one, names)}</p>" for one in shown if several),
        f"<p>{escape(trouble)}</p>" if trouble else "",
        "<h2>Means</h2>",
        _means(report, names),
        _comparisons(comparison, names) if comparison is not None else "",
        _differences(report, names) if several else "",
        _curves(report),
    ]
    data = json.dumps(_data(report, names) if several else {}).replace("<", "\\u003c")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width"><title>Evaluation of runs</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + f'\n<script type="application/json" id="data">{data}</script>'
        f"\n<script>{_PROGRAM}</script>\n</body></html>"
    )


def _comparison(report: TrecReport, shown: Sequence[str]) -> tuple[Comparison | None, str]:
    """The comparison of the runs, or None and the reason."""
    try:
        return report.only(shown).compare(), ""
    except ValueError as error:
        return None, f"Differences are not tested: {error}"


def _metric(name: str) -> Metric:
    return next(iter(columns(name).values()))


def _verdict(
    report: TrecReport, comparison: Comparison | None, name: str, names: dict[str, str]
) -> str:
    """A sentence about the best run under a metric, and the test of its lead."""
    means = report.mean[name].sort_values(ascending=not _metric(name).greater_is_better)
    best, second = means.index[:2]
    text = (
        f"<b>{escape(names[name])}</b>: {escape(str(best))} is first with {means.iloc[0]:.4f}, "
        f"then {escape(str(second))} with {means.iloc[1]:.4f}."
    )
    if comparison is None:
        return text
    frame = comparison.to_frame().reset_index()
    pair = (frame.metric == name) & frame.system.isin([best, second])
    row = frame[pair & frame.other.isin([best, second])].iloc[0]
    low, high = (row.low, row.high) if row.system == best else (-row.high, -row.low)
    interval = f"{abs(row.difference):.4f} with the interval [{low:.4f}, {high:.4f}]"
    if row.significant:
        return text + f" The difference, {interval}, is significant (p = {row.p_max_t:.3g})."
    return text + (
        f" The difference, {interval}, is not significant (p = {row.p_max_t:.3g}): either may be "
        "better."
    )


def _cell(value: object) -> str:
    if isinstance(value, (int, np.integer)):
        return f"<td>{value}</td>"
    if not isinstance(value, (float, np.floating)):
        return f'<td class="text">{escape(str(value))}</td>'
    number = float(value)
    text = f"{number:.3g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"
    return f'<td data-value="{number!r}">{text}</td>'


def _table(frame: pd.DataFrame, sure: Sequence[bool] | None = None) -> str:
    heads = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    rows = []
    for place, row in enumerate(frame.itertuples(index=False)):
        mark = ' class="sure"' if sure is not None and sure[place] else ""
        rows.append(f"<tr{mark}>{''.join(map(_cell, row))}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _means(report: TrecReport, names: dict[str, str]) -> str:
    shown = report.mean[list(names)].rename(columns=names).join(report.runs)
    return _table(shown.reset_index())


def _comparisons(comparison: Comparison, names: dict[str, str]) -> str:
    frame = comparison.to_frame().replace({"metric": names})
    sure = frame.pop("significant").tolist()
    frame = frame.drop(columns="p_randomisation")  # so that the table fits a screen of 1280 pixels
    return (
        "<h2>Differences between runs</h2><p>Rows in green are significant at "
        f"{comparison.alpha:g}. p_max_t is corrected for all rows, p_t is not.</p>"
        + _table(frame, sure)
    )


def _data(report: TrecReport, names: dict[str, str]) -> dict[str, object]:
    runs = [str(run) for run in report.mean.index]
    first = report.per_query.loc[report.mean.index[0]]
    values = {
        short: {
            run: [None if np.isnan(x) else float(x) for x in report.per_query.loc[run][name]]
            for run in runs
        }
        for name, short in names.items()
    }
    return {"queries": [str(query) for query in first.index], "values": values}


def _choice(label: str, name: str, options: Sequence[str], chosen: int) -> str:
    inside = "".join(
        f"<option{' selected' * (i == chosen)}>{escape(str(one))}</option>"
        for i, one in enumerate(options)
    )
    return f'<label>{label} <select id="{name}">{inside}</select></label>'


def _differences(report: TrecReport, names: dict[str, str]) -> str:
    runs = [str(run) for run in report.mean.index]
    return (
        "<h2>Differences by query</h2><p>"
        + _choice("Metric", "metric", list(names.values()), 0)
        + _choice("first run", "first", runs, 0)
        + _choice("second run", "second", runs, 1)
        + '</p><figure><svg id="bars" width="900" height="240" role="img" '
        'aria-label="Difference by query"></svg><figcaption id="tally"></figcaption></figure>'
    )


def _curves(report: TrecReport) -> str:
    """Interpolated precision over recall, as SVG."""
    lines, legend = [], []
    for i, run in enumerate(report.mean.index):
        colour = _COLOURS[i % len(_COLOURS)]
        values = report.mean.loc[run, list(CURVE)].to_numpy()
        points = " ".join(
            f"{50 + 500 * level:.1f},{320 - 300 * value:.1f}"
            for level, value in zip(ELEVEN_LEVELS, values, strict=True)
        )
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{escape(str(run))}</title></polyline>"
        )
        legend.append(f'<text x="565" y="{30 + 18 * i}" fill="{colour}">{escape(str(run))}</text>')
    ticks = "".join(
        f'<text x="{50 + 500 * tick:.0f}" y="340" text-anchor="middle">{tick:g}</text>'
        f'<text x="42" y="{324 - 300 * tick:.0f}" text-anchor="end">{tick:g}</text>'
        f'<path d="M50 {320 - 300 * tick:.0f}H550" stroke="#ddd"/>'
        for tick in (0, 0.2, 0.4, 0.6, 0.8, 1)
    )
    height = max(370, 40 + 18 * len(legend))
    return (
        f'<h2>Precision and recall</h2><figure><svg width="760" height="{height}" '
        f'viewBox="0 0 760 {height}" font-size="12" role="img" aria-label="Interpolated precision '
        f'over recall">{ticks}<text x="300" y="362" text-anchor="middle">recall</text>'
        f"{''.join(lines)}{''.join(legend)}</svg><figcaption>Interpolated precision at eleven "
        "levels of recall, mean over queries.</figcaption></figure>"
    )
