"""Mean and mean square of the value of each query when its labels are random.

`RandomLabels.moments` computes them by a formula for the families of metrics that have a formula,
and from random label vectors otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._warnings import warn
from skrank.active._design import Design
from skrank.active._pool import Pool, make_pool
from skrank.extending import CascadeTables, Judgments, QuadraticTables, Queries, Ranking, measure
from skrank.metrics import Metric, metric

if TYPE_CHECKING:
    import pandas as pd

LabelModel: TypeAlias = "str | ArrayLike | pd.DataFrame"
_MOST_ROWS = 1_000_000  # labels drawn, or queries times ranks, at a time, to bound memory


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Moments of the value L of each query of a campaign, over random labels of the query.

    Labels of different documents are assumed to be independent. The moments are exact for sums over
    ranks that are not normalised (DCG, precision, RBP) and for cascades (ERR, PFound, reciprocal
    rank); for other metrics, they are means over random label vectors (Sawade et al. 2013, theorem
    3 and appendix).

    Attributes
    ----------
    queries : ndarray of shape (n_queries,)
        Query ids.
    mass : ndarray of shape (n_queries,)
        Probability that the query counts. With ``empty="skip"``, this is the probability of a
        relevant document; otherwise it is 1.
    first, second : ndarray of shape (n_queries,)
        Means of L and of L**2, where L is 0 if the query does not count. With two rankers, L is the
        difference of the two values. With more, `first` is 0, and `second` is the mean over pairs
        of rankers of the expected ``(L - R)**2`` (see `Design.center`).
    method : {"exact", "monte-carlo"}
        Method of computation.
    """

    queries: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray
    method: str

    def __repr__(self) -> str:
        queries = check.counted(len(self.queries), "query", "queries")
        return f"Moments({queries}, expected mean {self.center():.4g}, {self.method})"

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


@dataclass(frozen=True, eq=False)
class GradedMetric:
    """A metric on given grades.

    Attributes
    ----------
    metric : Metric
    grades : float64 ndarray (n_grades,), ascending
    max_grade : int
    family : "linear", "cascade" or None
        Formula of the moments; None if they need Monte Carlo.
    gain : float64 ndarray (n_grades,)
        Gain, or stop probability of a cascade, of each grade; empty if `family` is None.
    weight : float64 ndarray (depth,)
        Weight of each rank, down to the last rank with a weight above 0.
    """

    metric: Metric
    grades: np.ndarray
    max_grade: int
    family: str | None
    gain: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, metric: Metric, grades: np.ndarray, longest: int) -> GradedMetric:
        """A metric on ascending `grades`, for lists of at most `longest` documents.

        With a formula, ``empty=0`` (Sawade et al. 2013): the labels of the first ranks, which are
        all that campaigns request, do not show whether the query has a relevant document at all.
        """
        max_grade = getattr(metric, "max_grade", None) or check.highest_grade(grades)
        example = np.resize(grades, max(longest, len(grades)))  # a list with all grades
        judgments = Judgments(example, Queries.single(len(example)))
        tables = metric.bind(judgments, max_grade=max_grade).tables
        code = np.searchsorted(judgments.labels, grades)  # labels between grades have codes, too
        family, gain, weight = None, np.empty(0), np.empty(0)
        factor = _constant_factor(metric)
        if factor is not None and isinstance(tables, CascadeTables):
            family, gain, weight = "cascade", tables.stop[code], factor * tables.phi
        elif factor is not None and isinstance(tables, QuadraticTables) and tables.pairs is None:
            family, gain, weight = "linear", tables.gain[code], factor * tables.u
        # other values of `empty` have no mean; with a formula, 1 would silently become 0
        allowed = ("skip", 0, 1) if family is None else ("skip", 0)
        if metric.needs_relevant and metric.empty not in allowed:
            raise ValueError(f"{metric}: choose empty from {allowed}.")
        computed = metric if family is None else replace(metric, empty=0)
        weight = np.trim_zeros(weight, "b")[:longest]
        return cls(computed, grades, max_grade, family, gain, weight)

    def values(self, judgments: Judgments, scores: np.ndarray) -> np.ndarray:
        """Value of each ranker on each query; NaN where the query does not count."""
        rankings = (Ranking(judgments, row) for row in scores)
        return measure(judgments, rankings, [self.metric], max_grade=self.max_grade).values[:, 0]


def _constant_factor(metric: Metric) -> float | None:
    """The factor a, if the value of each list is a times the sum of the kernel, else None.

    Values are linear in the sum: 0 and 1 are tested, with four lists of different lengths and
    numbers of relevant documents.

    Raises
    ------
    ValueError
        If the mean over queries is not arithmetic, or lists have different weights in it.
    """
    retrieved, relevant = np.array([1.0, 1.0, 3.0, 7.0]), np.array([1.0, 2.0, 1.0, 5.0])
    counts = retrieved, relevant, np.array([1.0, 2.0, 1e6, 1e6])  # judged: few, and very many
    (at_0, query_weights), (at_1, _) = (metric.values(np.full(4, x), *counts) for x in (0.0, 1.0))
    if metric.average != "macro" or (query_weights is not None and np.ptp(query_weights) > 0):
        raise ValueError(f"{metric} is not a plain mean over queries: choose average='macro'.")
    if metric.ideal_cutoff != 0 or metric.reads_judgments or np.any(at_0 != 0):
        return None
    return float(at_1[0]) if np.all(at_1 == at_1[0]) else None


