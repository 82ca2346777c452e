"""Mean and mean square of a metric, or of a difference of metrics, under a label model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._engine.ranking import Ranking
from skrank._engine.threads import run_chunks
from skrank._kernels import arguments
from skrank.active._forms import DELTA, METHODS, MONTE_CARLO, MetricForm, form_of
from skrank.active._labels import LabelModel, label_probabilities, some_relevant
from skrank.active._pool import Pool, make_pool, needs_label
from skrank.metrics import Metric, metric

_ROWS_AT_ONCE = 1_000_000


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
        """The mean of L over queries that the label model expects, with `p` their frequencies."""
        p = np.full(len(self.mass), 1 / len(self.mass)) if p is None else p
        return float(p @ self.first / (p @ self.mass))

    def deviation(self, p: np.ndarray) -> np.ndarray:
        """How far L is expected to deviate from its mean; the sum of p times this is 0."""
        return self.first - self.center(p) * self.mass

    def squared_error(self, center: float) -> np.ndarray:
        """Mean of ``(L - center)**2`` per query, 0 for what does not count."""
        error = self.second - 2 * center * self.first + center**2 * self.mass
        return np.maximum(error, 0.0)  # rounding can take a certain value below 0


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

    Labels of different documents are independent.

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
        reciprocal rank) and for the AP of one ranker; "delta" for the GAP of one ranker, whose
        joint moments are exact and whose ratio is approximated; "monte-carlo" for all. "auto" takes
        the first of these that exists.
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
    form, pool, probabilities = prepare(
        metric, both, groups, label_model, X, grades, seed, who="label_moments"
    )
    return moments_of(form, pool, probabilities, method, n_draws, seed)


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
) -> tuple[MetricForm, Pool, np.ndarray]:
    """The form of the metric, the pool of documents that need labels, their probabilities."""
    pool = make_pool(scores, groups, seed, who)
    known, probabilities = label_probabilities(label_model, X, grades, pool.queries.n_rows)
    form = form_of(metric(name), known, pool.queries.longest)
    needed = needs_label(pool, form)
    if not needed.all():
        pool = pool.keep(needed, seed)
    in_place = len(probabilities) == len(pool.rows) and (np.diff(pool.rows) == 1).all()
    return form, pool, probabilities if in_place else probabilities[pool.rows]


def moments_of(
    form: MetricForm, pool: Pool, probabilities: np.ndarray, method: str, n_draws: int, seed: int
) -> Moments:
    """The moments by the best method, or the one that is asked for."""
    check.check_choice("moments", method, METHODS)
    method = form.method(method, len(pool.scores))
    if method == MONTE_CARLO:
        n_draws = check.check_count("n_draws", n_draws, "random label vectors per query")
        mass, first, second = _monte_carlo(form, pool, probabilities, n_draws, seed)
        return Moments(pool.queries.ids, mass, first, second, method)
    mass = np.ones(len(pool.queries))
    relevant = mass
    if form.metric.empty != 0 or method == DELTA:
        relevant = some_relevant(pool, probabilities, form.relevant)
    if method == DELTA:
        first, second = _delta(graded_precision_moments(form, pool, probabilities), relevant)
    else:
        first, second = _EXACT[str(form.kind)](form, pool, probabilities)
    if form.metric.empty == "skip":
        mass = relevant
    elif form.metric.empty == 1:
        first, second = first + (1 - relevant), second + (1 - relevant)
    return Moments(pool.queries.ids, mass, first, second, method)


def contest_moments(
    form: MetricForm,
    pool: Pool,
    probabilities: np.ndarray,
    method: str,
    n_draws: int,
    seed: int,
    *,
    p: np.ndarray,
    center: float | None,
) -> Moments:
    """The moments of one ranker, of the difference of two, or of all differences of more.

    Of more than two, what counts is the mean over all pairs of the squared error of the difference;
    it stands as the second moment of a value whose mean is 0.
    """
    n_rankers = len(pool.scores)
    if n_rankers <= 2:
        return moments_of(form, pool, probabilities, method, n_draws, seed)
    errors = []
    for pair in combinations(range(n_rankers), 2):
        found = moments_of(form, pool.of(list(pair)), probabilities, method, n_draws, seed)
        errors.append(found.squared_error(found.center(p) if center is None else center))
    zero, one = np.zeros(len(p)), np.ones(len(p))
    return Moments(pool.queries.ids, one, zero, np.mean(errors, axis=0), found.method)


def _random_worth(form: MetricForm) -> arguments.RandomWorth:
    return arguments.RandomWorth(form.worth, form.worth**2, form.weight)


def _linear(form: MetricForm, pool: Pool, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    found = arguments.TwoMoments(*np.empty((2, len(pool.queries))))
    lists = arguments.RandomLists(pool.order, pool.retrieved, proba)
    run_chunks(moments.linear, pool.queries.indptr, lists, _random_worth(form), found)
    return found


def _cascade(form: MetricForm, pool: Pool, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    means, squares = np.empty((2, len(pool.scores), len(pool.queries)))
    for r in range(len(pool.scores)):
        lists = arguments.RandomLists(pool.order[r], pool.retrieved[r], proba)
        out = arguments.TwoMoments(means[r], squares[r])
        run_chunks(moments.cascade, pool.queries.indptr, lists, _random_worth(form), out)
    if len(pool.scores) == 1:
        return means[0], squares[0]
    product = np.empty(len(pool.queries))
    lists = arguments.RandomLists(pool.order, pool.retrieved, proba)
    run_chunks(moments.cascade_product, pool.queries.indptr, lists, _random_worth(form), product)
    difference = means[0] - means[1]
    return difference, np.maximum(squares[0] + squares[1] - 2 * product, difference**2)


def _average_precision(
    form: MetricForm, pool: Pool, proba: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    from skrank._kernels import moments

    found = arguments.TwoMoments(*np.empty((2, len(pool.queries))))
    lists = arguments.RandomLists(pool.order[0], pool.retrieved[0], proba)
    ideal = getattr(form.metric, "normalize", "all") == "ideal"
    run_chunks(
        moments.average_precision, pool.queries.indptr, lists, form.relevant, len(form.weight),
        ideal, found,
    )  # fmt: skip
    return found


_EXACT = {"linear": _linear, "cascade": _cascade, "ap": _average_precision}


def graded_precision_moments(form: MetricForm, pool: Pool, proba: np.ndarray) -> np.ndarray:
    """Joint moments of GAP's sum N and divisor D per query: E N, E D, E N**2, E N D, E D**2."""
    from skrank._kernels import moments

    levels = np.unique(np.append(0.0, form.worth))
    at_least = np.ascontiguousarray(form.worth >= levels[1:, None], dtype=np.float64)
    out = np.empty((len(pool.queries), 5))
    lists = arguments.RandomLists(pool.order[0], pool.retrieved[0], proba)
    run_chunks(
        moments.graded_precision, pool.queries.indptr, lists, at_least, np.diff(levels),
        len(form.weight), out,
    )  # fmt: skip
    return out


