"""Moments of metrics when the labels of a query are independent and random.

``proba[row]`` is the distribution of the label of a row over codes. Below, e is the mean of the
gain of one document, and m the mean of its squared gain. `form` is a `RandomGain`.

All recursions are exact. `linear` and `cascade` take O(n) time for n documents, others O(n^2).
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.jit import kernel, subroutine

_FASTMATH = {"contract", "reassoc"}


class RandomLists(NamedTuple):
    """Ranked documents with random labels."""

    order: np.ndarray  # position by rank; for two rankers, one row each
    retrieved: np.ndarray  # by query: documents with a score above -inf; for `linear`, one row each
    proba: np.ndarray  # probability of each code (column) for each row


class RandomGain(NamedTuple):
    """Tables of a metric for random labels."""

    gain: np.ndarray  # by code; for cascade metrics, the probability that a document stops the user
    square: np.ndarray  # squared gain by code
    weight: np.ndarray  # by rank; ranks from ``len(weight)`` on have the weight 0


class Moments(NamedTuple):
    """Output of kernels, by query."""

    mean: np.ndarray
    second: np.ndarray  # mean of the square


@subroutine()
def _mean(weights, table):
    """Mean of a table by code under a distribution over codes."""
    total = 0.0
    for code in range(len(table)):
        total += weights[code] * table[code]
    return total


@kernel(plain=True)
def some_relevant(first, last, indptr, proba, no_gain, mass):
    """Fill in the probability that a query has a document with a gain.

    ``no_gain[code]`` is 1 if the gain of a code is 0, else 0.
    """
    for q in range(first, last):
        none = 1.0
        for row in range(indptr[q], indptr[q + 1]):
            none *= _mean(proba[row], no_gain)
        mass[q] = 1.0 - none


@kernel(plain=True)
def linear(first, last, indptr, lists, form, out):
    """Sum over ranks of weight times gain; for two rankers, the difference of their sums.

    A document has the same label in both lists. So its gain counts with the difference of its
    weights; and since documents are independent, means and variances add.
    """
    order, retrieved, proba = lists.order, lists.retrieved, lists.proba
    gain, square, weight = form.gain, form.square, form.weight
    for q in range(first, last):
        start = indptr[q]
        net = np.zeros(indptr[q + 1] - start)
        for ranker in range(order.shape[0]):
            for r in range(min(retrieved[ranker, q], len(weight))):
                net[order[ranker, start + r]] += (1 - 2 * ranker) * weight[r]
        total, variance = 0.0, 0.0
        for i in range(len(net)):
            if net[i] != 0:
                e = _mean(proba[start + i], gain)
                m = _mean(proba[start + i], square)
                total += net[i] * e
                variance += net[i] * net[i] * max(m - e * e, 0.0)
        out.mean[q] = total
        out.second[q] = variance + total * total


@kernel(plain=True)
def cascade(first, last, indptr, lists, form, out):
    """Sum over ranks of weight times the probability that the user stops there.

    The value from a rank on is V = weight * stop + (1 - stop) * V', where V' is the value from the
    next rank on; V' is independent of `stop`. The means of V and V**2 follow from the last rank up.
    """
    order, retrieved, proba = lists.order, lists.retrieved, lists.proba
    stop, square, weight = form.gain, form.square, form.weight
    for q in range(first, last):
        start = indptr[q]
        v, vv = 0.0, 0.0
        for r in range(min(retrieved[q], len(weight)) - 1, -1, -1):
            row = start + order[start + r]
            e = _mean(proba[row], stop)
            m = _mean(proba[row], square)
            w = weight[r]
            vv = w * w * m + 2.0 * w * (e - m) * v + (1.0 - 2.0 * e + m) * vv
            v = w * e + (1.0 - e) * v
        out.mean[q] = v
        out.second[q] = vv


@subroutine()
def _ratio(x, y):
    """x / y, or 0 if y is 0: then the document stops all users with certainty, and x is 0, too."""
    return x / y if y > 0.0 else 0.0


@subroutine(fastmath=_FASTMATH)
def _weighted(reach, term, low, high):
    """Sum of reach * term over the ranks low .. high - 1."""
    total = 0.0
    for i in range(low, high):
        total += reach[i] * term[i]
    return total


@subroutine()
def _scale(reach, low, high, factor):
    """Multiply by a factor at the ranks low .. high - 1."""
    for i in range(low, high):
        reach[i] *= factor


@kernel()
def cascade_product(first, last, indptr, lists, form, product):
    """Mean of the product of the cascade values of two lists of the same documents.

    Two users read one list each, independently given the labels. ``reach[i]`` is the mean
    probability that the first user reaches rank i and the second user the current rank r. A
    document above both ranks contributes the factor E (1 - stop)**2, a document above one of them
    E (1 - stop). A document at the rank of one list and above that of the other stops one user and
    not the other: E stop (1 - stop), in place of the factor E (1 - stop) that `reach` contains.
    """
    order, retrieved, proba = lists.order, lists.retrieved, lists.proba
    stop, square, weight = form.gain, form.square, form.weight
    for q in range(first, last):
        start = indptr[q]
        n = indptr[q + 1] - start
        n_a = min(retrieved[0, q], len(weight))
        n_b = min(retrieved[1, q], len(weight))
        e, m = np.empty(n), np.empty(n)
        rank_a = np.full(n, n_a)  # unless the document is among the first n_a
        for i in range(n):
            e[i] = _mean(proba[start + i], stop)
            m[i] = _mean(proba[start + i], square)
        reach, term = np.empty(n_a), np.empty(n_a)
        passing = 1.0
        for r in range(n_a):
            item = order[0, start + r]
            rank_a[item] = r
            reach[r] = passing
            term[r] = weight[r] * e[item]
            passing *= 1.0 - e[item]
        total = 0.0
        for r in range(n_b):
            item = order[1, start + r]
            f = 1.0 - e[item]
            # mean probability to stop one user, given that the document did not stop the other
            stop_given_pass = _ratio(e[item] - m[item], f)
            a = rank_a[item]  # in the first list
            here = e[item] * _weighted(reach, term, 0, a)
            if a < n_a:
                here += m[item] * weight[a] * reach[a]
                here += stop_given_pass * _weighted(reach, term, a + 1, n_a)
                term[a] = weight[a] * stop_given_pass
                _scale(reach, a + 1, n_a, _ratio(1.0 - 2.0 * e[item] + m[item], f))
            _scale(reach, 0, min(a + 1, n_a), f)
            total += weight[r] * here
        product[q] = total


@kernel()
def average_precision(first, last, indptr, lists, relevant, depth, ideal, out):
    """Average precision at `depth`, divided by the number of relevant documents.

    With `ideal`, the divisor is at most `depth`. ``p[c]`` is the probability of c relevant
    documents so far; ``v[c]`` and ``vv[c]`` are the means of the sum of precisions and of its
    square, times 1 if there are c relevant documents so far, else 0.
    """
    order, retrieved, proba = lists.order, lists.retrieved, lists.proba
    for q in range(first, last):
        start = indptr[q]
        n = indptr[q + 1] - start
        p, v, vv = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
        p[0] = 1.0
        for r in range(n):
            s = _mean(proba[start + order[start + r]], relevant)
            inside = r < retrieved[q] and r < depth
            for c in range(r + 1, -1, -1):  # downwards: entries c - 1 are still of the rank above
                precision = c / (r + 1.0) if inside else 0.0
                if c > 0:
                    vv_in = vv[c - 1] + 2.0 * precision * v[c - 1]
                    vv_in += precision * precision * p[c - 1]
                    vv[c] = (1.0 - s) * vv[c] + s * vv_in
                    v[c] = (1.0 - s) * v[c] + s * (v[c - 1] + precision * p[c - 1])
                    p[c] = (1.0 - s) * p[c] + s * p[c - 1]
                else:
                    p[0] *= 1.0 - s
        out.mean[q], out.second[q] = 0.0, 0.0
        for c in range(1, n + 1):
            by = 1.0 / (min(c, depth) if ideal else c)
            out.mean[q] += v[c] * by
            out.second[q] += vv[c] * by * by


@kernel()
def graded_precision(first, last, indptr, lists, at_least, share, depth, moments):
    """Joint moments of the sum N of graded average precision and of its divisor D.

    ``at_least[t]`` is 1 for codes that reach threshold t, and ``share[t]`` is the probability of
    that threshold; thresholds ascend. c_t is the number of documents so far that reach threshold t,
    and N_t sums c_t / rank over these documents; N = sum_t share_t N_t and D = sum_t share_t c_t.
    Both grow by increments that are linear in (c_t, N_t) and in the next label. So the second
    moments of a rank follow from those of the rank above. ``moments[q]`` is E N, E D, E N**2,
    E N D, E D**2.
    """
    order, retrieved, proba = lists.order, lists.retrieved, lists.proba
    n_t = len(share)
    s, c, v = np.empty(n_t), np.empty(n_t), np.empty(n_t)  # probability of t; E c_t, E N_t
    cc, vv = np.empty((n_t, n_t)), np.empty((n_t, n_t))  # E c_t c_u, E N_t N_u
    vc = np.empty((n_t, n_t))  # E N_t c_u
    for q in range(first, last):
        start = indptr[q]
        c[:], v[:] = 0.0, 0.0
        cc[:], vc[:], vv[:] = 0.0, 0.0, 0.0
        for r in range(indptr[q + 1] - start):
            row = start + order[start + r]
            w = 1.0 / (r + 1.0) if r < retrieved[q] and r < depth else 0.0
            for t in range(n_t):
                s[t] = _mean(proba[row], at_least[t])
            # first vv, then vc, cc, v and c: each depends on the others at the rank above
            for t in range(n_t):
                for u in range(n_t):
                    both = s[max(t, u)]
                    with_t = vc[t, u] + v[t]  # E N_t (c_u + 1)
                    with_u = vc[u, t] + v[u]
                    counts = cc[t, u] + c[t] + c[u] + 1.0
                    if t <= u:
                        vv[t, u] += w * (s[u] * with_t + s[t] * with_u) + w * w * both * counts
            for t in range(n_t):
                for u in range(n_t):
                    both = s[max(t, u)]
                    vc[t, u] += s[u] * v[t] + w * s[t] * (cc[t, u] + c[u]) + w * both * (c[t] + 1.0)
            for t in range(n_t):
                for u in range(n_t):
                    cc[t, u] += s[u] * c[t] + s[t] * c[u] + s[max(t, u)]
            for t in range(n_t):
                v[t] += w * s[t] * (c[t] + 1.0)
                c[t] += s[t]
        out = moments[q]
        out[:] = 0.0
        for t in range(n_t):
            out[0] += share[t] * v[t]
            out[1] += share[t] * c[t]
            for u in range(n_t):
                out[2] += share[t] * share[u] * vv[min(t, u), max(t, u)]
                out[3] += share[t] * share[u] * vc[t, u]
                out[4] += share[t] * share[u] * cc[t, u]
