"""The maximum-entropy distribution of grades over ranks, given the value of a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.informativeness._entropy import curve_errors
from skrank.informativeness._lists import Expectation, RankedLists
from skrank.metrics import Metric
from skrank.metrics import metric as metric_of


@dataclass(frozen=True, eq=False, repr=False)
class GradeDistribution:
    """Distribution of grades over ranks, returned by `maximum_entropy`.

    Attributes
    ----------
    metric : Metric
    value : float
        Requested value of the metric.
    expected : float
        Mean of the metric under the distribution. It equals `value`, unless `value` is the least or
        greatest possible value: then it differs from `value` by 1e-5 of the difference of these.
    probabilities : float64 ndarray of shape (n_ranks, n_grades)
        Probability of the grades 0, 1, ... at each rank. Rows sum to 1, columns to `retrieved`.
    retrieved, relevant : int64 ndarray of shape (n_grades,)
        Number of documents of each grade in the list, and in the whole query. For grade 0, both
        are the number in the list.
    entropy : float
        Sum over ranks, in nats.
    n_steps : int
        Number of convex problems that were solved.
    converged : bool
        True if `expected` reached the requested value and the last step changed nothing.
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
        """Expected recall and precision at each rank.

        Parameters
        ----------
        rel : float
            Lowest grade that counts as relevant.

        Returns
        -------
        recall, precision : float64 ndarrays of shape (n_ranks,)
            Recall is relative to the relevant documents of the whole query.

        Raises
        ------
        ValueError
            If the query has no relevant document.
        """
        is_relevant, ranks = self._relevant_grades(rel), np.arange(1, len(self) + 1)
        expected = np.cumsum(self.probabilities[:, is_relevant].sum(axis=1))
        return expected / self.relevant[is_relevant].sum(), expected / ranks

    def error(self, grades: ArrayLike, rel: float = 1) -> float:
        """Distance of the inferred precision-recall curve from that of a list.

        Parameters
        ----------
        grades : array-like of shape (n_ranks,)
            Grades of the list in the order of the ranks, with the counts `retrieved`.
        rel : float
            Lowest grade that counts as relevant.

        Returns
        -------
        float
            Root mean square, over the relevant documents of the list, of the difference of observed
            and inferred precision, in [0, 1). For the r-th relevant document, the inferred
            precision is r over the (interpolated) rank at which r relevant documents are expected.

        Raises
        ------
        ValueError
            If the counts of the grades differ from `retrieved`, or no document is relevant.
        """
        is_relevant = self._relevant_grades(rel)
        labels, all_grades = check.as_vector("grades", grades), np.arange(len(self.retrieved))
        counts = (labels[:, None] == all_grades).sum(axis=0)
        if len(labels) != len(self) or not np.array_equal(counts, self.retrieved):
            raise ValueError(
                f"grades must be one grade for each of the {len(self)} ranks, with the counts "
                f"{check.brief(self.retrieved.tolist())} of the grades 0, 1, ..."
            )
        probabilities = self.probabilities.T[:, None]  # by grade, list and rank
        error = float(curve_errors(labels.astype(np.int64)[None], probabilities, is_relevant)[0])
        if np.isnan(error):
            raise ValueError(f"the list has no document of grade {rel} or higher: lower rel.")
        return error

    def _relevant_grades(self, rel: float) -> np.ndarray:
        """True for grades of at least `rel`."""
        rel = check.check_rel(rel)
        is_relevant = np.arange(len(self.retrieved)) >= rel
        if self.relevant[is_relevant].sum() == 0:
            raise ValueError(f"the query has no document of grade rel={rel:g} or higher.")
        return is_relevant

    def __len__(self) -> int:
        return len(self.probabilities)

    def __repr__(self) -> str:
        steps = check.counted(self.n_steps, "step")
        return (
            f"GradeDistribution({check.counted(len(self), 'rank')}, "
            f"{check.counted(len(self.retrieved), 'grade')}, {self.metric} = {self.expected:.6g}, "
            f"entropy {self.entropy:.4f}, {steps}{'' if self.converged else ', NOT CONVERGED'})"
        )


