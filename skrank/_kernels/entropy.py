"""Distributions of grades over ranks with maximum entropy, for a given expected value of a metric.

The grade at rank r has the distribution p[r], independent of the other ranks. So the expected sum
of a quadratic metric is

    F(p) = sum_r u[r] <gain, p[r]>  +  sum_{s<r} w[r] p[s]' worth p[r].

The entropy of p is maximised under F(p) = target and given sums of columns (grades), by sequential
convex programming. For a linearised F, `dual` finds the solution. The step to it, whose length
`_relaxation` chooses, is halved until penalty |F(p) - target| - entropy is at most the largest of
its last values. Grades without documents have no column. `x` holds the solution of `dual`: a number
for each column but the first, and mu.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.dual import TOLERANCE, maximise_entropy
from skrank._kernels.jit import kernel, subroutine

_END = 1e-5  # least distance of targets from the ends of the range, as a share: mu diverges there
_FLAT = 1e-12  # relative range of sums below which all lists have the same sum
_MOST_STEPS = 300
_MEMORY = 5  # window of the non-monotone line search
_STILL = 1e-9  # largest change of a probability at convergence


class Graded(NamedTuple):
    """Numbers of documents of each grade, and a quadratic form of grades."""

    counts: np.ndarray  # by query and column (label)
    gain: np.ndarray  # by column
    worth: np.ndarray  # by column of the upper and of the lower document of a pair
    u: np.ndarray  # weight of a document by rank
    w: np.ndarray  # weight of pairs by the rank of their lower document
    starts: np.ndarray  # by query: index of its first rank in u and w


class Distributions(NamedTuple):
    """Output of `infer`, by query except for `p`."""

    p: np.ndarray  # by row (query and rank) and column: probability of the label
    mean: np.ndarray  # expected value of the quadratic form
    entropy: np.ndarray
    steps: np.ndarray  # number of iterations
    done: np.ndarray  # whether the iterations reached the target


class _Form(NamedTuple):
    """F of one query: the parts of `Graded` for this query, with `counts` by column."""

    counts: np.ndarray
    gain: np.ndarray
    worth: np.ndarray
    u: np.ndarray
    w: np.ndarray


@subroutine()
def _expected(p, form, slope):
    """F(p). Fills in its derivatives, `slope`."""
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


@subroutine()
def _entropy(p):
    """Sum of the entropies of the ranks."""
    total = 0.0
    for r in range(p.shape[0]):
        for i in range(p.shape[1]):
            if p[r, i] > 0.0:
                total -= p[r, i] * np.log(p[r, i])
    return total


@subroutine()
def _linearised(slope, p, aim, x, work):
    """Fill in the solution for F linearised at `p`. Returns whether there is a solution.

    `aim` is the column sums, the target minus F(p), and the range of F; `work` is a workspace and
    the solution to fill in. If no distribution reaches the target, a half, a quarter, ... of the
    difference is tried. `x` is the dual solution of the previous call, and becomes that of this
    call.
    """
    counts, missing, width = aim
    relative, ahead = work  # slopes minus that of the first column, divided by the largest
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
        y[:] = x
        y[n - 1] *= largest
        precision = 0.1 * TOLERANCE * width / largest
        if maximise_entropy(relative, counts, here + part * missing / largest, precision, y, ahead):
            x[:] = y
            x[n - 1] /= largest
            return True
        part *= 0.5
    return False


@subroutine()
def _relaxation(p, ahead, before, step_before):
    """Length of the step from `p` to `ahead`, by Barzilai and Borwein.

    `before` is the p of the previous step, and `step_before` the solution minus p at that time.
    Steps of length 1 overshoot or converge slowly, since they ignore the curvature of F, which may
    have either sign.
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
    if length > 1.0:  # no probability may fall by more than 9/10, so that all stay positive
        for r in range(p.shape[0]):
            for i in range(p.shape[1]):
                step = ahead[r, i] - p[r, i]
                if p[r, i] + length * step < 0.1 * p[r, i]:
                    length = max(1.0, -0.9 * p[r, i] / step)
    return length


