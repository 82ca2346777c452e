"""A page for a browser: tables that sort, significance, differences by query and curves.

The page is one file with styles, program and data, and loads nothing. `page.html` has all of it but
the data, which this file fills in.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from skrank._typing import Options
from skrank.evaluation import Report
from skrank.metrics.iprec import ELEVEN_LEVELS, InterpolatedPrecision

# interpolated precision at each of the eleven levels of recall
CURVE = tuple(str(InterpolatedPrecision(recall=level)) for level in ELEVEN_LEVELS)


def page(
    report: Report, names: list[str], options: Options, notes: list[str], command: str, title: str
) -> str:
    """The page of a report.

    Parameters
    ----------
    report : Report
        With the columns of `names` and `CURVE`.
    names : list of str
        Columns to show; runs are sorted by the first.
    options : dict
        Options of `Report.compare`.
    notes : list of str
        Sentences to show, such as on queries without a relevant document.
    command, title : str
        The command that makes the page, and the title of the page.

    Returns
    -------
    str
    """
    columns = [list(report.metric_of).index(name) for name in names]
    signs = [1 if report.metric_of[name].greater_is_better else -1 for name in names]
    order = np.argsort(-signs[0] * report.averages[:, columns[0]], kind="stable")
    means = report.to_frame(options["confidence"])[["mean", "low", "high"]].to_numpy()
    data = {
        "title": title, "made": command, "notes": notes, "confidence": 100 * options["confidence"],
        "metrics": names, "signs": signs, "levels": ELEVEN_LEVELS,
        "queries": report.queries.tolist(),
        "runs": [str(report.systems[run]) for run in order],
        "counts": {key: np.array(counts)[order].tolist() for key, counts in report.counts.items()},
        # shapes (runs, metrics, 3), (runs, metrics, queries), (runs, levels)
        "means": means.reshape(len(order), -1, 3)[order][:, columns].tolist(),
        "values": report.values[order][:, :, columns].swapaxes(1, 2).tolist(),
        # the page scales curves to their highest value, which NaN would be
        "curves": report.mean[list(CURVE)].fillna(0).to_numpy()[order].tolist(),
    }  # fmt: skip
    if len(order) > 1:
        try:
            comparison = report.compare(names, **options)
        except ValueError as error:
            data["untested"] = str(error)
        else:
            tests = comparison.to_frame().drop(columns="p_uncorrected")
            data |= {"caption": comparison.caption, "tests": tests.to_dict("records")}
    # JavaScript, unlike JSON, has NaN and infinity; "<" is escaped, so that no text ends the script
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8").rstrip("\n")
    return template.replace("@DATA@", json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"))