def maximum_entropy(
    metric: str | Metric,
    value: float,
    retrieved: Sequence[int],
    n_ranks: int,
    *,
    relevant: Sequence[int] | None = None,
) -> GradeDistribution:
    """The maximum-entropy distribution of grades over ranks, given the value of a metric.

    Grades of different ranks are independent. The expected number of documents of each grade is
    `retrieved`, and the expected value of the metric is `value`. The result has the highest entropy
    of all such distributions.

    Parameters
    ----------
    metric : str or Metric
        A sum over documents and pairs of documents: GAP, AP and Q-measure; or a sum over documents,
        for which the problem is convex: nDCG, DCG, RBP, precision, recall and others.
    value : float
        Value of the metric.
    retrieved : sequence of int of shape (n_grades - 1,)
        Number of documents of the grades 1, 2, ... in the list. The length is the highest grade of
        the collection, for metrics that do not set `max_grade`.
    n_ranks : int
        Length of the list. Documents not in `retrieved` have grade 0.
    relevant : sequence of int of shape (n_grades - 1,), optional
        Number of documents of the grades 1, 2, ... in the whole query, for the normaliser of the
        metric. Default: `retrieved`.

    Returns
    -------
    GradeDistribution

    Raises
    ------
    ValueError
        If `value` is not between the least and the greatest value over all orders of documents, if
        counts are negative or exceed the number of ranks, or if the metric is not defined.
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
    >>> result = maximum_entropy("gap(thresholds=[0.5,0.5])", 0.8, retrieved=[2, 1], n_ranks=6)
    >>> result.probabilities.round(2)
    array([[0.2 , 0.4 , 0.4 ],
           [0.38, 0.4 , 0.22],
           [0.51, 0.36, 0.14],
           [0.59, 0.31, 0.1 ],
           [0.64, 0.28, 0.08],
           [0.68, 0.25, 0.07]])
    >>> round(result.error([2, 1, 0, 1, 0, 0]), 3)
    0.3
    """
    chosen = metric_of(metric)
    value = check.check_number("value", value, -np.inf, np.inf)
    n_ranks = check.check_count("n_ranks", n_ranks, "the length of the list")
    in_list = _document_counts("retrieved", retrieved)
    in_query = in_list if relevant is None else _document_counts("relevant", relevant)
    if in_list.sum() > n_ranks or len(in_query) != len(in_list) or (in_query < in_list).any():
        raise ValueError(
            f"{retrieved=} must be counts of at most {n_ranks=} documents of the grades 1, 2, ..., "
            f"and {relevant=} at least as large: relevant counts all documents of the query."
        )
    counts = np.concatenate(([n_ranks - in_list.sum()], in_list))  # in the list, by grade
    grades = np.arange(len(counts))
    labels = np.concatenate((np.repeat(grades, counts), np.repeat(grades[1:], in_query - in_list)))
    lists = RankedLists(labels, np.array([len(labels)]), np.array([n_ranks]))
    expectation = Expectation(chosen, lists, len(in_list))
    if expectation.empty.any():
        raise ValueError(f"the query has no relevant document, so {chosen} is not defined.")
    low, high = np.sort(expectation.ends, axis=0)[:, 0].tolist()
    slack = 1e-9 * max(1.0, abs(low), abs(high))
    if not low - slack <= value <= high + slack:
        raise ValueError(
            f"{chosen} = {value:.6g} is not possible: with these documents, the value is between "
            f"{low:.6g} and {high:.6g} in any order."
        )
    columns = lists.padded(np.array([0]))  # by rank of list 0, the only list
    solution = expectation.infer(np.array([0]), columns, np.array([value]))
    probabilities = np.zeros((n_ranks, len(counts)))  # 0 for grades without documents
    probabilities[:, lists.labels.astype(np.int64)] = solution.p[:, 0].T
    return GradeDistribution(
        metric=chosen, value=value, expected=float(solution.mean[0]), probabilities=probabilities,
        retrieved=counts, relevant=np.concatenate((counts[:1], in_query)),
        entropy=float(solution.entropy[0]), n_steps=int(solution.steps[0]),
        converged=bool(solution.done[0]),
    )  # fmt: skip


def _document_counts(parameter: str, values: Sequence[int]) -> np.ndarray:
    numbers = np.array(check.check_numbers(parameter, values))
    if (numbers < 0).any() or (numbers != np.rint(numbers)).any():
        raise ValueError(f"{parameter}={check.brief(values)} must be whole numbers of documents.")
    return numbers.astype(np.int64)
