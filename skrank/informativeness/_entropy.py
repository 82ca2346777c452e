"""Distributions of grades over ranks with maximum entropy, for a given expected value of a metric.

The grade at rank r has the distribution p[r], independent of the other ranks. So the expected sum
of a quadratic metric is

    F(p) = sum_r u[r] <gain, p[r]>  +  sum_{s<r} w[r] p[s]' worth p[r].

The entropy of p is maximised under F(p) = target and given sums of columns (grades). For an F that
is linear with the derivatives `slope`, the solution is p[r, i] ~ exp(x_i + mu slope[r, i]), where x
and mu minimise the dual, a convex function of one number per grade and one for the value:

    sum_r log sum_i exp(x_i + mu slope[r, i]) - sum_i counts[i] x_i - mu target.

Newton's method minimises it. Otherwise F is linearised at p, again and again (sequential convex
programming), in steps towards the solution whose lengths `_lengths` chooses.

All functions work on several lists at a time: arrays of shape (n_columns, n_lists, n_ranks), with
zeros at the ranks beyond the end of a list. A solver of scipy for one list at a time would take
most of its time in calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import entr

# Lengths, shares and tolerances of the search are chosen freely: with others, such as an _END of
# 1e-4 or 1e-6, all of 181 lists of gap, ap, q and rbp converged, too.
_END = 1e-5  # least distance of targets from the ends of the range, as a share: mu diverges there
_FLAT = 1e-12  # relative range of sums below which all lists have the same sum
_TOLERANCE = 1e-10  # largest error of sums of columns, and of F relative to its range
_MOST_STEPS, _MOST_NEWTON = 300, 200  # evaluations of F, and of the dual
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

    def take(self, lists: np.ndarray) -> Forms:
        """The forms of some lists."""
        if len(lists) == len(self.u):
            return self
        return replace(
            self, counts=self.counts[:, lists], inside=self.inside[lists],
            u=self.u[lists], w=self.w[lists],
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

    def even(self) -> tuple[np.ndarray, np.ndarray]:
        """The distribution without a target, the same at every rank, and its dual solution."""
        p = (self.counts / self.inside.sum(axis=1))[:, :, None] * self.inside
        first = np.argmax(self.counts > 0, axis=0)
        with np.errstate(divide="ignore"):  # -inf for columns without documents
            x = np.log(self.counts / self.counts[first, range(len(first))])
        return p, np.vstack([x, np.zeros(len(first))])


class Solution(NamedTuple):
    """Distributions of lists."""

    p: np.ndarray  # by column, list and rank
    mean: np.ndarray  # F(p); the arrays from here on are by list
    entropy: np.ndarray  # sum over ranks
    steps: np.ndarray  # number of convex problems
    done: np.ndarray  # whether the steps converged to the target


def infer(forms: Forms, target: np.ndarray, low: np.ndarray, high: np.ndarray) -> Solution:
    """The distribution of each list whose expected sum is `target`, between `low` and `high`.

    Near these ends, the nearest target at a distance of _END * range replaces it. There, steps may
    not converge. Then the search starts again, with shorter steps and intermediate targets, each of
    which leaves a quarter of the distance to the end.
    """
    n_lists, width = len(target), high - low
    p, x = forms.even()
    steps, done = np.zeros(n_lists, np.int64), np.ones(n_lists, np.bool_)
    is_flat = width <= _FLAT * np.maximum(1.0, np.abs(high))
    active = np.flatnonzero(~is_flat & (np.count_nonzero(forms.counts, axis=0) > 1))
    aim = np.clip(target, low + _END * width, high - _END * width)
    goal = aim.copy()
    p[:, active], x[:, active], steps[active], done[active] = _optimise(
        forms.take(active), aim[active], width[active], p[:, active], x[:, active]
    )
    active = np.flatnonzero(~done)
    restarted = forms.take(active)
    p[:, active], x[:, active] = restarted.even()
    goal[active] = restarted.expected(p[:, active])[0]
    while len(active):
        end = np.where(aim > goal, high, low)[active]
        goal[active] = 0.25 * goal[active] + 0.75 * end
        passed = active[np.abs(end - goal[active]) <= np.abs(end - aim[active])]
        goal[passed] = aim[passed]
        p[:, active], x[:, active], n_steps, done[active] = _optimise(
            forms.take(active), goal[active], width[active], p[:, active], x[:, active], longest=0.5
        )
        steps[active] += n_steps
        active = active[goal[active] != aim[active]]
    return Solution(p, forms.expected(p)[0], entr(p).sum(axis=(0, 2)), steps, done)


def _optimise(
    forms: Forms,
    target: np.ndarray,
    width: np.ndarray,
    p: np.ndarray,
    x: np.ndarray,
    longest: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Move `p`, with its dual solution `x`, to F(p) = `target`, by sequential convex programming.

    Returns p, x, the number of steps, and whether the steps converged.
    """
    n_lists = len(target)
    p, x = p.copy(), x.copy()
    before, step_before = np.zeros_like(p), np.zeros_like(p)
    steps, done = np.zeros(n_lists, np.int64), np.zeros(n_lists, np.bool_)
    part = np.ones(n_lists)
    moving = np.arange(n_lists)
    for number in range(_MOST_STEPS):
        some, aim, now = forms.take(moving), target[moving], p[:, moving]
        mean, slope = some.expected(now)
        bound = np.einsum("clr,clr->l", slope, now) + part[moving] * (aim - mean)
        tolerance = _TOLERANCE * width[moving]
        ahead, dual, solved = _maximise_entropy(slope, some, bound, 0.1 * tolerance, x[:, moving])
        steps[moving] += 1
        x[:, moving] = np.where(solved, dual, x[:, moving])
        step = np.where(solved[:, None], ahead - now, 0.0)
        # near the ends of the range, rounding errors move p for ever: the tolerance grows to 1e-7
        still = solved & (np.abs(step).max(axis=(0, 2)) <= _STILL * min(1.1**number, 100.0))
        still &= np.abs(mean - aim) <= tolerance
        # if no distribution reaches the target, a half, a quarter, ... of the way is tried
        part[moving] = np.where(solved, 1.0, 0.5 * part[moving])
        length = np.ones(len(moving))
        if number:
            length = _lengths(now, step, before[:, moving], step_before[:, moving])
        before[:, moving], step_before[:, moving] = now, step
        p[:, moving] = now + np.where(still, 1.0, np.minimum(length, longest))[:, None] * step
        done[moving] = still
        moving = moving[~still & (part[moving] > 1e-4)]
        if len(moving) == 0:
            break
    return p, x, steps, done


