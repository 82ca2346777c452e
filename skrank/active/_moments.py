"""Mean and mean square of the value of each query when its labels are random."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.threads import run_chunks
from skrank._kernels import arguments
from skrank.active._graded_metric import DELTA, METHODS, MONTE_CARLO, GradedMetric, graded_metric
from skrank.active._labels import LabelModel, label_probabilities
from skrank.active._pool import Pool, make_pool
from skrank.metrics import Metric, metric

_MOST_ROWS = 1_000_000  # of random label vectors in memory at once


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of the value L of each query over its random labels.

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        Query ids.
    mass : ndarray of shape (n_queries,)
        Probability that the query counts: 1, but with ``empty="skip"`` the probability that it has
        a relevant document.
    first, second : ndarray of shape (n_queries,)
        Means of L and of its square, where L is 0 if the query does not count. With two rankers, L
        is the difference of their values.
    method : {"exact", "delta", "monte-carlo"}
        How they were computed.
    """

    queries: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray
    method: str

    def center(self, p: np.ndarray | None = None) -> float:
        """Expected mean of L over the queries that count; p are frequencies, by default equal.

        0 if no query is expected to count.
        """
        p = np.full(len(self.mass), 1 / len(self.mass)) if p is None else p
        mass = float(p @ self.mass)
        return float(p @ self.first) / mass if mass > 0 else 0.0

    def deviation(self, p: np.ndarray) -> np.ndarray:
        """Expected difference of L and its mean; the sum of p times the differences is 0."""
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

    Labels of different documents are taken to be independent.

    Parameters
    ----------
    metric : str or Metric
    scores : array-like of shape (n_rows,)
        Scores of the ranker; -inf = not retrieved. Ties are put in random order.
    groups : array-like of shape (n_rows,), optional
        Query of each row; default: the index level "qid" of `scores`.
    other : array-like of shape (n_rows,), optional
        Scores of a second ranker: the moments are those of the difference, first less second.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or classifier
        Probability of each grade per row: equal, given, or ``label_model.predict_proba(X)``.
    X : array-like of shape (n_rows, n_features), optional
        Features, for a classifier.
    grades : sequence of float, optional
        All grades that occur, ascending. Default: the classifier's classes, or 0, 1, 2, ... for
        the columns of an array. Required with "uniform".
    method : {"auto", "exact", "delta", "monte-carlo"}
        "exact" exists for sums over ranks (DCG, precision, RBP), for cascades (ERR, PFound,
        reciprocal rank) and for the AP of one ranker; "delta" for the GAP of one ranker: the joint
        moments of its sum and its divisor are exact, that of their ratio is approximated;
        "monte-carlo" for all. "auto" takes the first of these that exists.
    n_draws : int
        Label vectors per query, for "monte-carlo".
    random_state : int
        Seed of ties and draws.

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
    functions based on graded relevance, Machine Learning 92, 2013, theorem 3 and appendix. The
    recursions for cascades are shorter than the paper's, and equal to them.

    Examples
    --------
    >>> from skrank.active import label_moments
    >>> m = label_moments("dcg(gain=linear)", [0.9, 0.1], ["a", "a"], grades=[0, 1])
    >>> m.first.round(4), m.method
    (array([0.8155]), 'exact')
    """
    both = [scores] if other is None else [scores, other]
    seed = check.check_random_state(random_state)
    graded, pool, probabilities = prepare(
        metric, both, groups, label_model, X, grades, seed, who="label_moments"
    )
    return moments_of(graded, pool, probabilities, method, n_draws, seed)


def prepare(
    name: str | Metric,
    scores: list[ArrayLike],
    groups: ArrayLike | None,
    label_model: LabelModel,
    X: ArrayLike | None,
    grades: ArrayLike | None,
    seed: int,
    *,
    who: str,
) -> tuple[GradedMetric, Pool, np.ndarray]:
    """The metric on its grades, the pool of documents that need labels, label probabilities."""
    pool = make_pool(scores, groups, seed, who)
    known, probabilities = label_probabilities(label_model, X, grades, pool.queries.n_rows)
    graded = graded_metric(metric(name), known, pool.queries.longest)
    needed = graded.needs_label(pool)
    if not needed.all():
        pool = pool.of_rows(needed, seed)
    in_place = len(probabilities) == len(pool.rows) and (np.diff(pool.rows) == 1).all()
    return graded, pool, probabilities if in_place else probabilities[pool.rows]


def moments_of(
    graded: GradedMetric, pool: Pool, proba: np.ndarray, method: str, n_draws: int, seed: int
) -> Moments:
    """The moments for one ranker, or for the difference of two."""
    check.check_choice("moments", method, METHODS)
    method = graded.method(method, len(pool.scores))
    if method == MONTE_CARLO:
        n_draws = check.check_repeats("n_draws", n_draws, "random label vectors per query")
        mass, first, second = _monte_carlo(graded, pool, proba, n_draws, seed)
        return Moments(pool.queries.ids, mass, first, second, method)
    mass = np.ones(len(pool.queries))
    relevant = mass
    if graded.metric.empty != 0 or method == DELTA:
        relevant = _some_relevant(graded, pool, proba)
    if method == DELTA:
        first, second = _delta(joint_gap_moments(graded, pool, proba), relevant)
    else:
        first, second = _EXACT[str(graded.family)](graded, pool, proba)
    if not graded.all_count:
        mass = relevant
    elif graded.metric.empty == 1:
        first, second = first + (1 - relevant), second + (1 - relevant)
    return Moments(pool.queries.ids, mass, first, second, method)


def campaign_moments(
    graded: GradedMetric,
    pool: Pool,
    proba: np.ndarray,
    method: str,
    n_draws: int,
    seed: int,
    *,
    p: np.ndarray,
    center: float | None,
) -> Moments:
    """The moments for any number of rankers.

    For more than two rankers, the squared errors of all differences are averaged over the pairs;
    the result is returned as the second moment of a value of mean 0.
    """
    n_rankers = len(pool.scores)
    if n_rankers <= 2:
        return moments_of(graded, pool, proba, method, n_draws, seed)
    errors = []
    for pair in combinations(range(n_rankers), 2):
        found = moments_of(graded, pool.of_rankers(list(pair)), proba, method, n_draws, seed)
        errors.append(found.squared_error(found.center(p) if center is None else center))
    zero, one = np.zeros(len(p)), np.ones(len(p))
    return Moments(pool.queries.ids, one, zero, np.mean(errors, axis=0), found.method)


def _some_relevant(graded: GradedMetric, pool: Pool, proba: np.ndarray) -> np.ndarray:
    """Probability that a query has a relevant document."""
    from skrank._kernels import moments

    mass = np.empty(len(pool.queries))
    run_chunks(moments.some_relevant, pool.queries.indptr, proba, 1.0 - graded.relevant, mass)
    return mass


def _random_gain(graded: GradedMetric) -> arguments.RandomGain:
    return arguments.RandomGain(graded.gain, graded.gain**2, graded.weight)


def _linear(graded: GradedMetric, pool: Pool, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    found = arguments.Moments(*np.empty((2, len(pool.queries))))
    lists = arguments.RandomLists(pool.order, pool.retrieved, proba)
    run_chunks(moments.linear, pool.queries.indptr, lists, _random_gain(graded), found)
    return found


def _cascade(graded: GradedMetric, pool: Pool, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    means, squares = np.empty((2, len(pool.scores), len(pool.queries)))
    for r in range(len(pool.scores)):
        lists = arguments.RandomLists(pool.order[r], pool.retrieved[r], proba)
        out = arguments.Moments(means[r], squares[r])
        run_chunks(moments.cascade, pool.queries.indptr, lists, _random_gain(graded), out)
    if len(pool.scores) == 1:
        return means[0], squares[0]
    product = np.empty(len(pool.queries))
    lists = arguments.RandomLists(pool.order, pool.retrieved, proba)
    run_chunks(moments.cascade_product, pool.queries.indptr, lists, _random_gain(graded), product)
    difference = means[0] - means[1]
    return difference, np.maximum(squares[0] + squares[1] - 2 * product, difference**2)


def _average_precision(
    graded: GradedMetric, pool: Pool, proba: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    found = arguments.Moments(*np.empty((2, len(pool.queries))))
    lists = arguments.RandomLists(pool.order[0], pool.retrieved[0], proba)
    ideal = getattr(graded.metric, "normalize", "all") == "ideal"
    run_chunks(
        moments.average_precision, pool.queries.indptr, lists, graded.relevant, len(graded.weight),
        ideal, found,
    )  # fmt: skip
    return found


_EXACT = {"linear": _linear, "cascade": _cascade, "ap": _average_precision}


def joint_gap_moments(graded: GradedMetric, pool: Pool, proba: np.ndarray) -> np.ndarray:
    """Joint moments of GAP's sum N and divisor D per query: E N, E D, E N**2, E N D, E D**2."""
    from skrank._kernels import moments

    levels = np.unique(np.append(0.0, graded.gain))
    at_least = np.ascontiguousarray(graded.gain >= levels[1:, None], dtype=np.float64)
    out = np.empty((len(pool.queries), 5))
    lists = arguments.RandomLists(pool.order[0], pool.retrieved[0], proba)
    run_chunks(
        moments.graded_precision, pool.queries.indptr, lists, at_least, np.diff(levels),
        len(graded.weight), out,
    )  # fmt: skip
    return out


