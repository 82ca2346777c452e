"""Distributions of grades over ranks with maximum entropy, for a given expected value of a metric.

The grade at rank r has the distribution p[r], independent of the other ranks. So the expected sum
of a quadratic metric is

    F(p) = sum_r u[r] <gain, p[r]>  +  sum_{s<r} w[r] p[s]' worth p[r].

The entropy of p is maximised under F(p) = target and given sums of columns (grades). For an F that
is linear with the derivatives `slope`, the solution is p[r, i] ~ exp(x_i + mu slope[r, i]), where x
and mu minimise the dual, a convex function of one number per grade and one for the value:

    sum_r log sum_i exp(x_i + mu slope[r, i]) - sum_i counts[i] x_i - mu target.

Newton's method minimises it. Otherwise F is linearised at p, again and again (sequential convex
programming). The step to the solution, whose length `_relaxation` chooses, is halved until
penalty |F(p) - target| - entropy is at most the largest of its last values.

All functions work on several lists at a time: arrays of shape (n_columns, n_lists, n_ranks), with
zeros at the ranks beyond the end of a list. A solver of scipy for one list at a time would take
most of its time in calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import entr

_END = 1e-5  # least distance of targets from the ends of the range, as a share: mu diverges there
_FLAT = 1e-12  # relative range of sums below which all lists have the same sum
_TOLERANCE = 1e-10  # largest error of sums of columns, and of F relative to its range
_MOST_STEPS, _MOST_NEWTON = 300, 200  # evaluations of F, and of the dual
_MEMORY = 5  # window of the non-monotone line search
_RIDGE = 1e-14
_STILL = 1e-9  # largest change of a probability at convergence


@dataclass(frozen=True, eq=False)
class Forms:
    """The quadratic forms of lists, and the numbers of documents of each column.

    Attributes
    ----------
    gain, worth : ndarrays of shape (n_columns,) and (n_columns, n_columns)
        Worth is by column of the upper and of the lower document of a pair.
    counts : ndarray of shape (n_columns, n_lists)
    inside : ndarray of shape (n_lists, n_ranks)
        1 for ranks of the list, 0 beyond its end.
    u, w : ndarray of shape (n_lists, n_ranks)
        Weights of documents by rank, and of pairs by the rank of their lower document.
    """

    gain: np.ndarray
    worth: np.ndarray
    counts: np.ndarray
    inside: np.ndarray
    u: np.ndarray
    w: np.ndarray

    def take(self, chosen: np.ndarray) -> Forms:
        """The forms of some lists."""
        if chosen.dtype != np.bool_ and len(chosen) == len(self.u):
            return self
        return replace(
            self, counts=self.counts[:, chosen], inside=self.inside[chosen],
            u=self.u[chosen], w=self.w[chosen],
        )  # fmt: skip

    def expected(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F(p), and its derivatives by p."""
        slope = self.gain[:, None, None] * self.u
        has_pairs = self.worth.any()
        if has_pairs:
            above = np.cumsum(p, axis=2) - p
            slope += self.w * (self.worth.T @ above.reshape(len(p), -1)).reshape(p.shape)
        total = np.einsum("clr,clr->l", slope, p)
        if has_pairs:
            lower = self.w * p
            below = np.cumsum(lower[:, :, ::-1], axis=2)[:, :, ::-1] - lower
            slope += (self.worth @ below.reshape(len(p), -1)).reshape(p.shape)
        return total, slope

    def even(self) -> np.ndarray:
        """The distribution of maximum entropy without a target: the same at every rank."""
        return (self.counts / self.inside.sum(axis=1))[:, :, None] * self.inside


def _entropy(p: np.ndarray) -> np.ndarray:
    """Sum of the entropies of the ranks of each list."""
    return entr(p).sum(axis=(0, 2))


