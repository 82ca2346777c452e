"""Mean and mean square of the value of each query when its labels are random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.threads import run_chunks
from skrank._kernels import moments
from skrank.active._graded_metric import DELTA, METHODS, MONTE_CARLO, GradedMetric, graded_metric
from skrank.active._label_model import LabelModel, label_probabilities
from skrank.active._pool import Pool, make_pool
from skrank.metrics import Metric, metric

_MOST_ROWS = 1_000_000  # labels drawn at a time, to bound memory


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the value L of each query over its random labels.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        Query ids.
    mass : ndarray of shape (n_queries,)
        Probability that the query counts. With ``empty="skip"``, this is the probability of a
        relevant document; otherwise it is 1.
    first, second : ndarray of shape (n_queries,)
        Means of L and of L**2, where L is 0 if the query does not count. With two rankers, L is the
        difference of the two values.
    method : {"exact", "delta", "monte-carlo"}
        Method of computation.
    """

    queries: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray
    method: str

    def center(self, p: np.ndarray | None = None) -> float:
        """Expected mean of L over the queries that count, with frequencies p; 0 if none count."""
        p = np.full(len(self.mass), 1 / len(self.mass)) if p is None else p
        mass = float(p @ self.mass)
        return float(p @ self.first) / mass if mass > 0 else 0.0

    def deviation(self, p: np.ndarray) -> np.ndarray:
        """Expected difference of L and `center`; the sum of p times the differences is 0."""
        return self.first - self.center(p) * self.mass

    def squared_error(self, center: float) -> np.ndarray:
        """Mean of ``(L - center)**2`` per query, where a query that does not count adds 0."""
        error = self.second - 2 * center * self.first + center**2 * self.mass
        return np.maximum(error, 0.0)  # rounding errors may be negative


def label_moments(
    metric: str | Metric,
    scores: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    other: ArrayLike | None = None,
    label_model: LabelModel = "uniform",
    X: ArrayLike | None = None,
    grades: ArrayLike | None = None,
    method: str = "auto",
    n_draws: int = 200,
    random_state: int = 0,
) -> Moments:
    """Mean and mean square of the value of each query when its labels are random.

    Labels of different documents are assumed to be independent.

    Parameters
    ----------
    metric : str or Metric
    scores : array-like of shape (n_rows,)
        Scores of the ranker; -inf = not retrieved. Ties are put in random order.
    groups : array-like of shape (n_rows,), optional
        Query of each row; default: the index level "qid" of `scores`.
    other : array-like of shape (n_rows,), optional
        Scores of a second ranker. The moments are those of the difference, first minus second.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or classifier
        Probability of each grade per row: equal, given, or ``label_model.predict_proba(X)``.
    X : array-like of shape (n_rows, n_features), optional
        Features, for a classifier.
    grades : sequence of float, optional
        All grades that a label may have, ascending. Default: the classifier's classes, or 0, 1, 2,
        ... for the columns of an array. Required with "uniform".
    method : {"auto", "exact", "delta", "monte-carlo"}
        "exact" exists for sums over ranks (DCG, precision, RBP), for cascades (ERR, PFound,
        reciprocal rank) and for the AP of one ranker. "delta" exists for the GAP of one ranker: the
        joint moments of numerator and divisor are exact, those of the ratio are approximated.
        "monte-carlo" exists for all metrics. "auto" is the first of these that exists.
    n_draws : int
        Random label vectors per query, for "monte-carlo".
    random_state : int
        Seed of the order of ties, and of random labels.

    Returns
    -------
    Moments

    Raises
    ------
    ValueError
        If probabilities are not a distribution, or the method does not exist for the metric.

    References
    ----------
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer, N. Landwehr, Active evaluation of ranking
    functions based on graded relevance, Machine Learning 92, 2013, theorem 3 and appendix.

    Examples
    --------
    >>> from skrank.active import label_moments
    >>> m = label_moments("dcg(gain=linear)", [0.9, 0.1], ["a", "a"], grades=[0, 1])
    >>> m.first.round(4), m.method
    (array([0.8155]), 'exact')
    """
    both = [scores] if other is None else [scores, other]
    seed = check.check_random_state(random_state)
    labels = random_labels(metric, both, groups, label_model, X, grades, seed, who="label_moments")
    return labels.moments(method, n_draws, seed)


