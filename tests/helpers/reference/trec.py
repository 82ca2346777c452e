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
from tests.helpers.reference.points import compared_at


@compared_at("num_q")
def num_q(ranked, *, unretrieved=()):
    """Every query is one."""
    return 1.0


@compared_at("num_ret num_ret@2")
def num_ret(ranked, *, unretrieved=(), k=None):
    """Number of documents retrieved, discarding those below the cut-off."""
    return float(len(top(ranked, k)))


@compared_at("num_rel num_rel(rel=2)")
def num_rel(ranked, *, unretrieved=(), rel=1):
    """Number of relevant documents, retrieved or not."""
    return float(count_relevant(judged_labels(ranked, unretrieved), rel))


@compared_at("num_rel_ret num_rel_ret(rel=2)@2")
def num_rel_ret(ranked, *, unretrieved=(), k=None, rel=1):
    """Number of relevant documents retrieved."""
    return float(count_relevant(top(ranked, k), rel))


@compared_at("num_nonrel_judged_ret num_nonrel_judged_ret(rel=2)@3")
def num_nonrel_judged_ret(ranked, *, unretrieved=(), k=None, rel=1):
    """Number of documents retrieved that have a label, which says not relevant."""
    return float(sum(1 for label in top(ranked, k) if label is not None and label < rel))


@compared_at("set_ap set_ap(rel=2)@3")
def set_ap(ranked, *, unretrieved=(), k=None, rel=1):
    """num_rel_ret**2 / (num_ret * num_rel); 0 if nothing was retrieved."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    found = top(ranked, k)
    return count_relevant(found, rel) ** 2 / (len(found) * total) if found else 0.0


@compared_at("relative_precision relative_precision@2 relative_precision(rel=2)@4")
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


@compared_at("utility utility(weights=[2,-1,-0.5,0.25])@3 utility(weights=[1,0,0,1],n_documents=9)")
def utility(ranked, *, unretrieved=(), k=None, rel=1, weights=(1, -1, 0, 0), n_documents=None):
    """p1 a + p2 b + p3 c + p4 d of the contingency table; d of the collection if it is known."""
    a, b, c, d = contingency(ranked, unretrieved, k, rel)
    if n_documents is not None:
        d = n_documents - a - b - c
    return float(sum(p * n for p, n in zip(weights, (a, b, c, d), strict=True)))


TENTHS = tuple(Fraction(i, 10) for i in range(11))


@compared_at(
    "iap iap(levels=[0.25,0.75],rel=2) iap(levels=[0.3],rounding=trec_eval9) "
    "iap(levels=[0.3,1],rounding=trec_eval10)"
)
def iap(ranked, *, unretrieved=(), rel=1, levels=TENTHS, rounding=None):
    """Mean of interpolated precision over levels of recall."""
    how = {"unretrieved": unretrieved, "rounding": rounding, "rel": rel}
    points = [iprec(ranked, level, **how) for level in levels]
    return None if None in points else sum(points) / len(points)