class Solution(NamedTuple):
    """Distributions of lists."""

    p: np.ndarray  # by column, list and rank
    mean: np.ndarray  # F(p); the arrays from here on are by list
    entropy: np.ndarray
    steps: np.ndarray  # number of convex problems
    done: np.ndarray  # whether the steps converged to the target


def infer(forms: Forms, target: np.ndarray, low: np.ndarray, high: np.ndarray) -> Solution:
    """The distribution of each list whose expected sum is `target`.

    The target is between `low` and `high`; near these ends, the nearest target at a distance of
    _END * range replaces it. There, a first long step can overshoot, so that steps do not converge.
    Then the search starts again, with intermediate targets; each of them leaves a quarter of the
    distance to the end.
    """
    n_lists, width = len(target), high - low
    p = forms.even()
    steps, done = np.zeros(n_lists, np.int64), np.ones(n_lists, np.bool_)
    flat = width <= _FLAT * np.maximum(1.0, np.abs(high))
    asked = np.flatnonzero(~flat & (np.count_nonzero(forms.counts, axis=0) > 1))
    aim = np.clip(target, low + _END * width, high - _END * width)
    if len(asked):
        some = forms.take(asked)
        p[:, asked], _, steps[asked], done[asked] = _optimise(
            some, aim[asked], width[asked], some.even(), _start(some)
        )
        again = asked[~done[asked]]
        p[:, again], more, done[again] = _approach(
            forms.take(again), aim[again], low[again], high[again]
        )
        steps[again] += more
    return Solution(p, forms.expected(p)[0], _entropy(p), steps, done)


def _start(forms: Forms) -> np.ndarray:
    """The solution of the dual for `Forms.even`: x, which is -inf without documents, and mu."""
    first = np.argmax(forms.counts > 0, axis=0)
    with np.errstate(divide="ignore"):
        x = np.log(forms.counts / forms.counts[first, range(len(first))])
    return np.vstack([x, np.zeros(x.shape[1])])


