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

import numpy as np
from numba import njit

_options = {"cache": True, "nogil": True, "error_model": "numpy"}

_END = 1e-5  # part of the range of values that keeps targets off its ends, where exponents diverge
_FLAT = 1e-12  # range of sums below which a metric has no choice
_MOST_STEPS = 300
_MEMORY = 5  # steps
_MOST_NEWTON = 80
_TOLERANCE = 1e-10  # of F relative to its range, and of the sums of columns
_STILL = 1e-9  # largest change of a probability when all is done


@njit(**_options)
def _copy(source, target):
    for i in range(len(source)):
        target[i] = source[i]


@njit(**_options)
def _copy_rows(source, target):
    for r in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[r, i] = source[r, i]


@njit(**_options)
def _expected(p, gain, worth, u, w, slope):
    """F(p); its derivatives go to `slope`."""
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


@njit(**_options)
def _dual(slope, counts, bound, x, p, gradient, hessian):
    """The dual function at x (the last entry is mu) with its derivatives, and p.

    `slope` is relative to its first column.
    """
    n_ranks, n = slope.shape
    mu = x[n - 1]
    z = np.empty(n)
    for i in range(n):
        gradient[i] = 0.0
        for j in range(n):
            hessian[i, j] = 0.0
    value = 0.0
    for r in range(n_ranks):
        z[0] = 0.0
        top = 0.0
        for i in range(1, n):
            z[i] = x[i - 1] + mu * slope[r, i]
            top = max(top, z[i])
        total = 0.0
        for i in range(n):
            z[i] = np.exp(z[i] - top)
            total += z[i]
        value += top + np.log(total)
        mean = 0.0
        for i in range(n):
            z[i] /= total
            p[r, i] = z[i]
            mean += z[i] * slope[r, i]
        for i in range(1, n):
            gradient[i - 1] += z[i]
            away = slope[r, i] - mean
            hessian[n - 1, i - 1] += z[i] * away
            hessian[n - 1, n - 1] += z[i] * away * away
            hessian[i - 1, i - 1] += z[i]
            for j in range(1, i + 1):
                hessian[i - 1, j - 1] -= z[i] * z[j]
        gradient[n - 1] += mean
        hessian[n - 1, n - 1] += z[0] * mean * mean
    for i in range(1, n):
        gradient[i - 1] -= counts[i]
        value -= counts[i] * x[i - 1]
    gradient[n - 1] -= bound
    return value - bound * mu


@njit(**_options)
def _newton_step(gradient, hessian, step):
    """Solve hessian step = -gradient by Cholesky's method, on a diagonal scaled to ones."""
    n = len(gradient)
    scale = np.empty(n)
    for i in range(n):
        scale[i] = 1.0 / np.sqrt(hessian[i, i]) if hessian[i, i] > 1e-280 else 0.0
    ridge = 1e-14
    lower = np.zeros((n, n))
    while ridge < 1e3:
        good = True
        for i in range(n):
            for j in range(i + 1):
                entry = hessian[i, j] * scale[i] * scale[j]
                if i == j:
                    entry = 1.0 + ridge
                for k in range(j):
                    entry -= lower[i, k] * lower[j, k]
                if i != j:
                    lower[i, j] = entry / lower[j, j]
                elif entry > 1e-15:
                    lower[i, i] = np.sqrt(entry)
                else:
                    good = False
                    break
            if not good:
                break
        if good:
            break
        ridge *= 100.0
    for i in range(n):
        entry = -gradient[i] * scale[i]
        for k in range(i):
            entry -= lower[i, k] * step[k]
        step[i] = entry / lower[i, i]
    for i in range(n - 1, -1, -1):
        entry = step[i]
        for k in range(i + 1, n):
            entry -= lower[k, i] * step[k]
        step[i] = entry / lower[i, i]
    for i in range(n):
        step[i] *= scale[i]


