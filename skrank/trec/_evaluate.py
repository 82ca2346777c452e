"""Evaluation of runs in TREC's formats, in the order and by the conventions of trec_eval."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from skrank import _progress
from skrank import _validation as check
from skrank._engine.names import unique_metrics
from skrank._engine.plan import Measured, measure
from skrank._typing import Options
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.metrics import Metric
from skrank.trec._data import as_qrels
from skrank.trec._join import (
    MISSING_CHOICES,
    AnyRuns,
    CodedQrels,
    Joined,
    JoinedJudgments,
    JoinedRanking,
    JoinedRuns,
    Runs,
)


def evaluate(
    qrels: object,
    runs: AnyRuns,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    *,
    missing: str = "zero",
    empty: str | int | None = None,
    max_grade: int | None = None,
    rel: float | None = None,
    depth: int | None = None,
    judged_only: bool = False,
    pool_judged: bool = False,
    exclude_self: bool = False,
    progress: bool | None = None,
) -> Report:
    """Evaluate runs against judgments, as trec_eval does, under any metrics.

    A retrieved document without a judgment counts as not judged: not relevant, unless a metric says
    otherwise. Judged documents that were not retrieved count, for example, in recall. Documents of
    equal score are ordered by name, descending, so that no ties remain. The queries are those of
    the qrels.

    Parameters
    ----------
    qrels : Qrels, path, file object, or judgments in memory
        In memory: a dict from queries to dicts from documents to labels, as for pytrec_eval and
        ranx, or to lists of relevant documents; a table of pandas, polars, Arrow or a dict of
        columns, with the names of PyTerrier, ir_measures, BEIR or TREC; a Series with the index
        (qid, docid); an iterable of records; the Qrels of ranx; or a data set of ir_datasets. Files
        are those of `read_qrels`.
    runs : the same with scores for labels; or a sequence of them; or a dict from names to them
        A list of documents is a ranking, best first. A table without scores may have ranks, see
        `read_run`. If two columns can be the ids, such as "docid" and "docno", the one that occurs
        in the qrels counts, or else the more specific one. A table may hold several runs, named by
        its column "run". Files are those of `read_run`.
        Files are read one after the other and then released: memory does not grow with their
        number. The name of a run is that of the dict, else its tag, or its path if several runs
        have the same tag.
    metrics : names or Metrics
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
    depth : int, optional
        Number of documents of each query to evaluate (``trec_eval -M``). Default: all.
    judged_only : bool
        Remove documents that were not judged, for all metrics (``trec_eval -J``).
    pool_judged : bool
        Documents of the pool without a judgment (labels below 0) count as judged not relevant, as
        for the web tracks.
    exclude_self : bool
        Remove retrieved documents whose id is that of the query, as BEIR does where queries are
        documents of the collection.
    progress : bool, optional
        Show a bar on standard error, by tqdm. Default: for long work, if standard error is a
        terminal.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If a file cannot be read (with the number of the line), a run has no query of the qrels,
        two runs have the same name, or a query is missing and ``missing="raise"``.

    Notes
    -----
    Scores are compared in double precision, except for metrics of names such as "trec_eval:map":
    trec_eval up to version 9, and thus pytrec_eval, compare scores in single precision, in which
    more of them are equal. Names without this prefix and "trec_eval10:map" have double precision.

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
    check.check_choice("missing", missing, MISSING_CHOICES)
    given: Options = {} if empty is None else {"empty": empty}
    if rel is not None:
        given["rel"] = check.check_rel(rel)
    if check.check_flag("judged_only", judged_only):
        given["condensed"] = True
    pool_judged = check.check_flag("pool_judged", pool_judged)
    exclude_self = check.check_flag("exclude_self", exclude_self)
    chosen = unique_metrics(metrics)
    if given:
        chosen = {name: _changed(one, given) for name, one in chosen.items()}
    top = check.check_max_grade(max_grade)
    if depth is not None:
        depth = check.check_count("depth", depth, "the number of documents of a query that count")
    judgments = as_qrels(qrels)
    sources = Runs.of(runs, judgments.ids)
    pool = CodedQrels.of(judgments.with_pool_judged() if pool_judged else judgments)
    single = any(one.single_precision for one in chosen.values())
    with _progress.progress(progress, len(sources.sources), "runs") as bar:
        joined = JoinedRuns(pool, sources, missing, bar, depth, single, exclude_self)
        found = measure_runs(pool, joined, [*chosen.values()], missing, top)
    joined.warn()
    return Report(
        systems=sources.names(joined.tags),
        queries=pool.qrels.queries.ids,
        metric_of=chosen,
        values=found.values.swapaxes(1, 2),
        weights=found.weights.swapaxes(1, 2),
        empty=found.empty.sum(axis=1),
        counts=dict(joined.counts),
    )


def _changed(one: Metric, given: Options) -> Metric:
    """The metric with the given values for those parameters that it has."""
    known = {field.name for field in dataclasses.fields(one)}
    if getattr(one, "rel", 1.0) is None:  # a metric that is graded by default remains graded
        known.discard("rel")
    changed = dataclasses.replace(one, **{key: given[key] for key in given if key in known})
    object.__setattr__(changed, "single_precision", one.single_precision)
    return changed


def measure_runs(
    pool: CodedQrels,
    parts: Iterable[list[tuple[Joined, Joined]]],
    metrics: Sequence[Metric],
    missing: str,
    max_grade: int | None,
) -> Measured:
    """Measure all runs, which come in parts as from `JoinedRuns`, as rankings of the judgments."""
    n_queries = len(pool.qrels.queries)
    empty = np.zeros((len(metrics), n_queries), bool)
    cubes = []
    for part in parts:
        cube = np.empty((2, len(metrics), len(part), n_queries))  # of values and weights
        for order, single in zip(zip(*part, strict=True), (False, True), strict=True):
            places = [i for i, one in enumerate(metrics) if one.single_precision is single]
            if not places:
                continue
            judgments = JoinedJudgments(pool, order)
            some = [metrics[i] for i in places]
            found = measure(judgments, [JoinedRanking(judgments)], some, max_grade=max_grade)
            for number, by_query in enumerate((found.values, found.weights)):
                cube[number, places] = by_query[0].reshape(-1, len(part), n_queries)
            if missing == "skip":
                left_out = judgments.retrieved.reshape(len(part), n_queries) == 0
                cube[0, :, left_out], cube[1, :, left_out] = np.nan, 0.0
            empty[places] = found.empty[:, :n_queries]
        cubes.append(cube)
    values, weights = np.concatenate(cubes, axis=2).swapaxes(1, 2)
    return Measured(values, weights, empty, tuple(metrics))
