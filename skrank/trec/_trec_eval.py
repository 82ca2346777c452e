"""The output of trec_eval: a line per measure, query by query and for all of them."""

from __future__ import annotations

import numpy as np

from skrank import _validation as check
from skrank._engine.names import columns
from skrank._engine.peer_names import split_prefix, split_trec
from skrank._engine.peer_tables import TREC_EVAL
from skrank.trec._evaluate import TrecReport


def trec_eval_lines(report: TrecReport, *, per_query: bool = False) -> str:
    """The lines that trec_eval prints: name, query or "all", and value of each measure.

    Parameters
    ----------
    report : TrecReport
    per_query : bool
        Whether to print the values of each query before those of all queries, as with ``-q``.

    Returns
    -------
    str
        Lines in the order of trec_eval's measures, then those of metrics that trec_eval does not
        have. A line with the name of the run comes first if there are several runs, or if the
        number of queries is printed.

    Examples
    --------
    >>> from skrank import trec
    >>> report = trec.evaluate({"1": {"a": 1}}, {"1": {"b": 2, "a": 1}}, ["P_5", "num_q"])
    >>> print(trec.trec_eval_lines(report))
    runid                 	all	run
    num_q                 	all	1
    P_5                   	all	0.2000
    """
    check.check_result("report", report, TrecReport, "trec.evaluate")
    names = sorted(report.metrics, key=_place)
    place = {name: report.metrics.index(name) for name in names}
    counts = {name: next(iter(columns(name).values())).average == "sum" for name in names}
    shown = {name: _printed(split_prefix(name)[1]) for name in names}
    by_query = [name for name in names if not shown[name].startswith(("gm_", "num_q"))]
    found = report.found
    lines = []
    for run, values, weights, mean in zip(
        report.names, found.values, found.weights, found.mean, strict=True
    ):
        if per_query:
            counted = np.flatnonzero((weights > 0).any(axis=1)).tolist()
            for row in sorted(counted, key=report.queries.__getitem__):
                query, its_values = report.queries[row], values[row]
                lines += [
                    _line(shown[name], query, its_values[place[name]], counts[name])
                    for name in by_query
                ]
        if len(report.names) > 1 or "num_q" in shown.values():
            lines.append(f"{'runid':<22}\tall\t{run}")
        lines += [_line(shown[name], "all", mean[place[name]], counts[name]) for name in names]
    return "\n".join(lines)


def _line(name: str, query: str, value: float, count: bool) -> str:
    return f"{name:<22}\t{query}\t" + (f"{value:.0f}" if count else f"{value:6.4f}")


def _printed(name: str) -> str:
    """A name as trec_eval prints it: ``P.5`` is P_5."""
    parts = split_trec(name)
    return "_".join(part for part in parts if part) if parts else name


def _place(name: str) -> tuple[int, float]:
    """The place of a measure in the order of trec_eval, and its parameter."""
    parts = split_trec(split_prefix(name)[1])
    if parts is None:
        return len(TREC_EVAL), 0.0
    measure, given = parts
    try:
        return list(TREC_EVAL).index(measure), float(given or 0)
    except ValueError:
        return list(TREC_EVAL).index(measure), 0.0