@njit(**_options)
def _most_random(slope, counts, bound, precision, x, p):
    """Fill `p` with column sums `counts`, <slope, p> = bound, and most entropy; whether it can be.

    The search begins at `x`. The dual function is never below the entropy, and so not below 0:
    where it is, nothing meets the bound.
    """
    n_ranks, n = slope.shape
    gradient, hessian = np.empty(n), np.empty((n, n))
    trial_gradient, trial_hessian = np.empty(n), np.empty((n, n))
    step, trial = np.empty(n), np.empty(n)
    value = _dual(slope, counts, bound, x, p, gradient, hessian)
    for _ in range(_MOST_NEWTON):
        if value < -1e-9 * n_ranks or not np.isfinite(value):
            return False
        worst = abs(gradient[n - 1]) / precision
        for i in range(n - 1):
            worst = max(worst, abs(gradient[i]) / _TOLERANCE)
        if worst <= 1.0:
            return True
        _newton_step(gradient, hessian, step)
        decrease = 0.0
        for i in range(n):
            decrease += gradient[i] * step[i]
        length, moved = 1.0, False
        while length > 1e-6:
            for i in range(n):
                trial[i] = x[i] + length * step[i]
            new = _dual(slope, counts, bound, trial, p, trial_gradient, trial_hessian)
            # rounding hides decreases of value when it is large
            if new <= value + 1e-4 * length * decrease + 1e-13 * abs(value):
                moved = True
                break
            length *= 0.5
        if not moved:
            return False
        value = new
        _copy(trial, x)
        _copy(trial_gradient, gradient)
        _copy_rows(trial_hessian, hessian)
    return False


@njit(**_options)
def _entropy(p):
    total = 0.0
    for r in range(p.shape[0]):
        for i in range(p.shape[1]):
            if p[r, i] > 0.0:
                total -= p[r, i] * np.log(p[r, i])
    return total


@njit(**_options)
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
        _copy(x, y)
        y[n - 1] *= largest
        precision = 0.1 * _TOLERANCE * width / largest
        if _most_random(relative, counts, here + part * excess / largest, precision, y, ahead):
            _copy(y, x)
            x[n - 1] /= largest
            return True
        part *= 0.5
    return False


@njit(**_options)
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
    if length > 1.0:  # probabilities stay above 0
        for r in range(p.shape[0]):
            for i in range(p.shape[1]):
                step = ahead[r, i] - p[r, i]
                if p[r, i] + length * step < 0.1 * p[r, i]:
                    length = max(1.0, -0.9 * p[r, i] / step)
    return length


@njit(**_options)
def _programme(counts, gain, worth, u, w, target, width, x, p):
    """Move `p` and `x` on to the target; F(p), the number of steps, and whether all is still."""
    n_ranks, n = p.shape
    slope, relative = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    ahead, trial = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    before, step_before = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    mean = _expected(p, gain, worth, u, w, slope)
    entropy, penalty = _entropy(p), 0.0
    misses, entropies = np.full(_MEMORY, np.nan), np.full(_MEMORY, np.nan)
    for steps in range(1, _MOST_STEPS + 1):
        if not _linearised(slope, counts, p, target - mean, width, x, relative, ahead):
            return mean, steps, False
        change = 0.0
        for r in range(n_ranks):
            for i in range(n):
                change = max(change, abs(ahead[r, i] - p[r, i]))
        if change <= _STILL and abs(mean - target) <= _TOLERANCE * width:
            _copy_rows(ahead, p)
            return _expected(p, gain, worth, u, w, slope), steps, True
        penalty = max(penalty, 1.5 * abs(x[n - 1]))
        misses[steps % _MEMORY], entropies[steps % _MEMORY] = abs(mean - target), entropy
        merit = -np.inf
        for k in range(_MEMORY):  # a step may be worse than the last one, not than all of these
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
            mean = _expected(trial, gain, worth, u, w, slope)
            entropy = _entropy(trial)
            new = penalty * abs(mean - target) - entropy
            if new <= merit + 1e-12 * (1.0 + abs(merit)) or length < 1e-4:
                break
            length *= 0.5
        _copy_rows(trial, p)
    return mean, _MOST_STEPS, False