def label_probabilities(
    label_model: LabelModel, grades: ArrayLike | None, n_rows: int, labels: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """Ascending grades, and the probability of each grade per row; `labels` are known labels."""
    all_grades = None if grades is None else _ascending_grades("grades", grades)
    if isinstance(label_model, str):
        check.check_choice("label_model", label_model, ("uniform",))
        all_grades = _assumed_grades(labels) if all_grades is None else all_grades
        return all_grades, np.full((n_rows, len(all_grades)), 1 / len(all_grades))
    table = check.as_numbers("label_model", label_model, "of rows x grades")
    if table.ndim != 2 or len(table) != n_rows:
        raise ValueError(
            f"label_model has shape {table.shape}: give one row per document ({n_rows}) and one "
            "column per grade."
        )
    columns = np.arange(float(table.shape[1]))
    if hasattr(label_model, "columns"):
        columns = _ascending_grades("label_model.columns", label_model.columns)
    elif all_grades is not None and len(all_grades) == len(columns):
        columns = all_grades
    total = table.sum(axis=1)
    is_distribution = (np.abs(total - 1) < 1e-3) & (table >= 0).all(axis=1)
    if not is_distribution.all():
        row = int(np.argmin(is_distribution))
        raise ValueError(f"row {row} of label_model is {table[row]}: it must be probabilities.")
    all_grades = columns if all_grades is None else all_grades
    missing = np.setdiff1d(columns, all_grades)
    if len(missing):
        raise ValueError(f"label_model has grade {missing[0]:g}, which is not in {grades=}.")
    probabilities = np.zeros((n_rows, len(all_grades)))
    # probabilities of models that compute in float32 do not quite sum to 1
    probabilities[:, np.searchsorted(all_grades, columns)] = table / total[:, None]
    return all_grades, probabilities


def _assumed_grades(labels: ArrayLike | None) -> np.ndarray:
    """Grades 0, 1, and so on to the highest known label, and known labels; else grades 0 to 4."""
    known = np.empty(0) if labels is None else check.as_vector("labels", labels)
    known = known[(known >= 0) & (known <= check.MOST_GRADES)]
    if len(known):
        return np.unique([0.0, 1.0, *range(int(known.max()) + 1), *known])
    warn(
        "grades 0 to 4 are assumed: pass all grades that a label may have, such as "
        "design=Design(grades=range(5))."
    )
    return np.arange(5.0)


def _ascending_grades(name: str, grades: ArrayLike) -> np.ndarray:
    """Grades as ascending distinct labels of at least 0."""
    values = check.as_numbers(name, grades, "such as range(5)").reshape(-1)
    is_finite = len(values) > 0 and np.isfinite(values).all()
    if not is_finite or values[0] < 0 or (np.diff(values) <= 0).any():
        raise ValueError(
            f"{name}={check.brief(values.tolist())} must be ascending numbers of at least 0."
        )
    return values


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

    def moments(
        self, n_draws: int, seed: int, p: np.ndarray | None = None, center: float | None = None
    ) -> Moments:
        """The moments for one ranker, or for the difference of two.

        For more rankers, ``E[(L - R)**2]`` is averaged over the differences L of all pairs, and
        returned as the second moment of a value of mean 0. R is `center`, or the expected mean of L
        under the frequencies p.
        """
        n_rankers, ids = len(self.pool.scores), self.pool.queries.ids
        ones, zero = np.ones(len(ids)), np.zeros(len(ids))
        if n_rankers > 2:
            errors = []
            for pair in combinations(range(n_rankers), 2):
                pool = replace(self.pool, scores=self.pool.scores[list(pair)])
                result = replace(self, pool=pool).moments(n_draws, seed)
                errors.append(result.squared_error(result.center(p) if center is None else center))
            return Moments(ids, ones, zero, np.mean(errors, axis=0), result.method)
        if self.graded.family is None:
            mass, first, second = _monte_carlo(self, n_draws, seed)
            return Moments(ids, mass, first, second, "monte-carlo")
        first, second = _linear(self) if self.graded.family == "linear" else _cascade(self)
        return Moments(ids, ones, first, second, "exact")

    @property
    def gains(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean gain of each document, and mean squared gain."""
        return self.proba @ self.graded.gain, self.proba @ self.graded.gain**2


def random_labels(
    name: str | Metric,
    scores: list[ArrayLike],
    groups: ArrayLike | None,
    label_model: LabelModel,
    design: Design,
    seed: int,
    *,
    who: str,
) -> RandomLabels:
    """Documents that can change a value, and probabilities of grades; messages name `who`."""
    pool = make_pool(scores, groups, seed, who)
    n_rows = pool.queries.n_rows
    all_grades, proba = label_probabilities(label_model, design.grades, n_rows, design.labels)
    graded = GradedMetric.of(metric(name), all_grades, pool.queries.longest)
    if graded.family is not None:
        pool = pool.first(len(graded.weight))
    return RandomLabels(graded, pool, proba[pool.rows])


def _linear(labels: RandomLabels) -> tuple[np.ndarray, np.ndarray]:
    """Moments of the sum over ranks of weight times gain; for two rankers, of their difference.

    A document has the same label in both lists, so the difference of its two weights multiplies its
    gain. Since labels are independent, means and variances add over documents.
    """
    pool, weight = labels.pool, labels.graded.weight
    net_weight = np.zeros(pool.queries.n_rows)
    for ranker, sign in zip(range(len(pool.scores)), (1, -1), strict=False):
        rows, filled = pool.ranked(ranker, len(weight))
        net_weight[rows[filled]] += sign * np.broadcast_to(weight, rows.shape)[filled]
    gain, square = labels.gains
    starts = pool.queries.indptr[:-1]
    mean = np.add.reduceat(net_weight * gain, starts)
    variance = np.add.reduceat(net_weight**2 * np.maximum(square - gain**2, 0.0), starts)
    return mean, variance + mean**2


def _cascade(labels: RandomLabels) -> tuple[np.ndarray, np.ndarray]:
    """Moments of cascades: sums over ranks of weight times the probability to stop at the rank.

    The value from a rank on is V = weight * stop + (1 - stop) * V', where V' is the value from the
    next rank on; V' is independent of `stop`. The means of V and V**2 follow from the last rank up.
    """
    pool, weight = labels.pool, labels.graded.weight
    sums = []
    for ranker in range(len(pool.scores)):
        rows, filled = pool.ranked(ranker, len(weight))
        stops, squares = (np.where(filled, gain[rows], 0.0).T for gain in labels.gains)  # by rank
        v = vv = np.zeros(len(rows))
        for w, stop, square in zip(weight[::-1], stops[::-1], squares[::-1], strict=True):
            vv = w * w * square + 2 * w * (stop - square) * v + (1 - 2 * stop + square) * vv
            v = w * stop + (1 - stop) * v
        sums.append((v, vv))
    if len(sums) == 1:
        return sums[0]
    (first, first_square), (second, second_square) = sums
    difference = first - second
    square = first_square + second_square - 2 * _cascade_product(labels)
    return difference, np.maximum(square, difference**2)


def _cascade_product(labels: RandomLabels) -> np.ndarray:
    """Mean of the product of the cascade values of two lists, a and b, of the same documents.

    Two users read one list each, independently given the labels. ``reach[q, i]`` is the mean
    probability that the first user reaches rank i and the second user the current rank r. A
    document above both ranks contributes the factor E (1 - stop)**2, a document above one of them
    E (1 - stop). A document at the rank of one list and above that of the other stops one user and
    not the other: E stop (1 - stop), in place of the factor E (1 - stop) that `reach` contains.
    """
    pool, weight = labels.pool, labels.graded.weight
    depth, gains = len(weight), labels.gains
    (rows_a, filled_a), (rows_b, filled_b) = (pool.ranked(ranker, depth) for ranker in (0, 1))
    rank_in_a = np.full(pool.queries.n_rows, depth)  # `depth` if not retrieved in a
    rank_in_a[rows_a[filled_a]] = np.broadcast_to(np.arange(depth), rows_a.shape)[filled_a]
    rank, product = np.arange(depth), np.empty(len(rows_a))
    block = max(1, _MOST_ROWS // depth)
    for start in range(0, len(rows_a), block):
        part = slice(start, start + block)
        stop_a, stop_b = (np.where(filled[part], gains[0][rows[part]], 0.0) for rows, filled in
                          ((rows_a, filled_a), (rows_b, filled_b)))  # fmt: skip
        square_b = np.where(filled_b[part], gains[1][rows_b[part]], 0.0)
        a_of_b = np.where(filled_b[part], rank_in_a[rows_b[part]], depth)  # by rank in b
        passing = np.cumprod(1 - stop_a, axis=1)
        reach = np.concatenate([np.ones((len(passing), 1)), passing[:, :-1]], axis=1)
        term, total = weight * stop_a, np.zeros(len(passing))
        for r in range(depth):
            a, e, m, f = a_of_b[:, r], stop_b[:, r], square_b[:, r], 1 - stop_b[:, r]
            # mean probability to stop one user, given that the document did not stop the other;
            # if f is 0, the document stops all users, and none reaches the ranks below
            stop_one = np.divide(e - m, f, out=np.zeros(len(f)), where=f > 0)
            pass_both = np.divide(f - e + m, f, out=np.zeros(len(f)), where=f > 0)
            above, below = rank < a[:, None], rank > a[:, None]
            terms, listed = reach * term, a < depth
            here = e * (terms * above).sum(axis=1) + stop_one * (terms * below).sum(axis=1)
            query, i = np.flatnonzero(listed), a[listed]
            here[listed] += m[listed] * weight[i] * reach[query, i]
            term[query, i] = weight[i] * stop_one[listed]
            reach *= np.where(below, pass_both[:, None], f[:, None])
            total += weight[r] * here
        product[part] = total
    return product


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
