"""Distributions of grades over ranks: the most random ones under which a metric has a given mean.

Rank n of a list has a grade of its own, independent of the other ranks, of distribution p[n]. The
expected sum of a quadratic metric is then bilinear in p:

    F(p) = sum_n u[n] <gain, p[n]>  +  sum_{m<n} w[n] p[m]' worth p[n].

The entropy of p is maximised subject to F(p) = target and to sums of columns, by sequential convex
programming. With F linearised, the solution is p[n, i] ~ exp(x[i] + mu slope[n, i]), and x and mu
minimise a convex function of as many unknowns as there are grades: Newton's method. The step to it
is shortened until an exact penalty function falls.

Grades without documents take no part: a query has n_active columns, the first of which is the
reference (x = 0).
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.dual import TOLERANCE, copy, copy_rows, most_random
from skrank._kernels.forms import njit, part
from skrank._kernels.tiles import options

_END = 1e-5  # part of the range of values that keeps targets off its ends, where exponents diverge
_FLAT = 1e-12  # range of sums below which a metric has no choice
_MOST_STEPS = 300
_MEMORY = 5  # the last steps, than all of which a new one must not be worse
_STILL = 1e-9  # largest change of a probability when all is done


class _Form(NamedTuple):
    """What F is made of, for one query."""

    counts: np.ndarray  # documents of each column
    gain: np.ndarray  # by column
    worth: np.ndarray  # by columns
    u: np.ndarray  # by rank
    w: np.ndarray  # by rank


@part(**options, allocates=True)
def _expected(p, form, slope):
    """F(p); its derivatives go to `slope`."""
    gain, worth, u, w = form.gain, form.worth, form.u, form.w
    n_ranks, n = p.shape
    above = np.zeros(n)
    below = np.zeros(n)
    total = 0.0
    for r in range(n_ranks):
        for i in range(n):
            pairs = 0.0
            for j in range(n):
                pairs += above[j] * worth[j, i]
            slope[r, i] = u[r] * gain[i] + w[r] * pairs
            total += slope[r, i] * p[r, i]
        for i in range(n):
            above[i] += p[r, i]
    for r in range(n_ranks - 1, -1, -1):
        for i in range(n):
            for j in range(n):
                slope[r, i] += worth[i, j] * below[j]
        for i in range(n):
            below[i] += w[r] * p[r, i]
    return total


@part(**options)
def _entropy(p):
    total = 0.0
    for r in range(p.shape[0]):
        for i in range(p.shape[1]):
            if p[r, i] > 0.0:
                total -= p[r, i] * np.log(p[r, i])
    return total


@part(**options, allocates=True, inline="always")
def _linearised(slope, counts, p, excess, width, x, relative, ahead):
    """The most random distribution with F linearised at `p`; whether there is one.

    `excess` is what F(p) lacks of its target, all of which is asked for if it can be had, else a
    part. `x` is where the last one was found, and holds the new one at the end.
    """
    n_ranks, n = p.shape
    largest, here = 0.0, 0.0
    for r in range(n_ranks):
        for i in range(n):
            relative[r, i] = slope[r, i] - slope[r, 0]
            largest = max(largest, abs(relative[r, i]))
    if largest == 0.0:
        return False
    for r in range(n_ranks):
        for i in range(n):
            relative[r, i] /= largest
            here += relative[r, i] * p[r, i]
    y = np.empty(n)
    part = 1.0
    while part > 1e-4:
        copy(x, y)
        y[n - 1] *= largest
        precision = 0.1 * TOLERANCE * width / largest
        if most_random(relative, counts, here + part * excess / largest, precision, y, ahead):
            copy(y, x)
            x[n - 1] /= largest
            return True
        part *= 0.5
    return False


@part(**options)
def _relaxation(p, ahead, before, step_before):
    """How far to go towards `ahead`: the step length of Barzilai and Borwein.

    Steps of length 1 overshoot, or creep, as the curvature of F that they ignore is of either sign.
    """
    square, product = 0.0, 0.0
    for r in range(p.shape[0]):
        for i in range(p.shape[1]):
            step = ahead[r, i] - p[r, i]
            moved = p[r, i] - before[r, i]
            weight = 1.0 / max(p[r, i], 1e-12)
            square += weight * moved * moved
            product += weight * moved * (step_before[r, i] - step)
    length = square / product if product > 0.25 * square else 4.0
    length = max(length, 0.1)
    if length > 1.0:  # behind `ahead` probabilities may become negative: none may lose 9/10
        for r in range(p.shape[0]):
            for i in range(p.shape[1]):
                step = ahead[r, i] - p[r, i]
                if p[r, i] + length * step < 0.1 * p[r, i]:
                    length = max(1.0, -0.9 * p[r, i] / step)
    return length


@part(**options, allocates=True, inline="always")
def _programme(form, target, width, x, p):
    """Move `p` and `x` on to the target; F(p), the number of steps, and whether all is still."""
    n_ranks, n = p.shape
    slope, relative = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    ahead, trial = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    before, step_before = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    mean = _expected(p, form, slope)
    entropy, penalty = _entropy(p), 0.0
    misses, entropies = np.full(_MEMORY, np.nan), np.full(_MEMORY, np.nan)
    for steps in range(1, _MOST_STEPS + 1):
        if not _linearised(slope, form.counts, p, target - mean, width, x, relative, ahead):
            return mean, steps, False
        change = 0.0
        for r in range(n_ranks):
            for i in range(n):
                change = max(change, abs(ahead[r, i] - p[r, i]))
        if change <= _STILL and abs(mean - target) <= TOLERANCE * width:
            copy_rows(ahead, p)
            return _expected(p, form, slope), steps, True
        penalty = max(penalty, 1.5 * abs(x[n - 1]))
        misses[steps % _MEMORY], entropies[steps % _MEMORY] = abs(mean - target), entropy
        merit = -np.inf
        for k in range(_MEMORY):
            if not np.isnan(misses[k]):
                merit = max(merit, penalty * misses[k] - entropies[k])
        length = 1.0 if steps == 1 else _relaxation(p, ahead, before, step_before)
        for r in range(n_ranks):
            for i in range(n):
                step_before[r, i] = ahead[r, i] - p[r, i]
                before[r, i] = p[r, i]
        while True:
            for r in range(n_ranks):
                for i in range(n):
                    trial[r, i] = p[r, i] + length * step_before[r, i]
            mean = _expected(trial, form, slope)
            entropy = _entropy(trial)
            new = penalty * abs(mean - target) - entropy
            if new <= merit + 1e-12 * (1.0 + abs(merit)) or length < 1e-4:
                break
            length *= 0.5
        copy_rows(trial, p)
    return mean, _MOST_STEPS, False


@part(**options)
def _spread_evenly(counts, x, p):
    """The most random distribution of all: the same at every rank."""
    n_ranks, n = p.shape
    for i in range(n):
        x[i] = np.log(counts[i + 1] / counts[0]) if i + 1 < n else 0.0
        for r in range(n_ranks):
            p[r, i] = counts[i] / n_ranks


@part(**options, allocates=True, inline="always")
def _solve(form, target, low, high, p):
    """Fill `p`; returns F(p), the number of steps, and whether the target is met.

    Near the ends of the range a step from afar can overshoot into a corner. Then the way is made
    anew in stages, each of which leaves a quarter of the distance to the end.
    """
    x = np.empty(p.shape[1])
    _spread_evenly(form.counts, x, p)
    ahead, direct, steps = target, True, 0
    while True:
        mean, more, done = _programme(form, ahead, high - low, x, p)
        steps += more
        if ahead == target and (done or not direct):
            return mean, steps, done
        if direct:
            direct = False
            _spread_evenly(form.counts, x, p)
            ahead = _expected(p, form, np.empty(p.shape))
            end = high if target > ahead else low
        ahead = end - 0.25 * (end - ahead)
        if abs(end - ahead) < abs(end - target):
            ahead = target


@part(**options)
def _value_in_order(order, backwards, q, lists, above):
    """The sum of the list that has the documents of each column one after the other."""
    counts, gain, worth, u, w = lists.counts, lists.gain, lists.worth, lists.u, lists.w
    for i in range(len(gain)):
        above[i] = 0.0
    total, r = 0.0, lists.starts[q]
    for place in range(len(order)):
        i = order[-1 - place if backwards else place]
        for _ in range(counts[q, i]):
            total += u[r] * gain[i]
            for j in range(len(gain)):
                total += w[r] * above[j] * worth[j, i]
            above[i] += 1.0
            r += 1
    return total


@njit(**options, allocates=True)
def ends(first, last, indptr, lists, worst_first, low, high):
    """Sums of the worst and the best list of each query.

    Weights do not rise from rank to rank, so these lists are in the order of gains.
    """
    above = np.empty(len(lists.gain))
    for q in range(first, last):
        for backwards in range(2):
            end = high if backwards else low
            end[q] = _value_in_order(worst_first, backwards, q, lists, above)


@part(**options, allocates=True)
def _columns(counts):
    """The columns that have documents."""
    active = np.empty(len(counts), np.int64)
    n = 0
    for i in range(len(counts)):
        active[n] = i
        n += counts[i] > 0
    return active[:n]


@part(**options, allocates=True)
def _form_of(lists, q, active, n_ranks):
    """F of a query, about the columns that have documents."""
    n, start = len(active), lists.starts[q]
    counts, gain, worth = np.empty(n), np.empty(n), np.empty((n, n))
    for i in range(n):
        counts[i], gain[i] = lists.counts[q, active[i]], lists.gain[active[i]]
        for j in range(n):
            worth[i, j] = lists.worth[active[i], active[j]]
    ranks = slice(start, start + n_ranks)
    return _Form(counts, gain, worth, lists.u[ranks], lists.w[ranks])


@njit(**options, allocates=True)
def infer(first, last, indptr, lists, target, low, high, out):
    """The distribution of each query, in rows ``indptr[q] .. indptr[q + 1] - 1`` of ``out.p``.

    `target[q]` is a sum between `low[q]` and `high[q]`; at the ends, one just inside is met.
    """
    p, mean, entropy, steps, done = out.p, out.mean, out.entropy, out.steps, out.done
    for q in range(first, last):
        n_ranks = indptr[q + 1] - indptr[q]
        active = _columns(lists.counts[q])
        form = _form_of(lists, q, active, n_ranks)
        n = len(active)
        found = np.empty((n_ranks, n))
        width = high[q] - low[q]
        if n < 2 or width <= _FLAT * max(1.0, abs(high[q])):
            _spread_evenly(form.counts, np.empty(n), found)
            mean[q] = _expected(found, form, np.empty((n_ranks, n)))
            steps[q], done[q] = 0, True
        else:
            inside = min(max(target[q], low[q] + _END * width), high[q] - _END * width)
            mean[q], steps[q], done[q] = _solve(form, inside, low[q], high[q], found)
        entropy[q] = _entropy(found)
        for r in range(n_ranks):
            row = indptr[q] + r
            for i in range(p.shape[1]):
                p[row, i] = 0.0
            for i in range(n):
                p[row, active[i]] = found[r, i]


@njit(**options)
def curve_errors(first, last, indptr, columns, p, relevant, error):
    """Root mean square of actual less inferred precision, at the ranks of relevant documents.

    `columns` is the actual list, `relevant[t, column]` tells what counts under threshold t. The
    inferred precision where r relevant documents are recalled is r / k for the least k, linear
    between ranks, down to which r of them are expected.
    """
    for q in range(first, last):
        for t in range(len(relevant)):
            hits, total, k, expected, share = 0, 0.0, 0, 0.0, 0.0
            n_ranks = indptr[q + 1] - indptr[q]
            for r in range(n_ranks):
                row = indptr[q] + r
                if not relevant[t, columns[row]]:
                    continue
                hits += 1
                while expected < hits - 1e-9 and k < n_ranks:
                    share = 0.0
                    for i in range(p.shape[1]):
                        if relevant[t, i]:
                            share += p[indptr[q] + k, i]
                    expected += share
                    k += 1
                place = float(k)
                if expected > hits and share > 0.0:
                    place -= (expected - hits) / share
                total += (hits / (r + 1.0) - hits / place) ** 2
            error[q, t] = np.sqrt(total / hits) if hits else np.nan
