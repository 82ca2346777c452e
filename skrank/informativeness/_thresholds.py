"""Thresholds of GAP that are most informative about rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank import trec
from skrank._printed import Printed
from skrank.informativeness._study import Study, study
from skrank.metrics.gap import GAP
from skrank.stats import t_interval

if TYPE_CHECKING:
    import pandas as pd

_MOST_CANDIDATES = 2000  # chosen freely; each is a metric of the study


def threshold_grid(n_grades: int, n_steps: int = 10) -> list[tuple[float, ...]]:
    """All thresholds of GAP that are multiples of ``1 / n_steps``.

    Parameters
    ----------
    n_grades : int
        Number of grades above 0.
    n_steps : int

    Returns
    -------
    list of tuple of float of length n_grades
        Each tuple sums to 1; the first is (0, ..., 0, 1). Ten steps give 11 candidates for two
        grades, 66 for three and 286 for four.

    Raises
    ------
    ValueError
        If there are more than 2000 candidates.

    Examples
    --------
    >>> from skrank.informativeness import threshold_grid
    >>> threshold_grid(2, 4)
    [(0.0, 1.0), (0.25, 0.75), (0.5, 0.5), (0.75, 0.25), (1.0, 0.0)]
    """
    check.check_count("n_grades", n_grades, "the grades above 0")
    check.check_count("n_steps", n_steps, "thresholds are multiples of 1 / n_steps")
    number = comb(n_steps + n_grades - 1, n_grades - 1)
    if number > _MOST_CANDIDATES:
        raise ValueError(
            f"{n_grades} grades and {n_steps} steps make {number} candidates (at most "
            f"{_MOST_CANDIDATES}): lower n_steps, or pass candidates."
        )
    # stars and bars: n_grades - 1 bars divide n_steps stars into the numerators of the thresholds
    positions = range(n_steps + n_grades - 1)
    rows = ((-1, *bars, len(positions)) for bars in combinations(positions, n_grades - 1))
    return [tuple((b - a - 1) / n_steps for a, b in pairwise(row)) for row in rows]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdChoice(Printed):
    """Thresholds of GAP and their errors, returned by `select_thresholds`.

    Attributes
    ----------
    thresholds : tuple of float
        g_1..g_c with the smallest error on the queries.
    metric : GAP
        GAP with these thresholds.
    table : DataFrame of shape (n_candidates, n_rel + 1)
        Mean error for each lowest relevant label, and the mean of these errors, "criterion",
        indexed by candidate.
    study : Study
        The errors of all lists; the metrics of the study are the candidates.
    cross_validated : float
        Mean error by leave-one-out cross-validation over queries: the error of each query uses the
        thresholds that are best on the other queries. NaN for a single query. The smallest
        "criterion" is lower, because it is the minimum on the queries that chose it.
    balanced : tuple of float
        The candidate with the most equal thresholds.
    better_than_balanced : bool
        True if the 95 % interval over queries of `cross_validated` minus the error of `balanced` is
        below 0.
    caption : str
    """

    thresholds: tuple[float, ...]
    metric: GAP
    table: pd.DataFrame
    study: Study
    cross_validated: float
    balanced: tuple[float, ...]
    better_than_balanced: bool

    @property
    def caption(self) -> str:
        """The thresholds, and their error beside that of balanced thresholds."""
        error, n = self.table["criterion"], len(self.table)
        better = "better" if self.better_than_balanced else "not significantly better"
        return (
            f"{self.metric}, of {check.counted(n, 'candidate')}: RMS error {error.min():.4f}, "
            f"cross-validated over queries {self.cross_validated:.4f}; {better} than balanced "
            f"thresholds {self.balanced} with {error[self.balanced]:.4f}"
        )

    def _printed(self) -> dict[str, pd.DataFrame]:
        return {"": self.table}


def select_thresholds(
    qrels: object,
    runs: object,
    candidates: Sequence[Sequence[float]] | None = None,
    *,
    rel: Sequence[float] | None = None,
    n_steps: int = 10,
    k: int | None = 1000,
    condensed: bool = False,
    min_retrieved: int = 5,
    progress: bool | None = None,
) -> ThresholdChoice:
    """Select the thresholds of GAP that are most informative about runs.

    Parameters
    ----------
    qrels, runs
        As in `skrank.trec.evaluate`. The labels are the grades 0..c.
    candidates : sequence of sequences of float, optional
        Thresholds to choose from, each a probability per grade 1..c. Default: `threshold_grid`.
    rel : sequence of float, optional
        Lowest relevant labels, each with a precision-recall curve. The criterion is the mean of the
        errors of these curves. Default: all grades above 0.
    n_steps : int
        As in `threshold_grid`, for the default candidates.
    k, condensed, min_retrieved, progress
        As in `study`.

    Returns
    -------
    ThresholdChoice

    Raises
    ------
    ValueError
        If labels are not whole numbers, if candidates are not probabilities of the grades, or under
        the conditions of `study`.

    References
    ----------
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
    >>> choice = informativeness.select_thresholds(qrels, run, n_steps=4)
    >>> len(choice.table), sum(choice.thresholds)
    (5, 1.0)
    """
    known = trec.read_qrels(qrels)
    labels = known.labels[~np.isnan(known.labels)]
    if len(labels) == 0 or labels.max() < 1 or (labels != np.rint(labels)).any():
        raise ValueError(
            "thresholds are probabilities of the grades 1..c: the labels of the qrels must be "
            "whole numbers, some above 0."
        )
    top = int(labels.max())
    if candidates is None:
        candidates = threshold_grid(top, n_steps)
    choices = check.several("candidates", candidates, ())
    thresholds = (check.check_thresholds(choice, top) for choice in choices)
    metrics = [GAP(thresholds=choice) for choice in dict.fromkeys(thresholds)]
    studied = study(
        known, runs, metrics, rel=rel, k=k, condensed=condensed,
        min_retrieved=min_retrieved, progress=progress,
    )  # fmt: skip
    table = studied.mean.set_axis([metric.thresholds for metric in metrics], axis=0)
    table["criterion"] = table.mean(axis=1)
    criterion = table["criterion"].to_numpy()
    best = metrics[int(np.argmin(criterion))]
    unequal = [max(thresholds) - min(thresholds) for thresholds in table.index]
    balanced = min(range(len(metrics)), key=lambda i: (unequal[i], criterion[i]))
    error, better = _left_out(studied, balanced)
    return ThresholdChoice(
        tuple(best.thresholds or ()), best, table, studied,
        error, tuple(table.index[balanced]), better,
    )  # fmt: skip


def _left_out(studied: Study, balanced: int) -> tuple[float, bool]:
    """Leave-one-out error over queries; True if it is significantly below that of `balanced`."""
    shape = -1, len(studied.metrics), len(studied.rel)
    errors = studied.by("qid").to_numpy().reshape(shape).mean(axis=2)
    n_lists = studied.lists.groupby("qid", sort=False).size().to_numpy()
    if len(errors) < 2:
        return float("nan"), False
    sums = errors * n_lists[:, None]
    chosen = np.argmin((sums.sum(axis=0) - sums), axis=1)
    held_out = errors[np.arange(len(errors)), chosen]
    difference = t_interval(held_out - errors[:, balanced], weights=n_lists)
    return float(np.average(held_out, weights=n_lists)), bool(difference.high < 0)
