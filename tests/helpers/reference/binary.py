"""Literal definitions of GAP and of metrics that know relevant documents from others."""

import math
from fractions import Fraction

from tests.helpers.reference.points import compared_at

# ---------------------------------------------------------------------- helpers


def condense(ranked):
    """Sakai 2007: the condensed list is the ranked list without its unjudged documents."""
    return [label for label in ranked if label is not None]


def top(ranked, k):
    """The first k documents, or all of them when there is no cut-off."""
    return list(ranked) if k is None else list(ranked)[:k]


def judged_labels(ranked, unretrieved):
    """Labels of all judged documents of the query, retrieved or not."""
    return condense(ranked) + condense(unretrieved)


def is_relevant(label, rel):
    """Binary relevance: the label is at or above the threshold; an unjudged document is not."""
    return label is not None and label >= rel


def count_relevant(labels, rel):
    """Number of relevant documents among these."""
    return sum(1 for label in labels if is_relevant(label, rel))


def look_up(table, label):
    """Entry of a mapping, or of a sequence whose first entry belongs to label 0; no rounding."""
    return (table if isinstance(table, dict) else dict(enumerate(table)))[label]


def gain_of(label, gain):
    """Gain of a label: 2^y - 1, y itself, or a table; an unjudged document counts as label 0."""
    label = 0 if label is None else label
    if gain == "exp2":
        return 2.0**label - 1.0
    if gain == "linear":
        return label
    return look_up(gain, label)


def discount_at(rank, discount, base):
    """Weight of a rank, ranks from 1.

    "log2": 1/log2(1+r). "jk": 1 below the base, then 1/log_base(r) (Jarvelin, Kekalainen 2002).
    "letor": the LETOR evaluation script, 1 at ranks 1 and 2, then 1/log2(r). "romip": ROMIP 2010.
    A table has the weights of the first ranks.
    """
    if discount == "log2":
        return 1.0 / math.log2(1 + rank)
    if discount == "jk":
        return 1.0 if rank < base else 1.0 / (math.log(rank) / math.log(base))
    if discount == "letor":
        return 1.0 if rank <= 2 else 1.0 / math.log2(rank)
    if discount == "romip":
        return 1.0 / math.log2(2 + rank)
    return discount[rank - 1] if rank <= len(discount) else 0.0


def cutoff_normalizer(total, k, normalize):
    """R for normalize="all" (as trec_eval), min(R, k) for "ideal"."""
    return total if normalize == "all" or k is None else min(total, k)


# ---------------------------------------------------------------------- GAP


def relevance_probability(label, thresholds=None, max_grade=None, fractional="step"):
    """G(label): probability that a user calls the document relevant (Robertson et al. 2010, 2.1).

    "step": sum of g_j over the thresholds j <= label. "interp": the threshold of probability g_j
    lies uniformly within (j-1, j], so grade j contributes g_j min(1, max(0, label - j + 1)).
    """
    if label is None:
        return 0.0
    if thresholds is None:  # uniform over the grades 1..max_grade
        thresholds = [1.0 / max_grade] * max_grade
    probability = 0.0
    for j, g in enumerate(thresholds, start=1):
        if fractional == "step":
            probability += g if label >= j else 0.0
        else:
            probability += g * min(1.0, max(0.0, label - j + 1))
    return probability


def gap_numerator(ranked, *, unretrieved=(), k=None, **scale):
    """Sum over pivots n of 1/n times sum over m <= n of delta(m, n) (Robertson et al. 2010, 2.2).

    delta(m, n) sums g_j up to the smaller grade, which is min(G(i_m), G(i_n)) as G is increasing.
    A cut-off keeps the pivots n <= k.
    """
    u = [relevance_probability(label, **scale) for label in top(ranked, k)]
    total = 0.0
    for n in range(1, len(u) + 1):
        total += sum(min(u[m - 1], u[n - 1]) for m in range(1, n + 1)) / n
    return total


@compared_at(
    "gap gap@1 gap@3 gap(normalize=ideal)@3 gap(normalize=ideal)@100 gap(max_grade=5) "
    "gap(thresholds=[0.2,0.5,0.3]) gap(thresholds=[0,1,0])@2 "
    "gap(thresholds=[0.5,0,0.5],fractional=interp) gap(condensed=True)@2",
    numerator=gap_numerator,
)
def gap(
    ranked,
    *,
    unretrieved=(),
    k=None,
    thresholds=None,
    max_grade=None,
    normalize="all",
    fractional="step",
):
    """Graded average precision (Robertson, Kanoulas, Yilmaz 2010, 2.2).

    The numerator above, divided by the expected number of relevant documents of the query,
    sum_i R_i sum_{j<=i} g_j; with normalize="ideal" by the sum of the k largest G of the query,
    which is the largest value the cut numerator can have.
    """
    scale = {"thresholds": thresholds, "max_grade": max_grade, "fractional": fractional}
    everything = [relevance_probability(x, **scale) for x in judged_labels(ranked, unretrieved)]
    if k is not None and normalize == "ideal":
        everything = sorted(everything, reverse=True)[:k]
    denominator = sum(everything)
    if denominator == 0:
        return None
    return gap_numerator(ranked, k=k, **scale) / denominator


