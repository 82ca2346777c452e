"""Literal definitions of what trec_eval reports beside the metrics of the papers: counts and sets.

Written from the descriptions that ``trec_eval -h -m <measure>`` prints.
"""

from fractions import Fraction

from tests.helpers.reference.binary import (
    contingency,
    count_relevant,
    iprec,
    judged_labels,
    precision,
    top,
)


def num_q(ranked, *, unretrieved=()):
    """Every query is one."""
    return 1.0


def num_ret(ranked, *, unretrieved=(), k=None):
    """Number of documents retrieved, discarding those below the cut-off."""
    return float(len(top(ranked, k)))


def num_rel(ranked, *, unretrieved=(), rel=1):
    """Number of relevant documents, retrieved or not."""
    return float(count_relevant(judged_labels(ranked, unretrieved), rel))


def num_rel_ret(ranked, *, unretrieved=(), k=None, rel=1):
    """Number of relevant documents retrieved."""
    return float(count_relevant(top(ranked, k), rel))


def num_nonrel_judged_ret(ranked, *, unretrieved=(), k=None, rel=1):
    """Number of documents retrieved that have a label, which says not relevant."""
    return float(sum(1 for label in top(ranked, k) if label is not None and label < rel))


def set_ap(ranked, *, unretrieved=(), k=None, rel=1):
    """num_rel_ret**2 / (num_ret * num_rel); 0 if nothing was retrieved."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    found = top(ranked, k)
    return count_relevant(found, rel) ** 2 / (len(found) * total) if found else 0.0


def relative_precision(ranked, *, unretrieved=(), k=None, rel=1):
    """Precision over the precision of the best list: with min(k, R) relevant documents in it."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    size = len(ranked) if k is None else k
    if size == 0:
        return 0.0
    best = min(size, total) / size
    return precision(ranked, unretrieved=unretrieved, k=k, rel=rel) / best


def utility(ranked, *, unretrieved=(), k=None, rel=1, weights=(1, -1, 0, 0), n_documents=None):
    """p1 a + p2 b + p3 c + p4 d of the contingency table; d of the collection if it is known."""
    a, b, c, d = contingency(ranked, unretrieved, k, rel)
    if n_documents is not None:
        d = n_documents - a - b - c
    return float(sum(p * n for p, n in zip(weights, (a, b, c, d), strict=True)))


TENTHS = tuple(Fraction(i, 10) for i in range(11))


def iap(ranked, *, unretrieved=(), rel=1, levels=TENTHS, rounding=None):
    """Mean of interpolated precision over levels of recall."""
    how = {"unretrieved": unretrieved, "rounding": rounding, "rel": rel}
    points = [iprec(ranked, level, **how) for level in levels]
    return None if None in points else sum(points) / len(points)
