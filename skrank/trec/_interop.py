"""For other tools: runs as lines, and measures of ir_measures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from skrank.metrics import Metric, metric
from skrank.trec._evaluate import evaluate
from skrank.trec._sources import read_run

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures.measures import Measure


def ir_measure(name: str | Metric) -> Measure:
    """Make a measure of ir_measures from a metric of skrank.

    It can be used as the measures of ir_measures: in ``ir_measures.calc_aggregate``, and in the
    ``eval_metrics`` of ``pyterrier.Experiment``. Queries without a relevant document count as 0, as
    for all measures of ir_measures, unless the metric says 1.

    Parameters
    ----------
    name : str or Metric
        Metrics whose values depend on the highest grade, such as ERR, need ``max_grade``, as each
        query is measured alone. The mean must be arithmetic.

    Returns
    -------
    ir_measures.measures.Measure
        Its name is the full name of the metric.

    Raises
    ------
    ValueError
        If the highest grade is missing, or the metric has another mean.
    ImportError
        If ir_measures is not installed.

    Examples
    --------
    >>> import ir_measures
    >>> from skrank import trec
    >>> gap = trec.ir_measure("gap@10")
    >>> values = ir_measures.calc_aggregate([gap], {"1": {"a": 2, "b": 1}}, {"1": {"b": 2, "a": 1}})
    >>> round(values[gap], 4)
    0.8333
    """
    import ir_measures

    chosen = metric(name)
    if chosen.needs_scale or chosen.average != "macro":
        raise ValueError(
            f"ir_measures measures each query of {chosen} by itself, and takes arithmetic means: "
            'give max_grade, or choose average="macro".'
        )
    counted = dataclasses.replace(chosen, empty=0) if chosen.empty == "skip" else chosen

    def values(qrels: pd.DataFrame, run: pd.DataFrame) -> Iterator[tuple[str, float]]:
        has = qrels["query_id"].isin(run["query_id"])
        if has.any():  # else the run has no judged query, and there is no value
            per_query = evaluate(qrels[has], run, counted).per_query.iloc[:, 0]
            yield from per_query.droplevel("system").items()

    return ir_measures.define(values, name=str(chosen), support_cutoff=False)


def run_lines(run: object) -> str:
    """The lines of a run in TREC's format: query, Q0, document, rank, score and name.

    Parameters
    ----------
    run : Run, dict, table or file
        As `evaluate` takes one run. `fuse` returns a Run; `read_run` gives another name.

    Returns
    -------
    str
        Scores have as many digits as they need to be read back unchanged.

    Raises
    ------
    ValueError
        If an id or the name of the run is empty or has white space, which separates columns.

    Examples
    --------
    >>> from skrank import trec
    >>> run = trec.Run.from_arrays(["1", "1"], ["a", "b"], [0.5, 0.7], name="bm25")
    >>> print(trec.run_lines(run), end="")
    1 Q0 b 1 0.7 bm25
    1 Q0 a 2 0.5 bm25
    """
    run = read_run(run)
    documents, queries = run.documents.to_list(), run.queries
    for text in (run.name, *queries.ids, *documents):
        if not re.fullmatch(r"[^\x00-\x20]+", text):
            raise ValueError(
                f"{text!r} is empty or has white space, which separates fields of TREC: rename it."
            )
    ids, ranks = queries.ids[queries.row_query], run.rank_in_query
    rows = zip(ids, documents, ranks, run.scores.tolist(), strict=True)
    return "".join(f"{q} Q0 {d} {rank} {score!r} {run.name}\n" for q, d, rank, score in rows)