def graded_recall(ranked, n, *, unretrieved=(), **scale):
    """Graded recall at rank n: expected relevant documents in the top n over those of the query."""
    everything = judged_labels(ranked, unretrieved)
    expected = sum(relevance_probability(label, **scale) for label in everything)
    if expected == 0:
        return None
    return sum(relevance_probability(label, **scale) for label in top(ranked, n)) / expected


def graded_precision(ranked, n, **scale):
    """Graded precision at the document of rank n: 1/n sum_{m<=n} min(u_m, u_n) / u_n.

    None where the document of rank n is relevant to no user.
    """
    u = [relevance_probability(label, **scale) for label in ranked]
    pivot = u[n - 1]
    if pivot == 0:
        return None
    return sum(min(u[m - 1], pivot) / pivot for m in range(1, n + 1)) / n


# ---------------------------------------------------------------------- binary metrics


def ap_numerator(ranked, *, unretrieved=(), k=None, rel=1):
    """Sum of the precisions at the ranks of the relevant documents (ROMIP 2010, 3.3)."""
    total, hits = 0.0, 0
    for rank, label in enumerate(top(ranked, k), start=1):
        if is_relevant(label, rel):
            hits += 1
            total += hits / rank
    return total


@compared_at(
    "ap ap@2 ap(normalize=ideal)@2 ap(normalize=retrieved)@2 ap(normalize=retrieved,rel=2)@5 "
    "ap(rel=2) ap(rel=2.5,condensed=True)",
    numerator=ap_numerator,
)
def ap(ranked, *, unretrieved=(), k=None, rel=1, normalize="all"):
    """Average precision: mean precision at all R relevant documents, 0 for one that is not found.

    With a cut-off: R ("all", as trec_eval), min(R, k) ("ideal") or the relevant documents among the
    first k ("retrieved", as torchmetrics) in the denominator.
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    if normalize == "retrieved":
        return ap_numerator(ranked, k=k, rel=rel) / max(count_relevant(top(ranked, k), rel), 1)
    return ap_numerator(ranked, k=k, rel=rel) / cutoff_normalizer(total, k, normalize)


@compared_at(
    "precision precision@1 precision@3 precision(rel=2)@4 precision(normalize=shown)@3 "
    "precision(condensed=True)@3"
)
def precision(ranked, *, unretrieved=(), k=None, rel=1, normalize="k"):
    """Precision (ROMIP 2010, 1.2 and 3.1): hits / k, also for a list shorter than k.

    Without k, hits / length; 0 if nothing was found. With normalize="shown", hits / min(k, length).
    """
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    divisor = len(ranked) if k is None else k
    if normalize == "shown":
        divisor = min(divisor, len(ranked))
    return 0.0 if divisor == 0 else count_relevant(top(ranked, k), rel) / divisor


@compared_at("recall recall@3 recall(rel=2)@2")
def recall(ranked, *, unretrieved=(), k=None, rel=1):
    """Recall a / (a + c) (ROMIP 2010, 1.1): relevant in the top k over all relevant documents."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    return None if total == 0 else count_relevant(top(ranked, k), rel) / total


@compared_at("f1 f1@3 f1(beta=2)@2")
def f_beta(ranked, *, unretrieved=(), k=None, rel=1, beta=1.0):
    """F = (1 + b^2) / (1/p + b^2/r), 0 if p = 0 or r = 0 (ROMIP 2010, 1.5, with b = 1)."""
    p = precision(ranked, unretrieved=unretrieved, k=k, rel=rel)
    r = recall(ranked, unretrieved=unretrieved, k=k, rel=rel)
    if p is None:
        return None
    if p == 0 or r == 0:
        return 0.0
    return (1 + beta**2) / (1 / p + beta**2 / r)


@compared_at("success success@2 success(rel=2)@1")
def success(ranked, *, unretrieved=(), k=None, rel=1):
    """1 if the top k holds a relevant document, else 0 (trec_eval, success_k)."""
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    return 1.0 if count_relevant(top(ranked, k), rel) > 0 else 0.0


