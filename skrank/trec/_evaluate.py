"""Evaluation of runs in TREC's formats, in the order and by the conventions of trec_eval."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from skrank import _validation as check
from skrank._progress import tracked
from skrank._typing import Options
from skrank._warnings import warn
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.extending import Queries, Ranking, measure, unique_metrics
from skrank.metrics import Metric
from skrank.trec import _polars as pl
from skrank.trec._join import Joined, JoinedJudgments, Pool
from skrank.trec._sources import as_qrels, names_of, runs_of, sources_of

_MOST_AT_ONCE = 4  # runs that are read at once, to bound memory
_ROWS_AT_ONCE = 1_000_000  # documents that are measured together, to bound memory


class _JoinedRun(NamedTuple):
    """What is kept of a run, which itself is released before all runs are read."""

    name: str
    file: str | None
    queries: Queries
    id_difference: str | None  # of documents and those of the qrels, if none retrieved is judged
    swapped: bool  # of the first source: whether scores look like labels, and labels like scores
    joined: dict[bool, Joined]  # by whether scores are compared in single precision


def evaluate(
    qrels: object,
    runs: object,
    metrics: str | Metric | Sequence[str | Metric] | Mapping[str, Metric] = DEFAULT_METRICS,
    *,
    missing: str = "zero",
    empty: str | int | None = None,
    max_grade: int | None = None,
    rel: float | None = None,
    k: int | None = None,
    judged_only: bool = False,
    pool_judged: bool = False,
    exclude_self: bool = False,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    duplicates: str = "error",
    progress: bool | None = None,
) -> Report:
    """Evaluate runs against judgments, as trec_eval does, under any metrics.

    A retrieved document without a judgment counts as not judged: not relevant, unless a metric says
    otherwise. Judged documents that were not retrieved count, for example, in recall. Documents of
    equal score are ordered by name, descending, so that no ties remain. The queries are those of
    the qrels.

    Parameters
    ----------
    qrels : Qrels, path, file object, frame or dict
        In memory: a dict from queries to dicts from documents to labels, or to lists of relevant
        documents; or a frame of pandas, polars or Arrow. `skrank.trec` lists the formats of files.
    runs : the same with scores for labels; or a sequence of them; or a dict from names to them
        A list of documents is a ranking, best first. A column `run` of a table separates runs.
        Up to four are read at once and then released, but for 4 bytes of each document. The name of
        a run is that of the dict, else its tag, or its path if several runs have the tag. Several
        runs without a name are run1, run2, ...
    metrics : names or Metrics; or a mapping of names in the report to Metrics
    missing : {"zero", "skip", "raise"}
        How to count queries of the qrels that a run lacks. "zero": as queries for which nothing was
        retrieved, with a warning (``trec_eval -c``); all metrics but the error rate are 0 then.
        "skip": not at all (trec_eval without -c); the means of runs with different queries cannot
        be compared then.
    empty : {"skip", 0, 1, "nan", "raise"}, optional
        Value of a query without a relevant document, for all metrics. trec_eval has 0. Default: as
        each metric says, which is "skip" unless the metric was given another value.
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.
    rel : float, optional
        Lowest label of a relevant document, for all metrics of binary relevance
        (``trec_eval -l``). Default: as each metric says.
    k : int, optional
        Number of documents of each query to evaluate (``trec_eval -M``). Default: all.
    judged_only : bool
        Remove documents that were not judged, for all metrics (``trec_eval -J``).
    pool_judged : bool
        Count documents of the qrels without a label as judged not relevant, such as those with
        label -1.
    exclude_self : bool
        Remove documents whose id is that of their query, as BEIR does where queries are documents
        of the collection.
    columns : dict from fields to names of columns, or list of fields
        Columns of tables: fields are "qid", "docid", "label"; "score" (higher is better), "rank" (1
        is best) or "distance" (lower is better); and "run". Fields that a dict lacks have the names
        of a convention: qid, docid, label, score or rank; PyTerrier's qid, docno, label, score;
        ir_datasets' query_id, doc_id, relevance, score; or query-id, corpus-id, score. A list names
        the fields of files without a header, with "_" for those that are not read.
    duplicates : {"error", "first", "max"}
        What to do with a document that occurs several times in a query: raise an error, or keep its
        first row, or that with the highest score or label, such as that of the best passage.
    progress : bool, optional
        Show a bar on standard error, by tqdm. Default: for long work, if standard error is a
        terminal.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If a file cannot be read (with the number of the line), the columns of a table have other
        names (with the `columns` to write), a run has no query of the qrels,
        two runs have the same name, or a query is missing and ``missing="raise"``.

    Notes
    -----
    Scores are compared in double precision, except for metrics of names such as "trec_eval:map":
    trec_eval up to version 9, and thus pytrec_eval, compare scores in single precision, in which
    more of them are equal.

    Files are read by polars, whose threads do not survive a fork: start worker processes that
    evaluate by "spawn" or "forkserver".

    Examples
    --------
    >>> from skrank import trec
    >>> qrels = trec.Qrels.from_arrays(["1", "1", "2"], ["a", "b", "c"], [1, 0, 2])
    >>> run = trec.Run.from_arrays(["1", "1", "2"], ["b", "a", "c"], [3, 2, 1], name="bm25")
    >>> trec.evaluate(qrels, run, ["ap", "ndcg(gain=linear)@10"]).mean
              ap  ndcg(gain=linear)@10
    system
    bm25    0.75              0.815465
    """
    check.check_choice("missing", missing, ("zero", "skip", "raise"))
    changes: Options = {
        "empty": empty,
        "rel": None if rel is None else check.check_rel(rel),
        "condensed": check.check_flag("judged_only", judged_only) or None,
    }
    chosen = {name: _changed(metric, changes) for name, metric in unique_metrics(metrics).items()}
    top = check.check_max_grade(max_grade)
    with check.reading_of(columns, duplicates) as reading:
        judgments, sources = as_qrels(qrels, reading), sources_of(runs)
        if check.check_flag("pool_judged", pool_judged):
            judgments = dataclasses.replace(judgments, labels=np.nan_to_num(judgments.labels))
        exclude_self = check.check_flag("exclude_self", exclude_self)
        pool = Pool(judgments)
        # only the first source, since the warning names one; whole labels do not look like scores
        tested = sources[0] if (pool.labels % 1).any() else None
        single_precision = np.array([metric.single_precision for metric in chosen.values()])
        precisions = set(single_precision.tolist())

        def join_runs(source: tuple[str | None, object]) -> list[_JoinedRun]:
            out = []
            for run in runs_of(*source, reading):
                run = run._without_self() if exclude_self else run
                joined = {}
                for single in precisions:
                    ordered = run._in_single_precision() if single else run
                    joined[single] = cut = pool.join(ordered.top(k))
                difference = None
                # a document below rank k may be judged
                if len(run.queries) and not (cut.n_judged or pool.join(run).n_judged):
                    difference = check.id_difference(run.documents, judgments.documents, "document")
                swapped = source is tested and check.look_swapped(judgments.labels, run.scores)
                out.append(_JoinedRun(run.name, run.file, run.queries, difference, swapped, joined))
            return out

        joined_runs: list[_JoinedRun] = []
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, pl.thread_pool_size())) as executor:
            of_sources = executor.map(join_runs, sources)
            for _, of_source in zip(tracked(sources, progress, "runs"), of_sources, strict=True):
                joined_runs += of_source
    if joined_runs[0].swapped:
        warn("the qrels look like scores, the first run like labels: qrels come first, then runs.")
    names = names_of(joined_runs)
    counts = _counts(pool, names, joined_runs, missing)
    queries, n_empty = judgments.queries.ids, np.empty(len(chosen), int)
    values, weights = np.empty((2, len(names), len(queries), len(chosen)))
    for single in precisions:
        places = np.flatnonzero(single_precision == single)
        metrics_of_single = [list(chosen.values())[place] for place in places]
        of_single = [run.joined[single] for run in joined_runs]
        n_runs = max(1, _ROWS_AT_ONCE // max(len(run.rows) for run in of_single))
        for first in range(0, len(names), n_runs):
            block = slice(first, first + n_runs)
            part = JoinedJudgments(pool, of_single[block])
            ranking = Ranking.in_order(part, part.retrieved)
            measured = measure(part, [ranking], metrics_of_single, max_grade=top)
            for cube, by_query in ((values, measured.values[0]), (weights, measured.weights[0])):
                by_run = by_query.reshape(len(places), -1, len(queries))
                cube[block, :, places] = np.moveaxis(by_run, 0, 2)
            n_empty[places] = measured.empty[:, : len(queries)].sum(axis=1)  # equal for all runs
        if missing == "skip":
            lacks = np.array([run.retrieved for run in of_single]) == 0
            values[lacks], weights[lacks] = np.nan, 0.0
    top = check.highest_grade(judgments.labels) if top is None else None
    return Report(names, queries, chosen, values, weights, n_empty, counts, max_grade=top)


def _changed(metric: Metric, changes: Options) -> Metric:
    """The metric with other values of those parameters that it has; None changes nothing."""
    known = {field.name for field in dataclasses.fields(metric)}
    if getattr(metric, "rel", 1.0) is None:  # a metric that is graded by default remains graded
        known.discard("rel")
    changes = {name: changes[name] for name in known & changes.keys() if changes[name] is not None}
    return dataclasses.replace(metric, **changes) if changes else metric


# runs that do not fit the judgments ---------------------------------------------------------------


def _counts(
    pool: Pool, names: list[str], joined_runs: list[_JoinedRun], missing: str
) -> dict[str, list[float]]:
    """The columns of ``Report.counts``; raises or warns if runs do not fit the judgments."""
    ids, lacks, unjudged = pool.qrels.queries.ids, [], []
    joined = [next(iter(run.joined.values())) for run in joined_runs]
    retrieved = np.array([run.retrieved for run in joined])
    present, n_documents = (retrieved > 0).sum(axis=1), retrieved.sum(axis=1)
    for name, run, by_query in zip(names, joined_runs, retrieved, strict=True):
        absent = ids[by_query == 0].tolist()
        if len(absent) == len(ids) and len(run.queries):
            difference = check.id_difference(run.queries.ids, ids, "query")
            raise ValueError(f"run {name!r} has no query of the qrels: {difference}.")
        if absent:
            queries = f"{len(absent)} queries of the qrels, {check.brief(absent)}"
            lacks.append(f"run {name!r} has no documents for {queries}")
        if run.id_difference is not None:
            unjudged.append(f"no retrieved document is judged of run {name!r}: {run.id_difference}")
    if lacks and missing == "raise":
        raise ValueError(f"{lacks[0]}: choose {check.argument('missing', 'zero')} or 'skip'.")
    if lacks and missing == "zero":
        skip = check.argument("missing", "skip")
        _warn(lacks, f": they count as queries with nothing retrieved. {skip} leaves them out.")
    if np.isnan(pool.qrels.labels).all():
        judged = f"If they were judged not relevant, choose {check.argument('pool_judged', True)}."
        _warn(["the qrels have no judgment: all labels are below 0 or missing"], f". {judged}")
    elif unjudged:
        _warn(unjudged, ". Check that document ids are spelled as in the qrels.")
    counts = {
        "queries": present,
        "missing": len(ids) - present,
        "ignored": np.array([len(run.queries) for run in joined_runs]) - present,
        "documents": n_documents,
        "judged": np.array([run.n_judged for run in joined]) / np.maximum(n_documents, 1),
    }
    return {name: column.tolist() for name, column in counts.items()}


def _warn(facts: list[str], remedy: str) -> None:
    """Warn the caller of `evaluate` of facts about runs."""
    rest = f"; and so on, {len(facts)} runs in all" if len(facts) > 3 else ""
    warn("; ".join(facts[:3]) + rest + remedy)
