"""The informativeness of metrics about the rankings of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank import trec
from skrank._printed import Printed
from skrank._progress import progress as progress_bar
from skrank.extending import unique_metrics
from skrank.informativeness._lists import Expectation, RankedLists
from skrank.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

STUDY_METRICS = ("gap", "ap", "ndcg", "ndcg(gain=linear)", "q", "rbp", "precision@10")
_MOST_LEVELS = 20  # chosen freely
_ROWS_AT_ONCE = 1_000_000  # about as many documents are measured together, to bound memory


@dataclass(frozen=True, eq=False, repr=False)
class Study(Printed):
    """Informativeness of metrics, returned by `study`. A list is a query of a run.

    Attributes
    ----------
    metrics : tuple of str
        Names of the metrics.
    rel : float64 ndarray of shape (n_rel,)
        Lowest relevant labels; each gives a precision-recall curve.
    lists : DataFrame of shape (n_lists, 3)
        "run", "qid", and the number of "ranks" of each list.
    values : float64 ndarray of shape (n_lists, n_metrics)
        Values of the metrics; NaN where a metric is not defined.
    errors : float64 ndarray of shape (n_lists, n_metrics, n_rel)
        Root mean square error of the inferred precision-recall curve, in [0, 1).
    converged : bool ndarray of shape (n_lists, n_metrics)
    uninformed : float64 ndarray of shape (n_lists, n_rel)
        Errors if only the number of documents of each grade is known, without a metric.
    n_left_out : int
        Number of lists that are left out, because they have too few documents of some grade.
    k : int or None
        Largest number of ranks of a list.
    condensed : bool
    caption : str
    """

    metrics: tuple[str, ...]
    rel: np.ndarray
    lists: pd.DataFrame
    values: np.ndarray
    errors: np.ndarray
    converged: np.ndarray
    uninformed: np.ndarray
    n_left_out: int
    k: int | None
    condensed: bool

    @property
    def mean(self) -> pd.DataFrame:
        """Mean error over lists, by metric and lowest relevant label.

        Returns
        -------
        DataFrame of shape (n_metrics, n_rel)
        """
        import pandas as pd

        index = pd.Index(self.metrics, name="metric")
        means = np.nanmean(self.errors, axis=0)
        return pd.DataFrame(means, index, pd.Index(self.rel, name="rel"))

    def to_frame(self) -> pd.DataFrame:
        """All errors in one table.

        Returns
        -------
        DataFrame of shape (n_lists, n_metrics * n_rel)
            Indexed by run and qid; columns by metric and rel.
        """
        import pandas as pd

        index = pd.MultiIndex.from_frame(self.lists[["run", "qid"]])
        columns = pd.MultiIndex.from_product([self.metrics, self.rel], names=["metric", "rel"])
        return pd.DataFrame(self.errors.reshape(len(index), -1), index, columns)

    def by(self, what: str) -> pd.DataFrame:
        """Mean errors of each query or of each run.

        Parameters
        ----------
        what : {"qid", "run"}

        Returns
        -------
        DataFrame of shape (n_queries or n_runs, n_metrics * n_rel)
        """
        check.check_choice("what", what, ("qid", "run"))
        return self.to_frame().groupby(level=what, sort=False).mean()

    @property
    def caption(self) -> str:
        """Numbers of lists, runs and queries, and of lists that are left out."""
        runs, queries = self.lists["run"].nunique(), self.lists["qid"].nunique()
        ranks = "all" if self.k is None else f"at most {self.k}"
        caption = (
            f"RMS error of inferred precision-recall curves, by lowest relevant label: "
            f"{check.counted(len(self.lists), 'list')} of {check.counted(runs, 'run')} and "
            f"{check.counted(queries, 'query', 'queries')}, {ranks} ranks"
            f"{', condensed' if self.condensed else ''}, {self.n_left_out} left out"
        )
        n_failed = int(np.count_nonzero(~self.converged))
        if n_failed:
            caption += f"; {n_failed} of {self.converged.size} inferences did not converge"
        return caption

    def _printed(self) -> dict[str, pd.DataFrame]:
        """The mean errors, and in the last row those without a metric."""
        table = self.mean
        table.loc["(no metric)"] = self.uninformed.mean(axis=0)
        return {"": table}


def study(
    qrels: object,
    runs: object,
    metrics: str | Metric | Sequence[str | Metric] = STUDY_METRICS,
    *,
    rel: Sequence[float] | None = None,
    k: int | None = 1000,
    condensed: bool = False,
    min_retrieved: int = 5,
    max_grade: int | None = None,
    progress: bool | None = None,
) -> Study:
    """Measure how well the values of metrics predict the precision-recall curves of lists.

    For each run, query and metric, `maximum_entropy` infers a distribution of grades over ranks
    from the value of the metric and the number of documents of each grade. Its precision-recall
    curve is compared with that of the list. The smaller the error, the more informative the metric.

    Parameters
    ----------
    qrels, runs
        As in `skrank.trec.evaluate`. For arrays, use ``skrank.trec.Run.from_arrays`` and
        ``skrank.trec.Qrels.from_arrays``.
    metrics : names or Metrics
        Metrics that `maximum_entropy` supports.
    rel : sequence of float, optional
        Lowest relevant labels; a precision-recall curve is compared for each. Default: all labels
        above 0 in the qrels.
    k : int, optional
        Largest number of ranks of a list. Documents at lower ranks count as not retrieved, also for
        the metrics. None: no limit.
    condensed : bool
        Remove unjudged documents before `k` is applied. By default, unjudged documents stay in
        the lists, as not relevant.
    min_retrieved : int
        Lists with fewer documents of some label above 0 are left out.
    max_grade : int, optional
        Highest grade of the collection, for metrics that do not set it. Default: the highest label.
    progress : bool, optional
        Show a progress bar. Default: after two seconds, if standard error is a terminal.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        If no list has enough documents, or under the conditions of `skrank.trec.evaluate`.
    TypeError
        If a metric is not a sum over documents and pairs of documents.

    References
    ----------
    J. Aslam, E. Yilmaz, V. Pavlu, The Maximum Entropy Method for Analyzing Retrieval Measures,
    SIGIR 2005.
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import informativeness, trec
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(10), 60), np.tile(np.arange(60), 10)
    >>> label = random.choice(3, p=[0.6, 0.2, 0.2], size=600)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> run = trec.Run.from_arrays(qid, docid, label + random.normal(size=600))
    >>> found = informativeness.study(qrels, run, ["gap", "precision@5"])
    >>> found.mean.round(2)
    rel           1.0   2.0
    metric
    gap          ...
    precision@5  ...
    """
    import pandas as pd

    k = None if k is None else check.check_count("k", k, "the ranks of a list")
    condensed = check.check_flag("condensed", condensed)
    fewest = check.check_count("min_retrieved", min_retrieved, "documents of each label")
    max_grade = check.check_max_grade(max_grade)
    named_metrics = unique_metrics(metrics)
    for name, metric in named_metrics.items():
        if metric.condensed and not condensed:
            raise ValueError(
                f"{name} is measured on condensed lists, but the lists of the study are not "
                "condensed: leave condensed out of the metric, and pass condensed=True to the "
                "study."
            )
    judged = trec.read_qrels(qrels).to_frame()
    relevant = np.unique(judged["label"][judged["label"] > 0])
    levels = _check_rel(rel, relevant)
    top = max_grade or check.highest_grade(relevant)
    named_runs = trec.read_runs(runs)
    n_left_out = 0
    frames: list[pd.DataFrame] = []
    results_of_parts: list[tuple[np.ndarray, ...]] = []
    with progress_bar(progress, len(named_runs) * len(named_metrics), "metrics of runs") as bar:
        for part in _parts(judged, named_runs):
            by_list = part.groupby(["run", "qid"], sort=False)
            is_retrieved = by_list["retrieved"].any().to_numpy()
            if condensed:
                part = part[part["label"].notna()]
                by_list = part.groupby(["run", "qid"], sort=False)
            ranks = np.minimum(by_list["retrieved"].sum().to_numpy(), k or len(part))
            listed = part[by_list.cumcount().to_numpy() < np.repeat(ranks, by_list.size())]
            counts = listed.groupby(["run", "qid", "label"]).size().unstack(fill_value=0)
            counts = counts.reindex(index=by_list.size().index, columns=relevant, fill_value=0)
            is_included = (counts >= fewest).all(axis=1).to_numpy()
            n_left_out += int(np.count_nonzero(is_retrieved)) - int(np.count_nonzero(is_included))
            chosen = np.flatnonzero(is_included)
            lists = RankedLists(part["label"].to_numpy(), by_list.size().to_numpy(), ranks)
            batches = lists.batches(chosen)
            results = []
            for metric in named_metrics.values():
                expectation = Expectation(metric, lists, top)
                results.append((expectation.values, *lists.errors(batches, expectation, levels)))
                bar.update(part["run"].nunique())
            by_metric = (np.stack(field, axis=1)[chosen] for field in zip(*results, strict=True))
            results_of_parts.append((lists.errors(batches, None, levels)[0][chosen], *by_metric))
            frames.append(counts.index.to_frame(index=False).assign(ranks=ranks).iloc[chosen])
    uninformed, values, errors, converged = map(np.concatenate, zip(*results_of_parts, strict=True))
    if len(values) == 0:
        raise ValueError(
            f"no list has {fewest} documents of each label above 0: lower min_retrieved, or raise "
            "k."
        )
    return Study(
        metrics=tuple(named_metrics), rel=levels, lists=pd.concat(frames, ignore_index=True),
        values=values, errors=errors, converged=converged, uninformed=uninformed,
        n_left_out=n_left_out, k=k, condensed=condensed,
    )  # fmt: skip


def _parts(judged: pd.DataFrame, runs: dict[str, trec.Run]) -> Iterator[pd.DataFrame]:
    """Yield frames of documents, with their run, qid, label and whether the run retrieved them.

    Each frame has all judged queries of some runs, so that all frames have the same labels and
    codes: first the documents that the run retrieved, by rank, then other judged documents.
    """
    import pandas as pd

    part: list[pd.DataFrame] = []
    keys, queries = ["qid", "docid"], pd.Index(judged["qid"].unique())
    for number, (name, run) in enumerate(runs.items(), start=1):
        listed = run.to_frame()[keys].merge(judged, how="left", on=keys).assign(retrieved=True)
        listed = listed[listed["qid"].isin(queries)]
        if listed.empty:
            raise ValueError(f"run {name!r} has no query of the qrels.")
        both = pd.concat([listed, judged.assign(retrieved=False)])
        both = both[~both.duplicated(keys)].assign(run=name)  # keeps the retrieved documents
        part.append(both.sort_values("qid", key=queries.get_indexer, kind="stable"))
        if sum(map(len, part)) >= _ROWS_AT_ONCE or number == len(runs):
            yield pd.concat(part, ignore_index=True)
            part = []


def _check_rel(rel: Sequence[float] | None, relevant: np.ndarray) -> np.ndarray:
    levels = relevant if rel is None else np.array(check.check_numbers("rel", rel))
    if not (
        0 < len(levels) <= _MOST_LEVELS
        and 0 < levels.min() <= levels.max() <= relevant.max(initial=0)
    ):
        raise ValueError(
            f"rel={check.brief(levels.tolist())} must be 1 to {_MOST_LEVELS} lowest relevant "
            "labels, above 0 and at most the highest label of the qrels, which must be above 0."
        )
    return levels
