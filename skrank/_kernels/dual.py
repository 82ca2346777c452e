"""The distribution of maximum entropy under linear conditions, by Newton's method on its dual.

Each row r of p is a distribution over the columns i. Of all p with given column sums and a given
<slope, p> = bound, the entropy is largest for p[r, i] ~ exp(x_i + mu slope[r, i]), with x_0 = 0.
The other x and mu minimise the dual, a convex function:

    sum_r log sum_i exp(x_i + mu slope[r, i]) - sum_i counts[i] x_i - mu bound.

The array `x` of the functions below holds x_1, x_2, ..., mu.
"""

import numpy as np

from skrank._kernels.jit import subroutine

TOLERANCE = 1e-10  # largest error of column sums; in `entropy`, of F relative to its range
_MOST_NEWTON = 80  # most Newton steps
_RIDGE = 1e-14


@subroutine()
def _dual(slope, counts, bound, x, p, gradient, hessian):
    """The dual function. Fills in p, the gradient, and the lower triangle of the hessian.

    The first column of `slope` was subtracted from all columns, and is thus 0.
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


@subroutine()
def _newton_step(gradient, hessian):
    """The solution of hessian @ step = -gradient, after scaling the diagonal to 1.

    _RIDGE is added to the diagonal, since the matrix is singular if all rows of `slope` are equal.
    """
    n = len(gradient)
    scale, right, matrix = np.empty(n), np.empty(n), np.empty((n, n))
    for i in range(n):
        scale[i] = 1.0 / np.sqrt(hessian[i, i]) if hessian[i, i] > 1e-280 else 0.0
    for i in range(n):
        right[i] = -gradient[i] * scale[i]
        for j in range(i):
            matrix[i, j] = matrix[j, i] = hessian[i, j] * scale[i] * scale[j]
        matrix[i, i] = 1.0 + _RIDGE
    return scale * np.linalg.solve(matrix, right)


@subroutine()
def maximise_entropy(slope, counts, bound, precision, x, p):
    """Fill in the `p` of maximum entropy with the column sums `counts` and <slope, p> = `bound`.

    Returns whether it was found, with errors of <slope, p> up to `precision`. The search starts at
    `x`, which becomes the solution. The dual is nowhere below the entropy of such a p, which is at
    least 0: a negative dual proves that there is none.
    """
    n_ranks, n = slope.shape
    gradient, hessian = np.empty(n), np.empty((n, n))
    trial_gradient, trial_hessian = np.empty(n), np.empty((n, n))
    trial = np.empty(n)
    value = _dual(slope, counts, bound, x, p, gradient, hessian)
    for _ in range(_MOST_NEWTON):
        if value < -1e-9 * n_ranks or not np.isfinite(value):
            return False
        worst = abs(gradient[n - 1]) / precision
        for i in range(n - 1):
            worst = max(worst, abs(gradient[i]) / TOLERANCE)
        if worst <= 1.0:
            return True
        step = _newton_step(gradient, hessian)
        derivative = 0.0  # along the step; below 0
        for i in range(n):
            derivative += gradient[i] * step[i]
        length, moved = 1.0, False
        while length > 1e-6:
            for i in range(n):
                trial[i] = x[i] + length * step[i]
            new = _dual(slope, counts, bound, trial, p, trial_gradient, trial_hessian)
            # if the value is large, its change may be less than its rounding error
            if new <= value + 1e-4 * length * derivative + 1e-13 * abs(value):
                moved = True
                break
            length *= 0.5
        if not moved:
            return False
        value = new
        x[:] = trial
        gradient[:] = trial_gradient
        hessian[:] = trial_hessian
    return False