@dataclass(frozen=True, eq=False)
class RandomLabels:
    """The documents of a pool, with independent random labels.

    Attributes
    ----------
    graded : GradedMetric
    pool : Pool
    proba : ndarray of shape (n_rows, n_grades)
        Probability of each grade per document.
    """

    graded: GradedMetric
    pool: Pool
    proba: np.ndarray

    def lists(self, ranker: int | slice) -> moments.RandomLists:
        """The ranked lists of one ranker, or of several, as an argument of kernels."""
        return moments.RandomLists(self.pool.order[ranker], self.pool.retrieved[ranker], self.proba)

    def moments(self, method: str, n_draws: int, seed: int) -> Moments:
        """The moments for one ranker, or for the difference of two."""
        graded, ids = self.graded, self.pool.queries.ids
        check.check_choice("moments", method, METHODS)
        method = graded.method(method, len(self.pool.scores))
        if method == MONTE_CARLO:
            n_draws = check.check_repeats("n_draws", n_draws, "random label vectors per query")
            mass, first, second = _monte_carlo(self, n_draws, seed)
            return Moments(ids, mass, first, second, method)
        mass = relevant = np.ones(len(ids))
        if graded.metric.empty != 0 or method == DELTA:  # else a query without one counts as 0
            relevant = _some_relevant(self)
        first, second = _delta(self, relevant) if method == DELTA else _exact(self)
        if not graded.all_count:
            mass = relevant
        elif graded.metric.empty == 1:
            first, second = first + (1 - relevant), second + (1 - relevant)
        return Moments(ids, mass, first, second, method)

    def mean_moments(
        self, method: str, n_draws: int, seed: int, p: np.ndarray, center: float | None
    ) -> Moments:
        """The moments for any number of rankers; for one or two, those of `moments`.

        For more than two rankers, ``E[(L - R)**2]`` is averaged over the differences L of all
        pairs, and returned as the second moment of a value of mean 0. R is `center`, or the
        expected mean of L under the frequencies p.
        """
        n_rankers = len(self.pool.scores)
        if n_rankers <= 2:
            return self.moments(method, n_draws, seed)
        errors = []
        for pair in combinations(range(n_rankers), 2):
            two = replace(self, pool=self.pool.of_rankers(list(pair)))
            found = two.moments(method, n_draws, seed)
            errors.append(found.squared_error(found.center(p) if center is None else center))
        zero, one = np.zeros(len(p)), np.ones(len(p))
        return Moments(self.pool.queries.ids, one, zero, np.mean(errors, axis=0), found.method)


def random_labels(
    name: str | Metric,
    scores: list[ArrayLike],
    groups: ArrayLike | None,
    label_model: LabelModel,
    X: ArrayLike | None,
    grades: ArrayLike | None,
    seed: int,
    *,
    who: str,
) -> RandomLabels:
    """The documents whose label matters, with their probabilities; messages name `who`."""
    pool = make_pool(scores, groups, seed, who)
    known, probabilities = label_probabilities(label_model, X, grades, pool.queries.n_rows)
    graded = graded_metric(metric(name), known, pool.queries.longest)
    needed = graded.needs_label(pool)
    if not needed.all():
        pool = pool.of_rows(needed, seed)
    in_place = len(probabilities) == len(pool.rows) and (np.diff(pool.rows) == 1).all()
    return RandomLabels(graded, pool, probabilities if in_place else probabilities[pool.rows])


def _some_relevant(labels: RandomLabels) -> np.ndarray:
    """Probability that a query has a relevant document."""
    indptr, irrelevant = labels.pool.queries.indptr, 1.0 - labels.graded.relevant
    mass = np.empty(len(indptr) - 1)
    run_chunks(moments.some_relevant, indptr, labels.proba, irrelevant, mass)
    return mass


