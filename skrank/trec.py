"""Evaluate runs in TREC's formats, as trec_eval orders and counts them."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skrank import _validation as check
from skrank._parallel import limit_threads, thread_count
from skrank._trec_data import Qrels, Run, read_qrels, read_run
from skrank._trec_files import Source, source_name
from skrank._trec_join import Joined, JoinedJudgments, JoinedRanking, Pool, join
from skrank.evaluation import DEFAULT_METRICS, unique_metrics
from skrank.metrics.base import Metric
from skrank.metrics.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

    from skrank.comparison import Comparison

__all__ = ["Qrels", "Run", "TrecReport", "evaluate", "read_qrels", "read_run"]

MISSING_CHOICES = ("zero", "skip", "raise")
_ROWS_AT_ONCE = 1_000_000  # runs are measured together, up to this many documents

AnyRun = Run | Source
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, eq=False, repr=False)
class TrecReport:
    """What `evaluate` found.

    Attributes
    ----------
    per_query : DataFrame of shape (n_runs * n_queries, n_metrics), indexed by run and qid
        Value of each query of the qrels; NaN where a metric is not defined, and for queries that a
        run lacks under ``missing="skip"``.
    mean : DataFrame of shape (n_runs, n_metrics), indexed by run
        Mean over queries of each metric, as its `empty` and `average` say.
    runs : DataFrame of shape (n_runs, 5), indexed by run
        "queries" of the qrels that the run has, those it is "missing", queries "ignored" because
        the qrels do not have them, "documents" retrieved for the queries, and the "judged" share
        of these documents.
    empty : Series of shape (n_metrics,)
        Number of queries of the qrels without a relevant document, by metric.
    """

    per_query: pd.DataFrame
    mean: pd.DataFrame
    runs: pd.DataFrame
    empty: pd.Series

    def to_frame(self) -> pd.DataFrame:
        """One row per run: the means, and what `runs` says.

        Returns
        -------
        DataFrame of shape (n_runs, n_metrics + 5)
        """
        return self.mean.join(self.runs)

    def compare(self, **options: Any) -> Comparison:
        """Test the differences between runs, with Holm's correction over all of them.

        Parameters
        ----------
        **options : baseline, test, alpha, n_resamples, random_state
            See `skrank.compare`.

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            If there are fewer than two runs, or a metric is defined on fewer than two queries.
        """
        import pandas as pd

        from skrank.comparison import compare_values

        shape = len(self.mean), -1, len(self.mean.columns)
        values = self.per_query.to_numpy().reshape(shape).transpose(1, 2, 0)
        names = [self.mean.columns, self.mean.index]
        return compare_values(
            pd.DataFrame(
                values.reshape(len(values), -1),
                self.per_query.loc[self.mean.index[0]].index,
                pd.MultiIndex.from_product(names, names=["metric", "system"]),
            ),
            self.mean.rename_axis("system"),
            **options,
        )

    def _caption(self) -> str:
        queries = len(self.per_query) // len(self.runs)
        empty = f", up to {self.empty.max()} of them without a relevant document"
        return f"{len(self.runs)} runs, {queries} queries" + empty * bool(self.empty.max())

    def __repr__(self) -> str:
        return f"{self._caption()}\n{self.to_frame().to_string(float_format='{:.4f}'.format)}"

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(float_format="{:.4f}".format)
        return f"<p>{self._caption()}</p>{table}"


def evaluate(
    qrels: Qrels | Source,
    runs: AnyRun | Sequence[AnyRun] | Mapping[str, AnyRun],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    *,
    missing: str = "zero",
    empty: str | int | None = None,
    max_grade: int | None = None,
) -> TrecReport:
    """Evaluate runs against judgments, as trec_eval does, under any metrics.

    A document that was judged but not retrieved counts as not retrieved, a retrieved one that was
    not judged as not judged (not relevant, unless a metric says otherwise). Documents of equal
    score are ordered by name, descending: no ties remain. The qrels say which queries there are.

    Parameters
    ----------
    qrels : Qrels, path or file object
    runs : Run, path or file object; or a sequence of them; or a dict from names to them
        Files are read one after the other and not kept: memory does not grow with their number.
        Runs are called by the name in the dict, else by their tag; those that share a tag by
        their path.
    metrics : names or Metrics
    missing : {"zero", "skip", "raise"}
        What becomes of queries of the qrels that a run lacks. "zero": nothing was retrieved, which
        all metrics but the error rate value at 0, with a warning (``trec_eval -c``). "skip": they
        are left out of the run's means (trec_eval without -c), so that means of runs with
        different queries do not compare.
    empty : {"skip", 0, 1, "nan", "raise"}, optional
        Value of a query without a relevant document, for all metrics. trec_eval has 0. Default: as
        each metric says, which is "skip" unless it was changed.
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not fix it. Default: the highest label.

    Returns
    -------
    TrecReport

    Raises
    ------
    ValueError
        If a file cannot be read (with the number of the line), a run has no query of the qrels,
        two runs have one name, or ``missing="raise"`` and a query is missing.

    Examples
    --------
    >>> from skrank import trec
    >>> qrels = trec.Qrels.from_arrays(["1", "1", "2"], ["a", "b", "c"], [1, 0, 2])
    >>> run = trec.Run.from_arrays(["1", "1", "2"], ["b", "a", "c"], [3, 2, 1], name="bm25")
    >>> trec.evaluate(qrels, run, ["ap", "ndcg(gain=linear)@10"]).mean
          ap  ndcg(gain=linear)@10
    run
    bm25 0.75               0.815465
    """
    check.check_choice("missing", missing, MISSING_CHOICES)
    chosen = _metrics(metrics, empty)
    top = check.check_max_grade(max_grade)
    pool = Pool.of(qrels if isinstance(qrels, Qrels) else read_qrels(qrels))
    ids = pool.qrels.queries.ids
    named, sources = _named(runs)
    joined = _ahead(lambda source: join(pool, _run(source)), sources)
    parts = [
        _measure(pool, part, chosen.values(), missing, top) for part in _parts(joined, ids, missing)
    ]
    _warn_missing(parts)
    names = named or _names([name for part in parts for name in part.names], sources)
    return _report(ids, names, chosen, parts)


def _run(source: AnyRun) -> Run:
    return source if isinstance(source, Run) else read_run(source)


def _metrics(
    metrics: str | Metric | Sequence[str | Metric], empty: str | int | None
) -> dict[str, Metric]:
    chosen = unique_metrics([metrics] if isinstance(metrics, (str, Metric)) else metrics)
    if empty is None:
        return chosen
    return unique_metrics([dataclasses.replace(one, empty=empty) for one in chosen.values()])


def _named(
    runs: AnyRun | Sequence[AnyRun] | Mapping[str, AnyRun],
) -> tuple[list[str] | None, list[AnyRun]]:
    """Names of runs, if they are given, and the runs."""
    if isinstance(runs, Mapping):
        names, sources = list(runs), list(runs.values())
    else:
        names = None
        alone = isinstance(runs, (Run, str, os.PathLike)) or hasattr(runs, "read")
        sources = [runs] if alone else list(runs)  # type: ignore[list-item, arg-type]
    if not sources:
        raise ValueError("runs is empty: pass at least one.")
    return names, sources


def _names(tags: list[str], sources: list[AnyRun]) -> list[str]:
    """A name per run: its tag, or its path where runs share a tag."""
    count = Counter(tags)
    names = [
        tag if count[tag] == 1 or isinstance(source, Run) else source_name(source)
        for tag, source in zip(tags, sources, strict=True)
    ]
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{times} runs are called {name!r}: pass a dict from names to runs.")
    return names


def _ahead(work: Callable[[_T], _R], items: Sequence[_T]) -> Iterator[_R]:
    """``work(item)`` of each item in order, some items ahead in threads."""
    n_threads = min(thread_count(), len(items))
    if n_threads == 1:
        yield from map(work, items)
        return

    def alone(item: _T) -> _R:
        with limit_threads(1):
            return work(item)

    with ThreadPoolExecutor(n_threads, thread_name_prefix="skrank-trec") as pool:
        waiting: deque[Future[_R]] = deque()
        for item in items:
            waiting.append(pool.submit(alone, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parts(joined: Iterable[Joined], ids: np.ndarray, missing: str) -> Iterator[list[Joined]]:
    """Runs in lists of bounded size."""
    part: list[Joined] = []
    for one in joined:
        if missing == "raise" and not one.present.all():
            lacks = _lacks(one.name, ids[~one.present])
            raise ValueError(f"{lacks}: choose missing='zero' or 'skip'.")
        part.append(one)
        if sum(len(other.codes) for other in part) >= _ROWS_AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _lacks(name: str, queries: np.ndarray) -> str:
    some = ", ".join(queries[:3]) + ", ..." * (len(queries) > 3)
    return f"run {name!r} has no documents for {len(queries)} queries of the qrels ({some})"


@dataclass(frozen=True, eq=False)
class _Measured:
    """Values of some runs: of each run, query and metric, and their means over queries."""

    names: list[str]
    values: np.ndarray
    mean: np.ndarray
    empty: np.ndarray
    facts: list[dict[str, float]]
    lacks: list[str]


def _measure(
    pool: Pool, part: list[Joined], metrics: Iterable[Metric], missing: str, max_grade: int | None
) -> _Measured:
    """All metrics of some runs."""
    judgments = JoinedJudgments(pool, part)
    ranking = JoinedRanking(judgments, part)
    present = np.stack([one.present for one in part])
    n_runs, n_queries = present.shape
    counted = present if missing == "skip" else np.ones_like(present)
    values, means, empty = [], [], []
    for one in metrics:
        plan = Plan(one, judgments, max_grade=max_grade)
        found = plan.values(ranking).reshape(n_runs, n_queries)
        mass = plan.mass(ranking).reshape(n_runs, n_queries) * counted
        means.append([plan.average(*run) for run in zip(found, mass, strict=True)])
        values.append(np.where(counted, found, np.nan))
        empty.append(int(plan.empty[:n_queries].sum()))
    return _Measured(
        [one.name for one in part],
        np.stack(values, axis=-1),
        np.stack(means, axis=-1),
        np.array(empty),
        [one.facts for one in part],
        [
            _lacks(one.name, pool.qrels.queries.ids[~one.present])
            for one in part
            if not one.present.all() and missing == "zero"
        ],
    )


def _report(
    ids: np.ndarray, names: list[str], metrics: Iterable[str], parts: list[_Measured]
) -> TrecReport:
    import pandas as pd

    columns = list(metrics)
    values = np.concatenate([part.values for part in parts])
    index = pd.Index(names, name="run")
    cells = pd.MultiIndex.from_product([names, ids], names=["run", "qid"])
    facts = pd.DataFrame([facts for part in parts for facts in part.facts], index=index)
    return TrecReport(
        per_query=pd.DataFrame(values.reshape(-1, len(columns)), index=cells, columns=columns),
        mean=pd.DataFrame(np.concatenate([part.mean for part in parts]), index, columns),
        runs=facts,
        empty=pd.Series(parts[0].empty, columns, name="empty"),
    )


def _warn_missing(parts: list[_Measured]) -> None:
    lacks = [text for part in parts for text in part.lacks]
    if lacks:
        more = f"; and so on, {len(lacks)} runs in all" * (len(lacks) > 3)
        warnings.warn(
            f"{'; '.join(lacks[:3])}{more}: they count as queries for which nothing was retrieved. "
            "missing='skip' leaves them out.",
            UserWarning,
            stacklevel=3,
        )