@njit(**_options)
def _spread_evenly(counts, x, p):
    """The most random distribution of all: the same at every rank."""
    n_ranks, n = p.shape
    for i in range(n):
        for r in range(n_ranks):
            p[r, i] = counts[i] / n_ranks
        if i > 0:
            x[i - 1] = np.log(counts[i] / counts[0])
    x[n - 1] = 0.0


@njit(**_options)
def _solve(counts, gain, worth, u, w, target, low, high, p):
    """Fill `p`; returns F(p), the number of steps, and whether the target is met.

    Near the ends of the range a step from afar can overshoot into a corner. Then the way is made
    anew in stages, each of which leaves a quarter of the distance to the end.
    """
    x = np.empty(p.shape[1])
    _spread_evenly(counts, x, p)
    ahead, direct, steps = target, True, 0
    while True:
        mean, more, done = _programme(counts, gain, worth, u, w, ahead, high - low, x, p)
        steps += more
        if ahead == target and (done or not direct):
            return mean, steps, done
        if direct:
            direct = False
            _spread_evenly(counts, x, p)
            ahead = _expected(p, gain, worth, u, w, np.empty(p.shape))
            end = high if target > ahead else low
        ahead = end - 0.25 * (end - ahead)
        if abs(end - ahead) < abs(end - target):
            ahead = target


@njit(**_options)
def _value_in_order(order, counts, gain, worth, u, w, start):
    """The sum of the list that has the documents of each column one after the other."""
    above = np.zeros(len(gain))
    total, r = 0.0, start
    for i in order:
        for _ in range(counts[i]):
            total += u[r] * gain[i]
            for j in range(len(gain)):
                total += w[r] * above[j] * worth[j, i]
            above[i] += 1.0
            r += 1
    return total


@njit(**_options)
def ends(first, last, indptr, counts, gain, worth, u, w, starts, worst_first, low, high):
    """Sums of the worst and the best list of each query, whose documents are in `counts`.

    Weights do not rise from rank to rank, so these lists are in the order of gains.
    """
    for q in range(first, last):
        form = (counts[q], gain, worth, u, w, starts[q])
        low[q] = _value_in_order(worst_first, *form)
        high[q] = _value_in_order(worst_first[::-1], *form)


@njit(**_options)
def infer(
    first, last, indptr, counts, gain, worth, u, w, starts, target, low, high,
    p, mean, entropy, steps, done,
):  # fmt: skip
    """The distribution of each query, in rows ``indptr[q] .. indptr[q + 1] - 1`` of `p`.

    `counts[q]` are the documents of each column (label), which add up to the number of ranks.
    `target[q]` is a sum between `low[q]` and `high[q]`; at the ends, one just inside is met.
    """
    n_columns = len(gain)
    active = np.empty(n_columns, np.int64)
    for q in range(first, last):
        n = 0
        for i in range(n_columns):
            if counts[q, i] > 0:
                active[n] = i
                n += 1
        n_ranks, start = indptr[q + 1] - indptr[q], starts[q]
        some, some_gain, some_worth = np.empty(n), np.empty(n), np.empty((n, n))
        for i in range(n):
            some[i] = counts[q, active[i]]
            some_gain[i] = gain[active[i]]
            for j in range(n):
                some_worth[i, j] = worth[active[i], active[j]]
        some_u, some_w = u[start : start + n_ranks], w[start : start + n_ranks]
        found = np.empty((n_ranks, n))
        width = high[q] - low[q]
        if n < 2 or width <= _FLAT * max(1.0, abs(high[q])):
            _spread_evenly(some, np.empty(n), found)
            mean[q] = _expected(
                found, some_gain, some_worth, some_u, some_w, np.empty((n_ranks, n))
            )
            steps[q], done[q] = 0, True
        else:
            inside = min(max(target[q], low[q] + _END * width), high[q] - _END * width)
            mean[q], steps[q], done[q] = _solve(
                some, some_gain, some_worth, some_u, some_w, inside, low[q], high[q], found
            )
        entropy[q] = _entropy(found)
        for r in range(n_ranks):
            row = indptr[q] + r
            for i in range(n_columns):
                p[row, i] = 0.0
            for i in range(n):
                p[row, active[i]] = found[r, i]


@njit(**_options)
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