def _exact(labels: RandomLabels) -> tuple[np.ndarray, np.ndarray]:
    """Mean and mean square per query, for the families that have formulas."""
    graded, indptr = labels.graded, labels.pool.queries.indptr
    gain = moments.RandomGain(graded.gain, graded.gain**2, graded.weight)

    def run(kernel: Callable[..., None], ranker: int | slice, *how: object) -> moments.Moments:
        found = moments.Moments(*np.empty((2, len(indptr) - 1)))
        run_chunks(kernel, indptr, labels.lists(ranker), *how, found)
        return found

    if graded.family == "linear":
        return run(moments.linear, slice(None), gain)
    if graded.family == "ap":
        ideal = getattr(graded.metric, "normalize", "all") == "ideal"
        return run(moments.average_precision, 0, graded.relevant, len(graded.weight), ideal)
    first, *other = (run(moments.cascade, r, gain) for r in range(len(labels.pool.scores)))
    if not other:
        return first
    product = np.empty(len(indptr) - 1)
    run_chunks(moments.cascade_product, indptr, labels.lists(slice(None)), gain, product)
    difference = first.mean - other[0].mean
    second = first.second + other[0].second - 2 * product
    return difference, np.maximum(second, difference**2)


def _delta(labels: RandomLabels, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of GAP by the delta method of second order.

    GAP is the ratio N / D of random variables whose moments E N, E D, E N**2, E N D and E D**2 are
    exact. D is not 0 if the query has a relevant document; the probability of this is `relevant`.
    Under this condition, E (N / D) is about n / d - cov(N, D) / d**2 + n var(D) / d**3, where n and
    d are the means.
    """
    graded, indptr = labels.graded, labels.pool.queries.indptr
    levels = np.unique(np.append(0.0, graded.gain))
    at_least = np.ascontiguousarray(graded.gain >= levels[1:, None], dtype=np.float64)
    joint = np.empty((len(indptr) - 1, 5))
    run_chunks(
        moments.graded_precision, indptr, labels.lists(0), at_least, np.diff(levels),
        len(graded.weight), joint,
    )  # fmt: skip
    some = np.where(relevant > 0, relevant, 1.0)
    n, d, nn, nd, dd = (joint / some[:, None]).T
    d = np.where(d > 0, d, 1.0)
    variance_d = dd - d * d
    covariance = nd - n * d
    ratio = n / d
    mean = np.clip(ratio - covariance / d**2 + n * variance_d / d**3, 0.0, 1.0)
    variance = (nn - n * n - 2 * ratio * covariance + ratio**2 * variance_d) / d**2
    square = np.clip(variance + mean**2, mean**2, mean)  # GAP is between 0 and 1
    return relevant * mean, relevant * square


def _monte_carlo(labels: RandomLabels, n_draws: int, seed: int) -> np.ndarray:
    """Mass, mean and mean square per query over random label vectors, the same for both rankers.

    Queries are processed in chunks of about `_MOST_ROWS` labels.
    """
    random, indptr = np.random.default_rng(seed), labels.pool.queries.indptr
    targets = np.arange(0, indptr[-1], max(1, _MOST_ROWS // n_draws))
    bounds = np.unique(np.append(np.searchsorted(indptr, targets), len(indptr) - 1))
    chunks = []
    for first, last in pairwise(bounds.tolist()):
        rows = slice(int(indptr[first]), int(indptr[last]))
        sizes = labels.pool.queries.sizes[first:last]
        uniform = random.random((n_draws, rows.stop - rows.start))
        cumulative = np.cumsum(labels.proba[rows, :-1], axis=1)
        codes = (uniform[:, :, None] >= cumulative).sum(axis=2)
        grades, copies = labels.graded.grades[codes], Queries.from_sizes(np.tile(sizes, n_draws))
        scores = np.tile(labels.pool.scores[:, rows], (1, n_draws))
        values = labels.graded.values(Judgments(grades.ravel(), copies), scores)
        values = values.reshape(len(values), n_draws, len(sizes))
        value = values[0] if len(values) == 1 else values[0] - values[1]
        counts = ~np.isnan(value)
        filled = np.where(counts, value, 0.0)
        chunks.append([part.mean(axis=0) for part in (counts, filled, filled**2)])
    return np.concatenate(chunks, axis=1)
