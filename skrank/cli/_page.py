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

from skrank._engine.metric import Metric
from skrank._engine.names import columns
from skrank.metrics.iprec import ELEVEN_LEVELS

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation import Comparison
    from skrank.trec import TrecReport

_COLOURS = ("#0b5fa5", "#c8102e", "#1a7f37", "#8a4fbf", "#b25e00", "#007a87", "#6b6b6b", "#d6338a")
_DIFFERENCES = """<h2>Differences by query</h2>
<p><label>Metric <select id="metric"></select></label>
<label>first run <select id="first"></select></label>
<label>second run <select id="second"></select></label></p>
<figure><svg id="bars" width="900" height="240" role="img" aria-label="Difference by query"></svg>
<figcaption id="tally"></figcaption></figure>"""


def page(
    report: TrecReport, shown: Sequence[str], curve: Sequence[str], short: dict[str, str]
) -> str:
    """The page of a report.

    Parameters
    ----------
    report : TrecReport
        With the columns of `shown` and `curve`.
    shown : sequence of str
        Columns to show.
    curve : sequence of str
        Columns with the interpolated precision at each of the eleven levels of recall.
    short : dict of str to str
        What to show in place of names of columns.

    Returns
    -------
    str
    """
    names = {name: short.get(name, name) for name in shown}
    several = len(report.mean) > 1
    comparison, trouble = _comparison(report, shown) if several else (None, "")
    n_queries = len(report.queries)
    parts = [
        "<h1>Evaluation of runs</h1>",
        f"<p>{len(report.mean)} runs, {n_queries} queries. Click the head of a column to sort by "
        "it.</p>",
    ]
    if several:
        parts.append("<h2>Which run is better?</h2>")
        parts += [f"<p>{_verdict(report, comparison, one, names)}</p>" for one in shown]
    if trouble:
        parts.append(f"<p>{escape(trouble)}</p>")
    parts += ["<h2>Means</h2>", _means(report, names)]
    if comparison is not None:
        parts.append(_comparisons(comparison, names))
    if several:
        parts.append(_DIFFERENCES)
    parts.append(_curves(report, curve))
    data = json.dumps(_data(report, names) if several else {}).replace("<", "\\u003c")
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    before, after = template.split("@BODY@")
    return before + "\n".join(parts) + after.replace("@DATA@", data).rstrip("\n")


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


def _table(frame: pd.DataFrame, significant: Sequence[bool] | None = None) -> str:
    heads = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in frame.columns)
    rows = []
    for place, row in enumerate(frame.itertuples(index=False)):
        mark = ' class="sure"' if significant is not None and significant[place] else ""
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
    significant = frame.pop("significant").tolist()
    frame = frame.drop(columns="p_randomisation")  # so that the table fits a screen of 1280 pixels
    return (
        "<h2>Differences between runs</h2><p>Rows in green are significant at "
        f"{comparison.alpha:g}. p_max_t is corrected for all rows, p_t is not.</p>"
        + _table(frame, significant)
    )


def _data(report: TrecReport, names: dict[str, str]) -> dict[str, object]:
    """The data that the page draws: values by metric and run, with None for NaN."""
    cube = report.found.values.astype(object)
    cube[np.isnan(report.found.values)] = None
    runs = list(map(str, report.names))
    values = {
        short: dict(zip(runs, cube[:, :, report.metrics.index(name)].tolist(), strict=True))
        for name, short in names.items()
    }
    queries = report.queries.tolist()
    return {"queries": queries, "metrics": list(values), "runs": runs, "values": values}


def _curves(report: TrecReport, curve: Sequence[str]) -> str:
    """Interpolated precision over recall, as SVG."""
    lines, legend = [], []
    for i, run in enumerate(report.mean.index):
        colour = _COLOURS[i % len(_COLOURS)]
        values = report.mean.loc[run, list(curve)].to_numpy()
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