@compared_at(
    "r_precision r_precision(rel=2) r_precision(multiple=0.35) r_precision(multiple=1.6,rel=2)"
)
def r_precision(ranked, *, unretrieved=(), rel=1, multiple=1):
    """Precision at R, the number of relevant documents of the query (ROMIP 2010, 3.2).

    trec_eval: at a multiple of R, rounded down after 0.9 is added, in floating point.
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    cutoff = int(multiple * total + 0.9)
    return count_relevant(top(ranked, cutoff), rel) / cutoff if cutoff else 0.0


def contingency(ranked, unretrieved, k, rel):
    """a, b, c, d of ROMIP 2010, table 1; a document below the cut-off is not found."""
    found = top(ranked, k)
    missed = list(ranked)[len(found) :] + list(unretrieved)
    a = count_relevant(found, rel)
    c = count_relevant(missed, rel)
    return a, len(found) - a, c, len(missed) - c


@compared_at("accuracy accuracy@3")
def accuracy(ranked, *, unretrieved=(), k=None, rel=1):
    """(a + d) / (a + b + c + d) (ROMIP 2010, 1.3) over the documents of the query."""
    a, b, c, d = contingency(ranked, unretrieved, k, rel)
    return None if a + c == 0 else (a + d) / (a + b + c + d)


@compared_at("error@3 error(rel=2)@1")
def error(ranked, *, unretrieved=(), k=None, rel=1):
    """(b + c) / (a + b + c + d) (ROMIP 2010, 1.4); the only metric here where less is better."""
    a, b, c, d = contingency(ranked, unretrieved, k, rel)
    return None if a + c == 0 else (b + c) / (a + b + c + d)


TREC_RULER = (1.0, 0.5, 0.33, 0.2, 0.1)
ROMIP_RULER = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def ruler_value(rank, ruler):
    """rank(pos) of ROMIP 2010, 3.5: 1/pos, or the entry of a ruler, 0 outside of it."""
    if ruler is None:
        return 1.0 / rank
    values = {"trec": TREC_RULER, "romip": ROMIP_RULER}[ruler] if isinstance(ruler, str) else ruler
    return values[rank - 1] if rank <= len(values) else 0.0


@compared_at(
    "rr rr@2 rr(rel=2) rr(ruler=trec) rr(ruler=romip)@3 rr(ruler=[1,0.25,0.25]) rr(condensed=True)"
)
def rr(ranked, *, unretrieved=(), k=None, ruler=None, rel=1):
    """Value of the rank of the first relevant document, 0 without one (ROMIP 2010, 3.5)."""
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    for rank, label in enumerate(top(ranked, k), start=1):
        if is_relevant(label, rel):
            return ruler_value(rank, ruler)
    return 0.0


@compared_at(
    "iprec(recall=0.5) iprec(recall=0,rel=2) iprec(recall=0.7) "
    "iprec(recall=0.3,rounding=trec_eval9) iprec(recall=0.3,rounding=trec_eval10)"
)
def iprec(ranked, recall, *, unretrieved=(), rel=1, rounding=None):
    """Interpolated precision at a recall level, as TREC measures it (ROMIP 2010, 4).

    0 if the level exceeds the recall of the list; otherwise the largest precision over all prefixes
    at least as long as the shortest one that reaches the level. The level is an exact fraction and
    reaching it is a comparison of integers. With `rounding`, a whole number of relevant documents
    reaches it, as in trec_eval.
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    level = Fraction(recall).limit_denominator(10**6)
    if rounding is not None:
        added = {"trec_eval9": 0.9, "trec_eval10": 0.5}[rounding]
        level = Fraction(math.floor(recall * total + added), total)
    best = 0.0
    for n in range(1, len(ranked) + 1):
        hits = count_relevant(top(ranked, n), rel)
        if hits * level.denominator >= level.numerator * total:
            best = max(best, hits / n)
    return best


@compared_at("infap infap(rel=2)")
def infap(ranked, *, unretrieved=(), rel=1, unjudged="pooled", epsilon=1e-5):
    """Inferred AP (Yilmaz, Aslam 2006) with trec_eval's smoothing of 1e-5.

    Expected precision at a relevant document of rank r, given the r-1 documents above it: 1/r for
    itself, plus (r-1)/r times (share of those that are in the pool) times (share of relevant among
    those that are judged, smoothed). None in the list is a document of the pool that nobody judged
    ("pooled": label -1 in a qrels file) or one that is not in the pool ("outside").
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    value = 0.0
    for rank, label in enumerate(ranked, start=1):
        if not is_relevant(label, rel):
            continue
        above = list(ranked)[: rank - 1]
        if not above:
            value += 1.0
            continue
        relevant = count_relevant(above, rel)
        judged = len(condense(above))
        pooled = len(above) if unjudged == "pooled" else judged
        in_pool = pooled / len(above)
        of_judged = (relevant + epsilon) / (judged + 2 * epsilon)
        value += 1 / rank + (rank - 1) / rank * in_pool * of_judged
    return value / total


@compared_at("judged judged@3")
def judged(ranked, *, unretrieved=(), k=None):
    """Share of the top k that is judged; a list shorter than k is taken as it is. 0 if empty."""
    found = top(ranked, k)
    return len(condense(found)) / len(found) if found else 0.0