def _approach(
    forms: Forms, aim: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, the number of steps, and whether they converged, by way of intermediate targets."""
    p, x = forms.even(), _start(forms)
    goal = forms.expected(p)[0]
    end = np.where(aim > goal, high, low)
    steps, done = np.zeros(len(aim), np.int64), np.zeros(len(aim), np.bool_)
    left = np.arange(len(aim))
    while len(left):
        goal[left] = end[left] - 0.25 * (end[left] - goal[left])
        passed = left[np.abs(end[left] - goal[left]) < np.abs(end[left] - aim[left])]
        goal[passed] = aim[passed]
        width = (high - low)[left]
        p[:, left], x[:, left], more, done[left] = _optimise(
            forms.take(left), goal[left], width, p[:, left], x[:, left]
        )
        steps[left] += more
        left = left[goal[left] != aim[left]]
    return p, steps, done


def _optimise(
    forms: Forms, target: np.ndarray, width: np.ndarray, p: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Move `p`, with its dual solution `x`, to F(p) = `target`, by sequential convex programming.

    Returns p, x, the number of steps, and whether the steps converged.
    """
    n_lists = len(target)
    found_p, found_x = np.empty_like(p), np.empty_like(x)
    steps, done = np.full(n_lists, _MOST_STEPS), np.zeros(n_lists, np.bool_)
    lists = np.arange(n_lists)  # those that still move; arrays below have entries for them only
    mean, slope = forms.expected(p)
    entropy, penalty = _entropy(p), np.zeros(n_lists)
    misses, entropies = np.full((2, _MEMORY, n_lists), np.nan)
    length, before, step_before = np.ones(n_lists), p, p
    for number in range(1, _MOST_STEPS + 1):
        ahead, x, is_possible = _linearised(forms, slope, p, target - mean, width, x)
        step = ahead - p
        # near the ends of the range, rounding errors move p for ever: the tolerance grows to 1e-7
        still = is_possible & (np.abs(step).max(axis=(0, 2)) <= _STILL * min(1.1**number, 100.0))
        still &= np.abs(mean - target) <= _TOLERANCE * width
        ended = still | ~is_possible
        if ended.any():
            found_p[:, lists[ended]] = np.where(still[:, None], ahead, p)[:, ended]
            found_x[:, lists[ended]] = x[:, ended]
            steps[lists[ended]], done[lists[ended]] = number, still[ended]
            if ended.all():
                return found_p, found_x, steps, done
            moves = ~ended
            forms, lists = forms.take(moves), lists[moves]
            target, width, mean, entropy, penalty = (
                array[moves] for array in (target, width, mean, entropy, penalty)
            )
            p, x, step, slope, before, step_before, misses, entropies = (
                array[:, moves]
                for array in (p, x, step, slope, before, step_before, misses, entropies)
            )
        penalty = np.maximum(penalty, 1.5 * np.abs(x[-1]))
        place = number % _MEMORY
        misses[place], entropies[place] = np.abs(mean - target), entropy
        highest = np.nanmax(penalty * misses - entropies, axis=0)
        length = np.ones(len(lists))
        if number > 1:
            length = _relaxation(p, step, before, step_before)
        before, step_before = p, step
        p, mean, slope, entropy = p.copy(), mean.copy(), slope.copy(), entropy.copy()
        tried = np.arange(len(lists))
        while len(tried):
            trial = before[:, tried] + length[tried][:, None] * step[:, tried]
            p[:, tried], entropy[tried] = trial, _entropy(trial)
            mean[tried], slope[:, tried] = forms.take(tried).expected(trial)
            new = (penalty * np.abs(mean - target) - entropy)[tried]
            worse = new > (highest + 1e-12 * (1.0 + np.abs(highest)))[tried]
            tried = tried[worse & (length[tried] >= 1e-4)]
            length[tried] *= 0.5
    found_p[:, lists], found_x[:, lists] = p, x
    return found_p, found_x, steps, done


def _relaxation(
    p: np.ndarray, step: np.ndarray, before: np.ndarray, step_before: np.ndarray
) -> np.ndarray:
    """Length of the step from `p`, by Barzilai and Borwein.

    `before` is the p of the previous step, and `step_before` the step to the solution at that time.
    Steps of length 1 overshoot or converge slowly, since they ignore the curvature of F, which may
    have either sign.
    """
    moved = p - before
    weighted = moved / np.maximum(p, 1e-12)
    square = np.einsum("clr,clr->l", weighted, moved)
    product = np.einsum("clr,clr->l", weighted, step_before - step)
    bends = product > 0.25 * square
    length = np.maximum(np.divide(square, product, out=np.full(len(square), 4.0), where=bends), 0.1)
    # no probability may fall by more than 9/10, so that all stay positive
    falls = np.where(step < 0, step, -1e-300)
    longest = np.min(np.where(step < 0, -0.9 * p / falls, np.inf), axis=(0, 2))
    return np.where(length > 1.0, np.minimum(length, np.maximum(longest, 1.0)), length)


def _linearised(
    forms: Forms,
    slope: np.ndarray,
    p: np.ndarray,
    missing: np.ndarray,
    width: np.ndarray,
    x: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The solution for F linearised at `p`, its dual solution, and whether there is one.

    `missing` is the target minus F(p). If no distribution reaches the target, a half, a quarter,
    ... of the difference is tried. `x` is the dual solution of the previous call.
    """
    has_documents = forms.counts > 0
    first = np.argmax(has_documents, axis=0)  # a column whose slopes are subtracted from all
    relative = slope - np.take_along_axis(slope, first[None, :, None], axis=0)
    relative *= has_documents[:, :, None] * forms.inside
    largest = np.abs(relative).max(axis=(0, 2))
    ahead, solved, is_possible = p.copy(), x.copy(), np.zeros(len(missing), np.bool_)
    unsolved = np.flatnonzero(largest > 0)
    scale = np.where(largest > 0, largest, 1.0)
    relative /= scale[:, None]
    here = np.einsum("clr,clr->l", relative, p)
    part = 1.0
    while len(unsolved) and part > 1e-4:
        start, unit = x[:, unsolved], scale[unsolved]
        start[-1] *= unit
        q, y, good = _maximise_entropy(
            relative[:, unsolved], forms.inside[unsolved], forms.counts[:, unsolved],
            here[unsolved] + part * missing[unsolved] / unit,
            0.1 * _TOLERANCE * width[unsolved] / unit, start,
        )  # fmt: skip
        y[-1] /= unit
        ahead[:, unsolved[good]], solved[:, unsolved[good]] = q[:, good], y[:, good]
        is_possible[unsolved[good]] = True
        unsolved = unsolved[~good]
        part *= 0.5
    return ahead, solved, is_possible


def _maximise_entropy(
    slope: np.ndarray,
    inside: np.ndarray,
    counts: np.ndarray,
    bound: np.ndarray,
    precision: np.ndarray,
    x: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The p of maximum entropy with the column sums `counts` and <slope, p> = `bound`, by Newton.

    Returns p, the dual solution, and whether it was found, with errors of <slope, p> up to
    `precision`. The search starts at `x`. The dual is nowhere below the entropy of such a p, which
    is at least 0: a negative dual proves that there is none.
    """
    n_lists = len(bound)
    found_p, found_x, found = np.empty_like(slope), x.copy(), np.zeros(n_lists, np.bool_)
    lists, step = np.arange(n_lists), np.zeros_like(x)
    length, lowest, descent = np.ones(n_lists), np.full(n_lists, np.inf), np.zeros(n_lists)
    for _ in range(_MOST_NEWTON):
        trial = x + length * step
        value, p, gradient, hessian = _dual(slope, inside, counts, bound, trial)
        # if the value is large, its change may be less than its rounding error
        limit = np.where(
            lowest < np.inf, lowest + 1e-4 * length * descent + 1e-13 * np.abs(lowest), np.inf
        )
        falls = value <= limit
        worst = np.abs(gradient[:-1]).max(axis=0) / _TOLERANCE
        good = falls & (np.maximum(worst, np.abs(gradient[-1]) / precision) <= 1.0)
        good &= value >= -1e-9 * inside.sum(axis=1)
        lost = falls & ~((value >= -1e-9 * inside.sum(axis=1)) & (value < np.inf))
        lost |= ~falls & (length < 1e-6)
        newton = _newton_step(gradient, hessian, counts)
        x, step = np.where(falls, trial, x), np.where(falls, newton, step)
        lowest = np.where(falls, value, lowest)
        descent = np.where(falls, (gradient * newton).sum(axis=0), descent)
        length = np.where(falls, 1.0, 0.5 * length)
        ended = good | lost
        if ended.any():
            found_p[:, lists[good]], found_x[:, lists[good]] = p[:, good], x[:, good]
            found[lists[good]] = True
            goes_on = ~ended
            if not goes_on.any():
                break
            slope, counts, x, step = (array[:, goes_on] for array in (slope, counts, x, step))
            lists, inside, bound, precision, lowest, descent, length = (
                array[goes_on]
                for array in (lists, inside, bound, precision, lowest, descent, length)
            )
    return found_p, found_x, found


def _dual(
    slope: np.ndarray, inside: np.ndarray, counts: np.ndarray, bound: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The dual, its p, its gradient of shape (n_columns + 1, n_lists), and its hessians."""
    mu = x[-1]
    z = x[:-1, :, None] + mu[:, None] * slope
    top = z.max(axis=0)
    p = np.exp(z - top)
    total = p.sum(axis=0)
    p *= inside / total
    value = ((top + np.log(total)) * inside).sum(axis=1) - bound * mu
    value -= (counts * np.where(counts > 0, x[:-1], 0.0)).sum(axis=0)
    mean = np.einsum("clr,clr->lr", p, slope)
    sums, away = p.sum(axis=2), slope - mean
    gradient = np.vstack([sums - counts, mean.sum(axis=1) - bound])
    n = len(p)
    hessian = np.empty((len(bound), n + 1, n + 1))
    by_list = p.transpose(1, 0, 2)
    hessian[:, :n, :n] = -by_list @ by_list.transpose(0, 2, 1)
    hessian[:, range(n), range(n)] += sums.T
    away_p = p * away
    hessian[:, n, :n] = hessian[:, :n, n] = away_p.sum(axis=2).T
    hessian[:, n, n] = np.einsum("clr,clr->l", away_p, away)
    return value, p, gradient, hessian


def _newton_step(gradient: np.ndarray, hessian: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The solution of hessian @ step = -gradient, after scaling the diagonals to 1.

    The step is 0 for the first column with documents, since a constant may be added to all x, and
    for columns without documents. _RIDGE is added to the diagonal, since the matrix is singular if
    all rows of slopes are equal.
    """
    diagonal = np.diagonal(hessian, axis1=1, axis2=2).T.copy()
    diagonal[:-1][counts == 0] = 0.0
    diagonal[np.argmax(counts > 0, axis=0), range(counts.shape[1])] = 0.0
    scale = np.zeros_like(diagonal)
    np.divide(1.0, np.sqrt(diagonal), out=scale, where=diagonal > 1e-280)
    matrix = hessian * scale.T[:, :, None] * scale.T[:, None, :]
    n = len(diagonal)
    matrix[:, range(n), range(n)] = 1.0 + _RIDGE
    right = -(gradient * scale).T[:, :, None]
    try:
        step = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:  # some matrix is singular in spite of the ridge
        step = np.linalg.solve(matrix + 1e-10 * np.eye(n), right)
    return scale * step[:, :, 0].T


def curve_errors(columns: np.ndarray, p: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Root mean square of actual minus inferred precision, at the relevant documents of each list.

    At the i-th relevant document the inferred precision is i / k, where i relevant documents are
    expected in the first k ranks; k is interpolated linearly. The error is NaN without a relevant
    document.

    Parameters
    ----------
    columns : int ndarray of shape (n_lists, n_ranks)
        Column of the document at each rank; -1 beyond the end of the list.
    p : ndarray of shape (n_columns, n_lists, n_ranks)
    relevant : bool ndarray of shape (n_columns,)
    """
    n_lists, n_ranks = columns.shape
    hit = (columns >= 0) & relevant[columns]
    number = np.cumsum(hit, axis=1)
    share = p[relevant].sum(axis=0)
    expected = np.cumsum(share, axis=1)
    # k, minus 1: the number of ranks down to which fewer than i relevant documents are expected
    reached = np.minimum((expected + 1e-9).astype(np.int64), n_ranks)
    reached += (n_ranks + 1) * np.arange(n_lists)[:, None]
    ended = columns < 0  # an end of the list is not counted as a rank
    below = np.bincount(reached[~ended], minlength=n_lists * (n_ranks + 1))
    below = np.cumsum(below.reshape(n_lists, n_ranks + 1), axis=1)
    row, rank = np.nonzero(hit)
    i = number[row, rank]
    k = np.minimum(below[row, i - 1], np.count_nonzero(~ended, axis=1)[row] - 1)
    beyond = np.maximum(expected[row, k] - i, 0.0)
    place = k + 1.0 - np.divide(beyond, share[row, k], out=np.zeros(len(i)), where=beyond > 0)
    squares = np.bincount(row, (i / (rank + 1.0) - i / place) ** 2, n_lists)
    hits = number[:, -1]
    return np.sqrt(np.divide(squares, hits, out=np.full(n_lists, np.nan), where=hits > 0))
