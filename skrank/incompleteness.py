"""Effect of incomplete judgments on the comparison of systems."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank import trec
from skrank._printed import Printed
from skrank._progress import tracked
from skrank._typing import Options, RandomState
from skrank.metrics import Metric
from skrank.stats import discriminative_power, tau_ap, tau_b

__all__ = ["ROBUSTNESS_METRICS", "Robustness", "reduce_judgments", "robustness"]

if TYPE_CHECKING:
    import pandas as pd

ROBUSTNESS_METRICS = (
    "ap", "q", "ndcg", "gap",
    "ap(condensed=True)", "q(condensed=True)", "ndcg(condensed=True)", "gap(condensed=True)",
    "bpref", "rpref",
)  # fmt: skip
# a query keeps at least these numbers of documents, those of Buckley and Voorhees
_FEWEST_RELEVANT, _FEWEST_OTHER = 1, 10


def reduce_judgments(qrels: object, percent: int, random_state: RandomState = 0) -> trec.Qrels:
    """Keep a random share of the judgments of each query, of relevant and of other documents.

    For a query with R relevant and N other documents, ``max(1, R * percent // 100)`` relevant and
    ``max(10, N * percent // 100)`` other documents stay judged, but at most R and N.

    Parameters
    ----------
    qrels : Qrels, path or file object
    percent : int
        From 1 to 100.
    random_state : int, Generator, RandomState or None
        Seed of a random order of the documents of each query, of which the first stay judged. With
        the same integer, documents that stay judged at 20 percent also do at 40 percent. The order
        depends only on the ids of the query and of its documents, not on the order of rows or on
        other queries.

    Returns
    -------
    Qrels
        All rows, where documents that are not kept have the label NaN: in the pool, but not judged.
        Only inferred AP distinguishes these documents from documents outside the pool.

    Raises
    ------
    ValueError
        If `percent` is not a whole number from 1 to 100, or a file cannot be read.

    References
    ----------
    C. Buckley, E. M. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004.
    T. Sakai, Alternatives to Bpref, SIGIR 2007, section 5.

    Examples
    --------
    >>> from skrank import trec
    >>> from skrank.incompleteness import reduce_judgments
    >>> names = [f"d{i}" for i in range(60)]
    >>> qrels = trec.Qrels.from_arrays(["q"] * 60, names, [2] * 3 + [1] * 7 + [0] * 50)
    >>> reduce_judgments(qrels, 50)
    Qrels: 1 queries, 60 documents, 30 judged
    >>> reduce_judgments(qrels, 1)
    Qrels: 1 queries, 60 documents, 11 judged
    """
    [percent] = _check_percents("percent", [percent])
    known = trec.read_qrels(qrels)
    return _reduction(known, check.check_random_state(random_state))(percent)


def _check_percents(parameter: str, percents: Sequence[int]) -> list[int]:
    levels = list(percents) if isinstance(percents, Iterable) else [percents]
    for level in levels:
        if type(level) is bool or not isinstance(level, (int, np.integer)) or not 1 <= level <= 100:
            raise ValueError(
                f"{parameter}={check.brief(level)} must be a whole number from 1 to 100."
            )
    if not levels or len(set(levels)) < len(levels):
        raise ValueError(
            f"{parameter}={check.brief(levels)} must be different levels, at least one: repeat by "
            "n_repeats."
        )
    return [int(level) for level in levels]


def _reduction(qrels: trec.Qrels, seed: int) -> Callable[[int], trec.Qrels]:
    """A function of percent: judgments of which the first of a random order stay.

    The relevant documents of a query, and its others, are ordered by a hash of the seed and the ids
    of query and document.
    """
    queries, labels = qrels.queries, qrels.labels
    judged = ~np.isnan(labels)
    kind = np.where(judged, labels > 0, 2)  # other, relevant, not judged
    stratum = 3 * np.repeat(np.arange(len(queries)), queries.sizes) + kind
    order = np.lexsort((_hashes(qrels, seed), stratum))
    ranked, position = stratum[order], np.empty_like(order)
    position[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    size = np.bincount(stratum)[stratum]
    fewest = np.where(labels > 0, _FEWEST_RELEVANT, _FEWEST_OTHER)

    def reduced(percent: int) -> trec.Qrels:
        kept = judged & (position < np.maximum(fewest, size * percent // 100))
        return replace(qrels, labels=np.where(kept, labels, np.nan))

    return reduced


def _hashes(qrels: trec.Qrels, seed: int) -> np.ndarray:
    """A 64-bit hash per row, which does not depend on other rows, unlike random numbers."""
    names = qrels.documents.to_list()
    digests = bytearray()
    for query, (low, high) in enumerate(pairwise(qrels.queries.indptr.tolist())):
        start = hashlib.blake2b(f"{seed}\n{qrels.queries.ids[query]}\n".encode(), digest_size=8)
        for name in names[low:high]:
            digest = start.copy()
            digest.update(name.encode())
            digests += digest.digest()
    return np.frombuffer(bytes(digests), np.dtype("<u8"))


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Printed):
    """Effect of incomplete judgments on metrics, returned by `robustness`.

    Attributes
    ----------
    table : DataFrame
        One row per metric, percent and repeat, with the columns

        metric, percent, repeat
            `repeat` counts from 0; 100 percent has a single repeat.
        mean
            Mean over systems and queries.
        tau_b, tau_ap
            Correlation of the rankings of the systems on reduced and on all judgments, by the same
            metric: ``skrank.stats.tau_b``, and ``skrank.stats.tau_ap(..., ties="b")``.
        power, required_difference
            As in `skrank.stats.DiscriminativePower`; NaN if two systems have fewer than two queries
            in common.
        queries
            Number of queries on which the metric is defined. If 0, mean and correlations are NaN.
    means : DataFrame
        Mean over queries ("mean") by "metric", "percent", "repeat" and "run".
    judgments : DataFrame
        Numbers of "relevant" (label above 0) and "other" judged documents, by "percent" and
        "repeat".
    confidence : float
        Of `power` and `required_difference`.
    n_queries : int
    caption : str
    """

    table: pd.DataFrame
    means: pd.DataFrame
    judgments: pd.DataFrame
    confidence: float
    n_queries: int

    def pivot(self, column: str = "tau_b") -> pd.DataFrame:
        """One column of the table, averaged over repeats; ``pivot("power").T.plot()`` draws it.

        Parameters
        ----------
        column : {"tau_b", "tau_ap", "power", "required_difference", "mean", "queries"}

        Returns
        -------
        DataFrame of shape (n_metrics, n_percents)
        """
        check.check_choice("column", column, tuple(self.table.columns[3:]))
        by = self.table.groupby(["metric", "percent"], sort=False)[column].mean().unstack()
        return by.loc[self.table["metric"].unique(), self.table["percent"].unique()]

    @property
    def caption(self) -> str:
        """Numbers of runs, queries and repeats."""
        sizes = [self.means["run"].nunique(), self.n_queries, self.table["repeat"].max() + 1]
        nouns = ("run", "query", "repeat"), ("runs", "queries", "repeats")
        return ", ".join(map(check.counted, sizes, *nouns))

    def _printed(self) -> dict[str, pd.DataFrame]:
        power = f"discriminative power at {100 * self.confidence:g} % confidence"
        titles = {"tau_b": "tau_b with the ranking by all judgments", "power": power}
        return {f"{title}, by percent judged": self.pivot(name) for name, title in titles.items()}


def robustness(
    qrels: object,
    runs: object,
    metrics: str | Metric | Sequence[str | Metric] = ROBUSTNESS_METRICS,
    percents: Sequence[int] = (100, 80, 60, 40, 20),
    *,
    random_state: RandomState = 0,
    n_repeats: int = 1,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    missing: str = "zero",
    max_grade: int | None = None,
    progress: bool | None = None,
) -> Robustness:
    """Measure how a comparison of systems changes if fewer documents are judged.

    `reduce_judgments` reduces the judgments to each level, and all systems are measured again. The
    result shows, for each metric, the correlation of the ranking of the systems with that on all
    judgments, and the share of pairs of systems that differ significantly.

    Parameters
    ----------
    qrels, runs
        As in `skrank.trec.evaluate`; at least two runs.
    metrics : names or Metrics
    percents : sequence of int
        Levels, each from 1 to 100.
    random_state : int, Generator, RandomState or None
        Seed of `reduce_judgments` in the first repeat, and of the bootstrap. Repeat i adds i to the
        seed of `reduce_judgments`.
    n_repeats : int
        Random reductions for each level below 100.
    confidence : float
        As in `skrank.stats.discriminative_power`.
    n_resamples : int
        Number of resamples of the bootstrap. Fewer than elsewhere, because the pairs are tested
        anew for each level and metric: for 50 systems and 50 queries, 1,000 resamples with the
        default levels and metrics take 6 seconds, and 10,000 take 80.
    missing : {"zero", "skip", "raise"}
        As in `skrank.trec.evaluate`.
    max_grade : int, optional
        Highest grade of the collection. Default: the highest label of all judgments.
    progress : bool, optional
        Show a bar on standard error. Default: after two seconds, if standard error is a terminal.

    Returns
    -------
    Robustness

    Raises
    ------
    ValueError
        If there are fewer than two runs, if a level is not a whole number from 1 to 100 or occurs
        twice, or under the conditions of `skrank.trec.evaluate`.

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007, sections 5 to 7.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import trec
    >>> from skrank.incompleteness import robustness
    >>> random = np.random.default_rng(0)
    >>> qid, docid = np.repeat(np.arange(20), 50), np.tile(np.arange(50), 20)
    >>> label = random.choice(3, p=[0.7, 0.2, 0.1], size=1000)
    >>> qrels = trec.Qrels.from_arrays(qid, docid, label)
    >>> runs = [
    ...     trec.Run.from_arrays(qid, docid, label + s * random.normal(size=1000), name=f"noise{s}")
    ...     for s in (1.0, 1.2, 1.4, 1.6)
    ... ]
    >>> found = robustness(qrels, runs, ["gap", "bpref"], [100, 20], n_resamples=200)
    >>> found.pivot("tau_b").round(2)
    percent  100   20
    metric
    gap      1.0 ...
    bpref    1.0 ...
    """
    import pandas as pd

    confidence = check.check_share("confidence", confidence)
    n_resamples, seed = check.check_draws(n_resamples, random_state)
    check.check_repeats("n_repeats", n_repeats, "the number of random reductions of each level")
    levels = [
        (percent, repeat)
        for percent in _check_percents("percents", percents)
        for repeat in range(1 if percent == 100 else n_repeats)
    ]
    known, named = trec.read_qrels(qrels), trec.read_runs(runs)
    if len(named) < 2:
        raise ValueError("runs has 1 run: a ranking needs at least 2.")
    top = check.check_max_grade(max_grade) or check.highest_grade(known.labels)
    reductions = [_reduction(known, seed + repeat) for repeat in range(n_repeats)]
    measured = partial(
        trec.evaluate, runs=named, metrics=metrics, missing=missing, max_grade=top, progress=False
    )
    full = measured(known)
    bootstrap: Options = {
        "confidence": confidence, "n_resamples": n_resamples, "random_state": seed,
        "progress": False,
    }  # fmt: skip
    rows: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    judgments: list[dict[str, Any]] = []
    for percent, repeat in tracked(levels, progress, "levels"):
        reduced = reductions[repeat](percent)
        report = full if percent == 100 else measured(reduced)
        level = {"percent": percent, "repeat": repeat}
        numbers = {"relevant": (reduced.labels > 0).sum(), "other": (reduced.labels == 0).sum()}
        judgments.append(level | numbers)
        for m, (name, metric) in enumerate(full.metric_of.items()):
            key = {"metric": name, **level}
            mean, truth = report.averages[:, m], full.averages[:, m]
            values = report.values[:, :, m]
            rows.append(key | _ranking(metric, mean, truth) | _power(values, bootstrap))
            means += [key | {"run": run, "mean": mean[i]} for i, run in enumerate(named)]
    table, by_run, counts = (pd.DataFrame(records) for records in (rows, means, judgments))
    return Robustness(table, by_run, counts, confidence, full.values.shape[1])


def _ranking(metric: Metric, mean: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Mean of the systems, and correlations of their ranking with that on all judgments."""
    row = {"mean": float(np.mean(mean)), "tau_b": np.nan, "tau_ap": np.nan}
    if np.isfinite(mean).all() and np.isfinite(truth).all():
        sign = 1 if metric.greater_is_better else -1
        row["tau_b"] = tau_b(truth, mean)
        row["tau_ap"] = tau_ap(sign * truth, sign * mean, ties="b")
    return row


def _power(values: np.ndarray, bootstrap: Options) -> dict[str, float]:
    """Discriminative power; NaN if some pair of systems has fewer than 2 queries in common."""
    defined = (~np.isnan(values)).astype(np.int64)
    row = {"power": np.nan, "required_difference": np.nan, "queries": defined.any(axis=0).sum()}
    if (defined @ defined.T).min() >= 2:
        power = discriminative_power(values.T, **bootstrap)
        row |= {"power": power.power, "required_difference": power.required_difference}
    return row