def _delta(joint: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of N / D, to second order around the means given that D is not 0."""
    some = np.where(relevant > 0, relevant, 1.0)
    n, d, nn, nd, dd = (joint / some[:, None]).T
    d = np.where(d > 0, d, 1.0)
    spread = dd - d * d
    together = nd - n * d
    ratio = n / d
    mean = np.clip(ratio - together / d**2 + n * spread / d**3, 0.0, 1.0)
    variance = (nn - n * n - 2 * ratio * together + ratio**2 * spread) / d**2
    square = np.clip(variance + mean**2, mean**2, mean)  # as for any value between 0 and 1
    return relevant * mean, relevant * square


def _monte_carlo(
    form: MetricForm, pool: Pool, proba: np.ndarray, n_draws: int, seed: int
) -> tuple[np.ndarray, ...]:
    """Mean over random label vectors, the same ones for both rankers."""
    random = np.random.default_rng(seed)
    indptr = pool.queries.indptr
    targets = np.arange(0, indptr[-1], max(1, _ROWS_AT_ONCE // n_draws))
    bounds = np.unique(np.append(np.searchsorted(indptr, targets), len(pool.queries)))
    parts = [
        _one_part(form, pool, proba, int(first), int(last), n_draws, random)
        for first, last in pairwise(bounds)
    ]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _one_part(
    form: MetricForm,
    pool: Pool,
    proba: np.ndarray,
    first: int,
    last: int,
    n_draws: int,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The moments of queries first .. last - 1; each draw is a copy of them all."""
    sizes = pool.queries.sizes[first:last]
    rows = slice(int(pool.queries.indptr[first]), int(pool.queries.indptr[last]))
    uniform = random.random((n_draws, rows.stop - rows.start))
    cumulative = np.cumsum(proba[rows, :-1], axis=1)
    codes = (uniform[:, :, None] >= cumulative).sum(axis=2)
    judgments = Judgments(form.grades[codes].ravel(), Queries.from_sizes(np.tile(sizes, n_draws)))
    values = evaluate(form, judgments, np.tile(pool.scores[:, rows], (1, n_draws)))
    values = values.reshape(len(values), n_draws, len(sizes))
    difference = values[0] if len(values) == 1 else values[0] - values[1]
    counts = ~np.isnan(difference)
    kept = np.where(counts, difference, 0.0)
    return counts.mean(axis=0), kept.mean(axis=0), (kept**2).mean(axis=0)


def evaluate(form: MetricForm, judgments: Judgments, scores: np.ndarray) -> np.ndarray:
    """The metric of each ranker on each query; NaN where the query does not count."""
    plan = form.metric.bind(judgments, max_grade=form.max_grade)
    return np.stack([plan.values(Ranking(judgments, s)) for s in scores])