@subroutine()
def _optimise(form, target, width, x, p):
    """Sequential convex programming: move `p`, with its dual solution `x`, to F(p) = `target`.

    Returns F(p), the number of steps, and whether the steps converged to the target.
    """
    n_ranks, n = p.shape
    slope, relative = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    ahead, trial = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    before, step_before = np.empty((n_ranks, n)), np.empty((n_ranks, n))
    mean = _expected(p, form, slope)
    entropy, penalty = _entropy(p), 0.0
    misses, entropies = np.full(_MEMORY, np.nan), np.full(_MEMORY, np.nan)
    for steps in range(1, _MOST_STEPS + 1):
        aim = form.counts, target - mean, width
        if not _linearised(slope, p, aim, x, (relative, ahead)):
            return mean, steps, False
        change = 0.0
        for r in range(n_ranks):
            for i in range(n):
                change = max(change, abs(ahead[r, i] - p[r, i]))
        if change <= _STILL and abs(mean - target) <= TOLERANCE * width:
            p[:] = ahead
            return _expected(p, form, slope), steps, True
        penalty = max(penalty, 1.5 * abs(x[n - 1]))
        misses[steps % _MEMORY], entropies[steps % _MEMORY] = abs(mean - target), entropy
        highest = -np.inf  # of the last values of the penalised entropy
        for k in range(_MEMORY):
            if not np.isnan(misses[k]):
                highest = max(highest, penalty * misses[k] - entropies[k])
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
            if new <= highest + 1e-12 * (1.0 + abs(highest)) or length < 1e-4:
                break
            length *= 0.5
        p[:] = trial
    return mean, _MOST_STEPS, False


@subroutine()
def _spread_evenly(counts, x, p):
    """Fill in the distribution of maximum entropy without a target: the same at every rank."""
    n_ranks, n = p.shape
    for i in range(n):
        x[i] = np.log(counts[i + 1] / counts[0]) if i + 1 < n else 0.0
        for r in range(n_ranks):
            p[r, i] = counts[i] / n_ranks


@subroutine()
def _solve(form, target, low, high, p):
    """Fill in `p`. Returns F(p), the number of steps, and whether the target was reached.

    Near an end of the range, a first long step can overshoot, so that steps do not converge. Then
    the search starts again, with intermediate targets; each of them leaves a quarter of the
    distance to the end.
    """
    x = np.empty(p.shape[1])
    _spread_evenly(form.counts, x, p)
    goal, direct, steps = target, True, 0
    while True:
        mean, more, done = _optimise(form, goal, high - low, x, p)
        steps += more
        if goal == target and (done or not direct):
            return mean, steps, done
        if direct:
            direct = False
            _spread_evenly(form.counts, x, p)
            goal = _expected(p, form, np.empty(p.shape))
            end = high if target > goal else low
        goal = end - 0.25 * (end - goal)
        if abs(end - goal) < abs(end - target):
            goal = target


@subroutine()
def _value_in_order(order, backwards, q, lists, above):
    """Sum of a list in which equal grades are adjacent, in the `order` of columns or backwards."""
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


@kernel()
def ends(first, last, indptr, lists, worst_first, low, high):
    """Fill in the sums of the worst and the best list of each query.

    Since weights do not rise from rank to rank, these lists are sorted by gain.
    """
    above = np.empty(len(lists.gain))
    for q in range(first, last):
        for backwards in range(2):
            end = high if backwards else low
            end[q] = _value_in_order(worst_first, backwards, q, lists, above)


@subroutine()
def _columns(counts):
    """The columns that have documents."""
    active = np.empty(len(counts), np.int64)
    n = 0
    for i in range(len(counts)):
        active[n] = i
        n += counts[i] > 0
    return active[:n]


@subroutine()
def _form_of(lists, q, active, n_ranks):
    """F of a query, with the columns that have documents."""
    n, start = len(active), lists.starts[q]
    counts, gain, worth = np.empty(n), np.empty(n), np.empty((n, n))
    for i in range(n):
        counts[i], gain[i] = lists.counts[q, active[i]], lists.gain[active[i]]
        for j in range(n):
            worth[i, j] = lists.worth[active[i], active[j]]
    ranks = slice(start, start + n_ranks)
    return _Form(counts, gain, worth, lists.u[ranks], lists.w[ranks])


@kernel()
def infer(first, last, indptr, lists, target, low, high, out):
    """Fill in the distribution of each query, in rows ``indptr[q] .. indptr[q + 1] - 1``.

    ``target[q]`` is a sum between ``low[q]`` and ``high[q]``; near the ends of this range, the
    nearest target at a distance of _END * range replaces it.
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


@kernel()
def curve_errors(first, last, indptr, columns, p, relevant, error):
    """Fill in the root mean square of actual minus inferred precision, at relevant documents.

    `columns` has the column of the document at each rank; ``relevant[t, column]`` is True if a
    column is relevant under threshold t. At the i-th relevant document the inferred precision is
    i / k, where i relevant documents are expected in the first k ranks; k is interpolated linearly.
    The error is NaN without a relevant document.
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
