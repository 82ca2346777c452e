"""Evaluation of runs in TREC's formats, in the order and by the conventions of trec_eval."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skrank import _progress
from skrank import _validation as check
from skrank._engine.names import unique_metrics
from skrank._engine.plan import average
from skrank._engine.threads import cached_property
from skrank._typing import Axes, Options
from skrank.evaluation._evaluate import DEFAULT_METRICS, mean_intervals
from skrank.evaluation._tables import MarkedTable, Tabular
from skrank.metrics import Metric
from skrank.trec._data import as_qrels, text_index
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

if TYPE_CHECKING:
    import pandas as pd

    from skrank.evaluation import Comparison


class Measured(NamedTuple):
    """The values of metrics.

    Attributes
    ----------
    values, weights : float64 ndarrays of shape (n_runs, n_queries, n_metrics)
        Value of each query, and its weight in the mean.
    mean : float64 ndarray of shape (n_runs, n_metrics)
    empty : int64 ndarray of shape (n_metrics,)
        Number of queries without a relevant document.
    """

    values: np.ndarray
    weights: np.ndarray
    mean: np.ndarray
    empty: np.ndarray


@dataclasses.dataclass(eq=False, repr=False)
class TrecReport(Tabular):
    """The result of `evaluate`.

    Attributes
    ----------
    names : list of str
        Names of the runs.
    queries : ndarray of shape (n_queries,)
        Ids of the queries of the qrels.
    metric_of : dict of str to Metric
        The metric of each column.
    metrics : list of str
        Names of the columns.
    found : Measured
        Values, weights and means as arrays.
    facts : list of dict
        The rows of `runs`. The tables below are made when they are first accessed.
    per_query : DataFrame of shape (n_runs * n_queries, n_metrics), indexed by run and qid
        Value of each query of the qrels; NaN where a metric is not defined, and for queries that a
        run lacks under ``missing="skip"``.
    mean : DataFrame of shape (n_runs, n_metrics), indexed by run
        Mean over queries of each metric, as its `empty` and `average` say.
    runs : DataFrame of shape (n_runs, 5), indexed by run
        Number of "queries" of the qrels that the run has, and of queries that are "missing" in it;
        number of its queries that are "ignored", as the qrels do not have them; number of
        "documents" that it retrieved for queries of the qrels; and the "judged" share of these.
    empty : Series of shape (n_metrics,)
        Number of queries of the qrels without a relevant document, by metric.
    weights : DataFrame of the shape and index of `per_query`
        Weight of each query in the mean of each metric; 0 where it does not count.
    """

    names: list[str]
    queries: np.ndarray
    metric_of: dict[str, Metric]
    found: Measured
    facts: list[dict[str, float]]

    @property
    def metrics(self) -> list[str]:
        """Names of the columns."""
        return list(self.metric_of)

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """Value of each query."""
        return self._of_queries(self.found.values)

    @cached_property
    def weights(self) -> pd.DataFrame:
        """Weight of each query in the means."""
        return self._of_queries(self.found.weights)

    def _of_queries(self, cube: np.ndarray) -> pd.DataFrame:
        import pandas as pd

        cells = pd.MultiIndex.from_product([self._runs(), text_index(self.queries, "qid")])
        return pd.DataFrame(cube.reshape(-1, len(self.metrics)), index=cells, columns=self.metrics)

    @cached_property
    def mean(self) -> pd.DataFrame:
        """Mean over queries of each metric."""
        import pandas as pd

        return pd.DataFrame(self.found.mean, self._runs(), self.metrics)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """Numbers of queries and documents of each run."""
        import pandas as pd

        return pd.DataFrame(self.facts, index=self._runs())

    def _runs(self) -> pd.Index:
        return text_index(self.names, "run")

    @cached_property
    def empty(self) -> pd.Series:
        """Number of queries without a relevant document."""
        import pandas as pd

        return pd.Series(self.found.empty, self.metrics, name="empty")

    def only(self, metrics: Sequence[str]) -> TrecReport:
        """The report of some of the metrics.

        Parameters
        ----------
        metrics : sequence of str
            Names of columns.

        Returns
        -------
        TrecReport
        """
        places = [self.metrics.index(name) for name in metrics]
        metric_of = {name: self.metric_of[name] for name in metrics}
        found = Measured(*(array[..., places] for array in self.found))
        return TrecReport(self.names, self.queries, metric_of, found, self.facts)

    def to_frame(self) -> pd.DataFrame:
        """One row per run: the columns of `mean` and of `runs`.

        Returns
        -------
        DataFrame of shape (n_runs, n_metrics + 5)
        """
        return self.mean.join(self.runs)

    def intervals(self, confidence: float = 0.95, interval: str = "bootstrap-t") -> pd.DataFrame:
        """The means with confidence intervals: one row per run and metric.

        Parameters
        ----------
        confidence : float
            Level of the interval of the mean.
        interval : {"bootstrap-t", "t", "percentile", "bca"}
            See `skrank.Report.to_frame`.

        Returns
        -------
        DataFrame with columns "mean", "low", "high", indexed by run and metric
            "low" and "high" are NaN where fewer than two queries count. The intervals of two runs
            may overlap although the runs differ: `compare` tests differences.
        """
        import pandas as pd

        frames = {}
        for run in self.mean.index:
            low, high = mean_intervals(
                self.per_query.loc[run], self.weights.loc[run], self.metric_of, confidence, interval
            )
            frames[run] = pd.DataFrame({"mean": self.mean.loc[run], "low": low, "high": high})
        return pd.concat(frames, names=["run", "metric"])

    def compare(self, **options: Any) -> Comparison:
        """Test the differences between runs, corrected for the number of metrics and runs.

        Parameters
        ----------
        **options : baseline, test, correction, alpha, n_resamples, random_state
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

        from skrank.evaluation._compare import compare_values

        values = self.found.values.transpose(1, 2, 0).reshape(len(self.queries), -1)
        of = pd.MultiIndex.from_product([self.metrics, self.names], names=["metric", "system"])
        frame = pd.DataFrame(values, text_index(self.queries, "qid"), of)
        return compare_values(frame, self.mean.rename_axis("system"), self.metric_of, **options)

    def _drawn(self, display: Any, metric: str | None, ax: Axes | None, **kwargs: Any) -> Any:
        return display.from_report(self, metric or self.metrics[0], ax=ax, **kwargs)

    def _marked(self) -> MarkedTable:
        rises = [self.metric_of[name].greater_is_better for name in self.metrics]
        return MarkedTable(self.mean, f"{self._caption()}. Best values are bold.", rises)

    def _caption(self) -> str:
        size, most = f"{len(self.names)} runs, {len(self.queries)} queries", self.empty.max()
        return f"{size}, up to {most} of them without a relevant document" if most else size

    def __repr__(self) -> str:
        return f"{self._caption()}\n{self.to_frame().to_string(float_format='{:.4f}'.format)}"

    def _repr_html_(self) -> str:
        return f"<p>{self._caption()}</p>{self.to_frame().to_html(float_format='{:.4f}'.format)}"


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
    precision: str = "single",
    chunksize: int | None = None,
    progress: bool | None = None,
) -> TrecReport:
    """Evaluate runs against judgments, as trec_eval does, under any metrics.

    A retrieved document without a judgment counts as not judged: not relevant, unless a metric says
    otherwise. Judged documents that were not retrieved count, for example, in recall. Documents of
    equal score are ordered by name, descending, so that no ties remain. The queries are those of
    the qrels.

    Parameters
    ----------
    qrels : Qrels, path, file object, or judgments in memory
        In memory: a dict from queries to dicts from documents to labels, as for pytrec_eval and
        ranx; a table of pandas, polars, Arrow or another library that narwhals knows, with named
        columns (the names of PyTerrier, ir_measures and TREC are known); an iterable of records;
        the Qrels of ranx; or a data set of ir_datasets. Files are those of `read_qrels`.
    runs : the same with scores for labels; or a sequence of them; or a dict from names to them
        A table may hold several runs, named by its column "run". Files are those of `read_run`.
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
    precision : {"single", "double"}
        Precision in which scores are compared, see `read_run`.
    chunksize : int, optional
        Read files of runs about `chunksize` rows at a time, for runs larger than memory: lines of
        TREC, CSV, TSV, JSON Lines, compressed or not, and Parquet. The rows of each query must be
        contiguous. The values have the same bits. The judgments are in memory. Default: read each
        run as a whole.
    progress : bool, optional
        Show a bar on standard error, by tqdm. Default: for long work, if standard error is a
        terminal and tqdm is installed.

    Returns
    -------
    TrecReport

    Raises
    ------
    ValueError
        If a file cannot be read (with the number of the line), a run has no query of the qrels,
        two runs have the same name, or a query is missing and ``missing="raise"``; with
        `chunksize`, if the rows of a query are not contiguous (with the number of the line).

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
    if chunksize is not None:
        chunksize = check.check_count("chunksize", chunksize, "the rows that are read at once")
    judgments = as_qrels(qrels)
    sources = Runs.of(runs)
    n_runs = len(sources.sources)
    if pool_judged:
        judgments = judgments.with_pool_judged()
    pool = CodedQrels.of(judgments)
    n_steps, step = (n_runs, "runs") if chunksize is None else (None, "rows")
    with _progress.progress(progress, n_steps, step) as bar:
        joined = JoinedRuns(pool, sources, missing, bar, depth, precision, chunksize, exclude_self)
        found = measure(pool, joined, n_runs, [*chosen.values()], missing, top)
    joined.warn()
    names = sources.names(joined.tags)
    return TrecReport(names, pool.qrels.queries.ids, chosen, found, joined.facts)


def _changed(one: Metric, given: Options) -> Metric:
    """The metric with the given values for those parameters that it has."""
    known = {field.name for field in dataclasses.fields(one)}
    if getattr(one, "rel", 1.0) is None:  # a metric that is graded by default remains graded
        known.discard("rel")
    return dataclasses.replace(one, **{key: given[key] for key in given if key in known})


def measure(
    pool: CodedQrels,
    parts: Iterable[list[Joined]],
    n_runs: int,
    metrics: Sequence[Metric],
    missing: str,
    max_grade: int | None,
) -> Measured:
    """Measure all runs, which come in parts as from `JoinedRuns`, by all metrics."""
    shape = n_runs, len(pool.qrels.queries), len(metrics)
    values, weights = np.full(shape, np.nan), np.zeros(shape)
    empty = np.zeros(len(metrics), np.int64)
    for part in parts:
        judgments = JoinedJudgments(pool, part)
        ranking = JoinedRanking(judgments)
        run, query = judgments.run, judgments.places
        counted = (ranking.retrieved > 0) | (missing != "skip")
        for i, one in enumerate(metrics):
            plan = one.bind(judgments, max_grade=max_grade)
            values[run, query, i] = np.where(counted, plan.values(ranking), np.nan)
            weights[run, query, i] = plan.mass(ranking) * counted
            empty[i] += plan.empty[run == 0].sum()
    mean = np.empty((n_runs, len(metrics)))
    for i, number in np.ndindex(len(metrics), n_runs):
        of_run = values[number, :, i], weights[number, :, i]
        mean[number, i] = average(metrics[i], *of_run, stacklevel=4)
    return Measured(values, weights, mean, empty)