def _delta(joint: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of N / D by the delta method of second order, given that D is not 0."""
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


def _monte_carlo(
    graded: GradedMetric, pool: Pool, proba: np.ndarray, n_draws: int, seed: int
) -> tuple[np.ndarray, ...]:
    """Means over random label vectors, the same vectors for both rankers."""
    random = np.random.default_rng(seed)
    indptr = pool.queries.indptr
    targets = np.arange(0, indptr[-1], max(1, _MOST_ROWS // n_draws))
    bounds = np.unique(np.append(np.searchsorted(indptr, targets), len(pool.queries)))
    chunks = [
        _monte_carlo_chunk(graded, pool, proba, (int(first), int(last)), n_draws, random)
        for first, last in pairwise(bounds)
    ]
    return tuple(np.concatenate(columns) for columns in zip(*chunks, strict=True))


def _monte_carlo_chunk(
    graded: GradedMetric,
    pool: Pool,
    proba: np.ndarray,
    chunk: tuple[int, int],
    n_draws: int,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass and moments of a range of queries; each draw of labels is a copy of all their rows."""
    first, last = chunk
    sizes = pool.queries.sizes[first:last]
    rows = slice(int(pool.queries.indptr[first]), int(pool.queries.indptr[last]))
    uniform = random.random((n_draws, rows.stop - rows.start))
    cumulative = np.cumsum(proba[rows, :-1], axis=1)
    codes = (uniform[:, :, None] >= cumulative).sum(axis=2)
    judgments = Judgments(graded.grades[codes].ravel(), Queries.from_sizes(np.tile(sizes, n_draws)))
    values = graded.values(judgments, np.tile(pool.scores[:, rows], (1, n_draws)))
    values = values.reshape(len(values), n_draws, len(sizes))
    difference = values[0] if len(values) == 1 else values[0] - values[1]
    counts = ~np.isnan(difference)
    filled = np.where(counts, difference, 0.0)
    return counts.mean(axis=0), filled.mean(axis=0), (filled**2).mean(axis=0)
