"""The most random distribution of grades over ranks that gives a metric its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.plan import Plan
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank.informativeness._lists import Expectation, RankedLists
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of


@dataclass(frozen=True, eq=False, repr=False)
class GradeDistribution:
    """What `maximum_entropy` found.

    Attributes
    ----------
    metric : Metric
    value : float
        What was asked for.
    expected : float
        Mean of the metric under the distribution; `value`, but for values at an end of what is
        possible, of which it stays away by 1e-5 of the range.
    probabilities : float64 ndarray of shape (n_ranks, n_grades)
        Probability of the grades 0, 1, ... at each rank. Rows sum to 1, columns to `retrieved`.
    retrieved, relevant : int64 ndarray of shape (n_grades,)
        Documents of each grade in the list and in the whole query; of grade 0, `relevant` counts
        those of the list.
    entropy : float
        In nats.
    n_steps : int
        Convex problems that were solved.
    converged : bool
        True if `expected` is the value asked for and the last step changed nothing.
    """

    metric: Metric
    value: float
    expected: float
    probabilities: np.ndarray
    retrieved: np.ndarray
    relevant: np.ndarray
    entropy: float
    n_steps: int
    converged: bool

    def precision_recall(self, rel: float = 1) -> tuple[np.ndarray, np.ndarray]:
        """Recall and precision that are expected down to each rank.

        Parameters
        ----------
        rel : float
            Lowest grade that counts as relevant.

        Returns
        -------
        recall, precision : float64 ndarrays of shape (n_ranks,)
            Recall is that of the whole query.

        Raises
        ------
        ValueError
            If the query has no document of such a grade.
        """
        counts = self._counts(rel)
        expected = np.cumsum(self.probabilities[:, counts].sum(axis=1))
        return expected / self.relevant[counts].sum(), expected / np.arange(1, len(expected) + 1)

    def error(self, grades: ArrayLike, rel: float = 1) -> float:
        """How far the precision-recall curve is from that of a list.

        Parameters
        ----------
        grades : array-like of shape (n_ranks,)
            Grades of the list, best rank first; of each grade as many as `retrieved` says.
        rel : float
            Lowest grade that counts as relevant.

        Returns
        -------
        float
            Root mean square of the differences of precision at the ranks of relevant documents, in
            [0, 1). The inferred precision is taken at the same recall: r over the rank, linear
            between whole ranks, down to which r relevant documents are expected.

        Raises
        ------
        ValueError
            If the list is another one, or holds no document of such a grade.
        """
        self._counts(rel)
        labels, columns = check.as_vector("grades", grades), np.arange(len(self.retrieved))
        found = (labels[:, None] == columns).sum(axis=0)
        if len(labels) != len(self) or not np.array_equal(found, self.retrieved):
            raise ValueError(
                f"grades are not those of the distribution, which has {self.retrieved.tolist()} "
                f"documents of the grades 0..{columns[-1]}: pass the grades of the {len(self)} "
                "ranks."
            )
        lists = RankedLists(
            columns.astype(np.float64),
            columns,
            np.array([0, len(labels)]),
            labels.astype(np.int64),
            np.zeros(1, np.int64),
        )
        error = float(lists.errors(self.probabilities, np.array([rel]))[0, 0])
        if np.isnan(error):
            raise ValueError(f"the list holds no document of grade {rel:g} or better.")
        return error

    def _counts(self, rel: float) -> np.ndarray:
        rel = check.check_rel(rel)
        counts = np.arange(len(self.retrieved)) >= rel
        if self.relevant[counts].sum() == 0:
            raise ValueError(f"rel={rel:g}: the query has no document of such a grade.")
        return counts

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        state = f"in {self.n_steps} steps" if self.converged else "NOT CONVERGED"
        return (
            f"GradeDistribution: {len(self)} ranks, {len(self.retrieved)} grades, "
            f"{self.metric} = {self.expected:.6g}, entropy {self.entropy:.4f}, {state}"
        )


def maximum_entropy(
    metric: str | Metric,
    value: float,
    retrieved: Sequence[int],
    n_ranks: int,
    *,
    relevant: Sequence[int] | None = None,
) -> GradeDistribution:
    """The most random list with a given value of a metric, as a distribution of grades over ranks.

    Grades of different ranks are independent. Of all such distributions under which the expected
    number of documents of each grade is `retrieved`, and the expected value of the metric is
    `value`, the one of the highest entropy is found.

    Parameters
    ----------
    metric : str or Metric
        A sum over documents and pairs of documents: GAP, AP, Q-measure; nDCG, DCG, RBP, precision,
        recall and the like, for which the problem is convex.
    value : float
        Value of the list.
    retrieved : sequence of int of shape (n_grades - 1,)
        Documents of the grades 1, 2, ... in the list; they also are the grades of the collection,
        for metrics that do not fix them.
    n_ranks : int
        Length of the list; documents beyond `retrieved` have grade 0.
    relevant : sequence of int of shape (n_grades - 1,), optional
        Documents of these grades in the whole query, by which the metric may be normalised.
        Default: all were retrieved.

    Returns
    -------
    GradeDistribution

    Raises
    ------
    ValueError
        If no order of the documents has such a value (the message names the least and the greatest
        one), if counts are negative or more than there are ranks, or if the metric is not defined.
    TypeError
        If the metric is not such a sum (ERR, reciprocal rank, bpref, ...).

    References
    ----------
    J. Aslam, E. Yilmaz, V. Pavlu, The Maximum Entropy Method for Analyzing Retrieval Measures,
    SIGIR 2005.
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 4.1.

    Examples
    --------
    >>> from skrank.informativeness import maximum_entropy
    >>> found = maximum_entropy("gap(thresholds=[0.5,0.5])", 0.8, retrieved=[2, 1], n_ranks=6)
    >>> found.probabilities.round(2)
    array([[0.2 , 0.4 , 0.4 ],
           [0.38, 0.4 , 0.22],
           [0.51, 0.36, 0.14],
           [0.59, 0.31, 0.1 ],
           [0.64, 0.28, 0.08],
           [0.68, 0.25, 0.07]])
    >>> round(found.error([2, 1, 0, 1, 0, 0]), 3)
    0.3
    """
    one = metric_of(metric)
    value = check.check_number("value", value, -np.inf, np.inf)
    n_ranks = check.check_count("n_ranks", n_ranks, "the length of the list")
    shown = _counts("retrieved", retrieved)
    known = shown if relevant is None else _counts("relevant", relevant, len(shown))
    _check_counts(shown, known, n_ranks)
    inside = np.concatenate(([n_ranks - shown.sum()], shown))
    grades = np.arange(len(inside))
    labels = np.concatenate((np.repeat(grades, inside), np.repeat(grades[1:], known - shown)))
    scores = np.where(np.arange(len(labels)) < n_ranks, 0.0, -np.inf)
    judgments = Judgments(labels, Queries.single(len(labels)))
    ranking = Ranking(judgments, scores)
    plan = one.bind(judgments, max_grade=len(shown))
    lists = RankedLists.of(judgments, ranking.codes("stable", False))
    expectation = Expectation.of(plan, ranking, lists)
    _check_value(one, value, plan, expectation)
    found = expectation.infer(np.array([value]))
    probabilities = np.zeros((n_ranks, len(inside)))
    probabilities[:, lists.labels.astype(np.int64)] = found.p
    return GradeDistribution(
        metric=one,
        value=value,
        expected=float(found.mean[0]),
        probabilities=probabilities,
        retrieved=inside,
        relevant=np.concatenate((inside[:1], known)),
        entropy=float(found.entropy[0]),
        n_steps=int(found.steps[0]),
        converged=bool(found.done[0]),
    )


def _counts(parameter: str, values: Sequence[int], length: int | None = None) -> np.ndarray:
    numbers = np.array(check.check_numbers(parameter, values))
    if (numbers < 0).any() or (numbers != np.rint(numbers)).any():
        raise ValueError(
            f"{parameter}={values!r} must hold whole numbers of documents, one per grade 1, 2, ..."
        )
    if length is not None and len(numbers) != length:
        raise ValueError(f"{parameter} has {len(numbers)} grades and retrieved has {length}.")
    return numbers.astype(np.int64)


def _check_counts(shown: np.ndarray, known: np.ndarray, n_ranks: int) -> None:
    if shown.sum() > n_ranks:
        raise ValueError(
            f"retrieved has {shown.sum()} documents for {n_ranks} ranks: count those of the list "
            "only, and pass those of the whole query as relevant=."
        )
    grade = int(np.argmax(known < shown)) + 1
    if (known < shown).any():
        raise ValueError(
            f"relevant has {known[grade - 1]} documents of grade {grade} and retrieved has "
            f"{shown[grade - 1]}: the query holds all of the list."
        )


def _check_value(one: Metric, value: float, plan: Plan, expectation: Expectation) -> None:
    if plan.empty.any():
        raise ValueError(f"the query has no relevant document, so {one} is not defined.")
    low, high = (float(end[0]) for end in expectation.reach())
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    if not low - slack <= value <= high + slack:
        raise ValueError(
            f"{one} = {value:.6g} is beyond reach: with these documents at any ranks it is between "
            f"{low:.6g} and {high:.6g}."
        )
