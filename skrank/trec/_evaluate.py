"""Evaluation of runs in TREC's formats, in the order and by the conventions of trec_eval."""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from skrank import _renamed
from skrank import _validation as check
from skrank._progress import progress as progress_bar
from skrank._typing import Options
from skrank.evaluation import DEFAULT_METRICS, Report
from skrank.extending import Queries, Ranking, measure, unique_metrics
from skrank.metrics import Metric
from skrank.trec import _polars as pl
from skrank.trec._columns import columns_of, is_file, rows_of_memory, table_of
from skrank.trec._data import Qrels, Run, as_run, read_qrels
from skrank.trec._files import Entries, name_of
from skrank.trec._join import Joined, JoinedJudgments, Pool

_MOST_AT_ONCE = 4  # runs that are read at once, to bound memory
_ROWS_AT_ONCE = 1_000_000  # documents that are measured together, to bound memory


class _Shown(NamedTuple):
    """What messages say about a run, which is released before all runs are read."""

    name: str
    file: str | None
    queries: Queries
    document: str
    swapped: bool


@_renamed.refuse_old_arguments
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
        `read_run`. If two columns can be the ids, the more specific one counts: "docno", not
        "docid". A table may hold several runs, named by its column "run". Files are those of
        `read_run`.
        Up to four files are read at once and then released, but for 4 bytes of each document. The
        name of a run is that of the dict, else its tag, or its path if several runs have the tag.
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
    given: Options = {} if empty is None else {"empty": empty}
    if rel is not None:
        given["rel"] = check.check_rel(rel)
    if check.check_flag("judged_only", judged_only):
        given["condensed"] = True
    chosen = {name: _changed(one, given) for name, one in unique_metrics(metrics).items()}
    top = check.check_max_grade(max_grade)
    if k is not None:
        k = check.check_count("k", k, "the number of documents of a query that count")
    judgments = read_qrels(qrels)
    if check.check_flag("pool_judged", pool_judged):
        labels = np.nan_to_num(judgments.labels, nan=0.0)
        judgments = dataclasses.replace(judgments, labels=labels)
    exclude_self = check.check_flag("exclude_self", exclude_self)
    pool, (sources, named) = Pool(judgments), sources_of(runs)
    # columns of metrics, and runs, by whether scores are compared in single precision
    columns: dict[bool, list[int]] = defaultdict(list)
    for column, one in enumerate(chosen.values()):
        columns[one.single_precision].append(column)
    joined: dict[bool, list[Joined]] = {single: [] for single in columns}
    shown: list[_Shown] = []

    def prepared(source: object) -> tuple[_Shown, list[Joined]]:
        whole = as_run(source)
        run = whole._without_self() if exclude_self else whole
        orders = (run._in_single_precision() if single else run for single in columns)
        fractions = bool((pool.labels % 1).any())
        swapped = fractions and check.look_swapped(judgments.labels, run.scores)
        about = _Shown(run.name, run.file, run.queries, whole.documents[0], swapped)
        return about, [pool.join(order.top(k)) for order in orders]

    with (
        progress_bar(progress, len(sources), "runs") as bar,
        ThreadPoolExecutor(min(_MOST_AT_ONCE, pl.thread_pool_size())) as executor,
    ):
        for about, orders in executor.map(prepared, sources):
            shown.append(about)
            for those, order in zip(joined.values(), orders, strict=True):
                those.append(order)
            bar.update(1)
    if shown[0].swapped:
        warnings.warn(
            "the qrels have labels like scores, and the first run has scores like labels, as if "
            "they were swapped: qrels come first, then runs.",
            stacklevel=2,
        )
    names = names_of(sources, [one.name for one in shown]) if named is None else named
    called = [one.file or one.name for one in shown] if named is None else named
    counts = _counts(pool, joined.get(False) or joined[True], called, shown, missing)
    shape = len(names), len(judgments.queries), len(chosen)
    values, weights, n_empty = np.empty(shape), np.empty(shape), np.empty(shape[2], int)
    for single, places in columns.items():
        some = [list(chosen.values())[place] for place in places]
        n_runs = max(1, _ROWS_AT_ONCE // max(len(one.rows) for one in joined[single]))
        for first in range(0, len(names), n_runs):
            block = slice(first, first + n_runs)
            part = JoinedJudgments(pool, joined[single][block])
            ranking = Ranking.in_order(part, part.retrieved)
            found = measure(part, [ranking], some, max_grade=top)
            for cube, by_query in ((values, found.values[0]), (weights, found.weights[0])):
                by_run = by_query.reshape(len(some), -1, shape[1])
                cube[block, :, places] = np.moveaxis(by_run, 0, 2)
            n_empty[places] = found.empty[:, : shape[1]].sum(axis=1)
        if missing == "skip":
            lacks = np.array([one.retrieved for one in joined[single]]) == 0
            values[lacks], weights[lacks] = np.nan, 0.0
    top = check.highest_grade(judgments.labels) if top is None else None
    return Report(
        names, judgments.queries.ids, chosen, values, weights, n_empty, counts, max_grade=top
    )


def _changed(one: Metric, given: Options) -> Metric:
    """The metric with the given values for those parameters that it has."""
    known = {field.name for field in dataclasses.fields(one)}
    if getattr(one, "rel", 1.0) is None:  # a metric that is graded by default remains graded
        known.discard("rel")
    changes = {key: given[key] for key in given if key in known and getattr(one, key) != given[key]}
    return dataclasses.replace(one, **changes) if changes else one


# runs ---------------------------------------------------------------------------------------------


def sources_of(runs: object) -> tuple[list[object], list[str] | None]:
    """A source (a Run, a file, rows or an object) for each run, and names if the caller gives them.

    `runs` is the parameter of `evaluate`.
    """
    if is_file(runs) or isinstance(runs, Run):
        return [runs], None
    runs = list(runs) if isinstance(runs, Iterator) else runs
    columns = None if isinstance(runs, Qrels) else columns_of(runs, "run")
    if columns is None and isinstance(runs, Mapping):
        return list(runs.values()), list(runs)
    if columns is None:
        sources = check.several("runs", runs, (Qrels,))
        if not sources:
            raise ValueError("runs is empty: pass at least one.")
        if any(isinstance(source, Qrels) for source in sources):
            raise ValueError("runs holds judgments: judgments (qrels) come first, then runs.")
        alone = len(sources) == 1 and not is_file(sources[0]) and not isinstance(sources[0], Run)
        columns = columns_of(sources[0], "run") if alone else None
        if columns is None:
            return sources, None
    table = table_of(columns, "run", rows_of_memory("run"))
    if columns.run is None:
        return [Entries(table)], None
    parts = table.partition_by("run", maintain_order=True)
    return [Entries(part) for part in parts], [part[0, "run"] for part in parts]


def names_of(sources: Sequence[object], tags: list[str]) -> list[str]:
    """The tag of each run, or its path if several runs have the tag."""
    names = [
        name_of(source) if tags.count(tag) > 1 and is_file(source) else tag
        for tag, source in zip(tags, sources, strict=True)
    ]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
    return names


def read_runs(runs: object, *, ranks: bool = False) -> dict[str, Run]:
    """Read several runs.

    Parameters
    ----------
    runs
        As in `evaluate`.
    ranks : bool
        Also read the column of ranks of lines of TREC, which `fuse` can use.

    Returns
    -------
    dict from name to Run

    Examples
    --------
    >>> from skrank import trec
    >>> trec.read_runs({"bm25": {"q1": {"a": 2.0, "b": 1.0}}})
    {'bm25': Run 'run': 1 queries, 2 documents}
    """
    sources, named = sources_of(runs)
    loaded = [as_run(source, ranks=ranks) for source in sources]
    names = names_of(sources, [run.name for run in loaded]) if named is None else map(str, named)
    return dict(zip(names, loaded, strict=True))


def _counts(
    pool: Pool, joined: Sequence[Joined], called: list[str], shown: list[_Shown], missing: str
) -> dict[str, list[float]]:
    """The columns of ``Report.counts``; raises or warns if runs do not fit the judgments.

    Warnings point to the caller of `evaluate`.
    """
    qrels = pool.qrels
    retrieved = np.array([one.retrieved for one in joined])
    present, n_documents = (retrieved > 0).sum(axis=1), retrieved.sum(axis=1)
    lacks, unknown = [], []
    for name, about, one in zip(called, shown, joined, strict=True):
        absent = qrels.queries.ids[one.retrieved == 0]
        if len(absent) == len(qrels.queries) and len(about.queries):
            raise ValueError(
                f"run {name!r} has no query of the qrels: its first is {about.queries.name(0)}, "
                f"and that of the qrels {qrels.queries.name(0)}."
            )
        if len(absent):
            ids = ", ".join(absent[:3]) + ", ..." * (len(absent) > 3)
            lacks.append(f"run {name!r} has no documents for {len(absent)} queries ({ids})")
        if not one.n_judged and len(about.queries):
            unknown.append(f"run {name!r}, whose first is {about.document!r}")
    if lacks and missing == "raise":
        raise ValueError(f"{lacks[0]} of the qrels: choose missing='zero' or 'skip'.")
    for found, before, after in (
        (lacks if missing == "zero" else [], "", " of the qrels: they count as queries for which "
         "nothing was retrieved. missing='skip' leaves them out."),
        (unknown, "no retrieved document is judged of ", ", and that of the qrels is "
         f"{qrels.documents[0]!r}: check that their document ids are spelled alike."),
    ):  # fmt: skip
        if found:
            more = f"; and so on, {len(found)} runs in all" * (len(found) > 3)
            warnings.warn(before + "; ".join(found[:3]) + more + after, stacklevel=3)
    counts = {
        "queries": present,
        "missing": len(qrels.queries) - present,
        "ignored": np.array([len(about.queries) for about in shown]) - present,
        "documents": n_documents,
        "judged": np.array([one.n_judged for one in joined]) / np.maximum(n_documents, 1),
    }
    return {name: column.tolist() for name, column in counts.items()}