def _lengths(
    p: np.ndarray, step: np.ndarray, before: np.ndarray, step_before: np.ndarray
) -> np.ndarray:
    """Lengths of the steps from `p`, by Barzilai and Borwein, in [.1, 1].

    `before` is the p of the previous step, and `step_before` the step to the solution at that time.
    Steps of length 1 may overshoot for ever, since they ignore the curvature of F.
    """
    moved = p - before
    weighted = moved / np.maximum(p, 1e-12)
    square = np.einsum("clr,clr->l", weighted, moved)
    product = np.einsum("clr,clr->l", weighted, step_before - step)
    is_shorter = product > square
    return np.maximum(np.divide(square, product, out=np.ones(len(square)), where=is_shorter), 0.1)


def _maximise_entropy(
    slope: np.ndarray, forms: Forms, bound: np.ndarray, precision: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The p of maximum entropy with <slope, p> = `bound`, by Newton's method on the dual from `x`.

    Returns p, the dual solution, and whether it was found, with errors of <slope, p> up to
    `precision`. The dual is nowhere below the entropy of such a p, which is at least 0: a negative
    dual proves that there is none.
    """
    n_lists, least = len(bound), -1e-9 * forms.inside.sum(axis=1)
    p, x, solved = np.empty_like(slope), x.copy(), np.zeros(n_lists, np.bool_)
    step, descent = np.zeros_like(x), np.zeros(n_lists)
    length, lowest = np.ones(n_lists), np.full(n_lists, np.inf)
    moving = np.arange(n_lists)
    for _ in range(_MOST_NEWTON):
        every = len(moving) == n_lists
        trial = x[:, moving] + length[moving] * step[:, moving]
        value, p_trial, gradient, hessian = _dual(
            slope if every else slope[:, moving], forms.take(moving), bound[moving], trial
        )
        # if the value is large, its change may be less than its rounding error
        last = lowest[moving]
        limit = last + 1e-4 * length[moving] * descent[moving] + 1e-13 * np.abs(last)
        falls = ~(value > limit)
        worst = np.abs(gradient[:-1]).max(axis=0) / _TOLERANCE
        worst = np.maximum(worst, np.abs(gradient[-1]) / precision[moving])
        is_possible = (value >= least[moving]) & (value < np.inf)
        good = falls & is_possible & (worst <= 1.0)
        lost = np.where(falls, ~is_possible, length[moving] < 1e-6)
        newton = _newton_step(gradient, hessian, forms.counts[:, moving])
        x[:, moving] = np.where(falls, trial, x[:, moving])
        step[:, moving] = np.where(falls, newton, step[:, moving])
        lowest[moving] = np.where(falls, value, last)
        descent[moving] = np.where(falls, (gradient * newton).sum(axis=0), descent[moving])
        length[moving] = np.where(falls, 1.0, 0.5 * length[moving])
        p[:, moving[good]], solved[moving] = p_trial[:, good], good
        moving = moving[~(good | lost)]
        if len(moving) == 0:
            break
    return p, x, solved


def _dual(
    slope: np.ndarray, forms: Forms, bound: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The dual, its p, its gradient of shape (n_columns + 1, n_lists), and its hessians."""
    inside, counts, mu, n = forms.inside, forms.counts, x[-1], len(slope)
    z = x[:-1, :, None] + mu[:, None] * slope
    top = z.max(axis=0)
    p = np.exp(z - top)
    total = p.sum(axis=0)
    p *= inside / total
    value = ((top + np.log(total)) * inside).sum(axis=1) - bound * mu
    value -= (counts * np.where(counts > 0, x[:-1], 0.0)).sum(axis=0)
    mean = np.einsum("clr,clr->lr", p, slope)
    sums, away_p = p.sum(axis=2), p * (slope - mean)
    gradient = np.vstack([sums - counts, mean.sum(axis=1) - bound])
    hessian = np.empty((len(bound), n + 1, n + 1))
    by_list = p.transpose(1, 0, 2)
    hessian[:, :n, :n] = -by_list @ by_list.transpose(0, 2, 1)
    hessian[:, range(n), range(n)] += sums.T
    hessian[:, n, :n] = hessian[:, :n, n] = away_p.sum(axis=2).T
    hessian[:, n, n] = np.einsum("clr,clr->l", away_p, slope - mean)
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
    errors = np.full(len(columns), np.nan)
    for number, (column, share) in enumerate(zip(columns, p[relevant].sum(axis=0), strict=True)):
        column = column[column >= 0]
        ranks = np.flatnonzero(relevant[column]) + 1.0
        i = np.arange(1.0, len(ranks) + 1)
        expected = np.append(0.0, np.cumsum(share[: len(column)]))
        whole = np.rint(expected)  # where rounding errors would decide how far down i is reached
        expected = np.where(np.abs(expected - whole) <= 1e-9, whole, expected)
        k = np.minimum(np.searchsorted(expected, i), len(column))
        k = k - np.maximum(expected[k] - i, 0.0) / share[k - 1]
        if len(ranks):
            errors[number] = np.sqrt(np.mean((i / ranks - i / k) ** 2))
    return errors
