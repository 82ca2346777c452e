"""Literal definitions of the metrics, written from the papers: slow, and the oracle of the tests.

Every metric is a function of ONE ranked list, best document first::

    metric(ranked, *, unretrieved=(), k=None, ...) -> float | None

``ranked`` holds the labels in rank order: numbers >= 0, or None for an unjudged document, which is
non-relevant unless the definition says that it is skipped (``condense`` removes it beforehand).
``unretrieved`` holds the labels of the judged documents that the list does not contain.
None is returned where the metric is undefined: the query has no relevant document, that is
no document that the metric would pay for. Nothing here is fast and nothing is clever.

Sources: Robertson, Kanoulas, Yilmaz 2010 (GAP); ROMIP 2010, appendix A; Sakai 2007 (bpref, rpref,
Q-measure); Jarvelin, Kekalainen 2002 (DCG); Chapelle et al. 2009 (ERR); Moffat, Zobel 2008 (RBP);
Yilmaz, Aslam 2006 (infAP); Burges 2010 (LambdaRank); trec_eval where a paper leaves a choice.
"""

import itertools
import math
from fractions import Fraction

# ---------------------------------------------------------------------- helpers


def from_array(labels):
    """Labels of an array as a list, NaN (unjudged) as None."""
    return [None if label != label else float(label) for label in labels]


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
    "letor": the LETOR evaluation script, 1 at ranks 1 and 2, then 1/log2(r). A callable is asked.
    """
    if discount == "log2":
        return 1.0 / math.log2(1 + rank)
    if discount == "jk":
        return 1.0 if rank < base else 1.0 / (math.log(rank) / math.log(base))
    if discount == "letor":
        return 1.0 if rank <= 2 else 1.0 / math.log2(rank)
    return discount(rank)


def cutoff_normalizer(total, k, normalize):
    """R for normalize="all" (as trec_eval), min(R, k) for "ideal"."""
    return total if normalize == "all" or k is None else min(total, k)


# ---------------------------------------------------------------------- GAP


def threshold_probabilities(thresholds, max_grade):
    """g_1..g_c: given, or uniform over the grades 1..max_grade."""
    if thresholds is not None:
        return list(thresholds)
    return [1.0 / max_grade] * max_grade


def relevance_probability(label, thresholds=None, max_grade=None, labels="step"):
    """G(label): probability that a user calls the document relevant (Robertson et al. 2010, 2.1).

    "step": sum of g_j over the thresholds j <= label. "interp": the threshold of probability g_j
    lies uniformly within (j-1, j], so grade j contributes g_j min(1, max(0, label - j + 1)).
    """
    if label is None:
        return 0.0
    probability = 0.0
    for j, g in enumerate(threshold_probabilities(thresholds, max_grade), start=1):
        if labels == "step":
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


def gap(
    ranked,
    *,
    unretrieved=(),
    k=None,
    thresholds=None,
    max_grade=None,
    normalize="all",
    labels="step",
):
    """Graded average precision (Robertson, Kanoulas, Yilmaz 2010, 2.2).

    The numerator above, divided by the expected number of relevant documents of the query,
    sum_i R_i sum_{j<=i} g_j; with normalize="ideal" by the sum of the k largest G of the query,
    which is the largest value the cut numerator can have.
    """
    scale = {"thresholds": thresholds, "max_grade": max_grade, "labels": labels}
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


def ap(ranked, *, unretrieved=(), k=None, rel=1, normalize="all"):
    """Average precision: mean precision at all R relevant documents, 0 for one that is not found.

    With a cut-off: R ("all", as trec_eval) or min(R, k) ("ideal") in the denominator.
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    return ap_numerator(ranked, k=k, rel=rel) / cutoff_normalizer(total, k, normalize)


def precision(ranked, *, unretrieved=(), k=None, rel=1):
    """Precision (ROMIP 2010, 1.2 and 3.1): hits / k, also for a list shorter than k.

    Without k, hits / length; 0 if nothing was found.
    """
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    divisor = len(ranked) if k is None else k
    return 0.0 if divisor == 0 else count_relevant(top(ranked, k), rel) / divisor


def recall(ranked, *, unretrieved=(), k=None, rel=1):
    """Recall a / (a + c) (ROMIP 2010, 1.1): relevant in the top k over all relevant documents."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    return None if total == 0 else count_relevant(top(ranked, k), rel) / total


def f_beta(ranked, *, unretrieved=(), k=None, rel=1, beta=1.0):
    """F = (1 + b^2) / (1/p + b^2/r), 0 if p = 0 or r = 0 (ROMIP 2010, 1.5, with b = 1)."""
    p = precision(ranked, unretrieved=unretrieved, k=k, rel=rel)
    r = recall(ranked, unretrieved=unretrieved, k=k, rel=rel)
    if p is None:
        return None
    if p == 0 or r == 0:
        return 0.0
    return (1 + beta**2) / (1 / p + beta**2 / r)


def success(ranked, *, unretrieved=(), k=None, rel=1):
    """1 if the top k holds a relevant document, else 0 (trec_eval, success_k)."""
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    return 1.0 if count_relevant(top(ranked, k), rel) > 0 else 0.0


def r_precision(ranked, *, unretrieved=(), rel=1):
    """Precision at R, the number of relevant documents of the query (ROMIP 2010, 3.2)."""
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    return None if total == 0 else count_relevant(top(ranked, total), rel) / total


def contingency(ranked, unretrieved, k, rel):
    """a, b, c, d of ROMIP 2010, table 1; a document below the cut-off is not found."""
    found = top(ranked, k)
    missed = list(ranked)[len(found) :] + list(unretrieved)
    a = count_relevant(found, rel)
    c = count_relevant(missed, rel)
    return a, len(found) - a, c, len(missed) - c


def accuracy(ranked, *, unretrieved=(), k=None, rel=1):
    """(a + d) / (a + b + c + d) (ROMIP 2010, 1.3) over the documents of the query."""
    a, b, c, d = contingency(ranked, unretrieved, k, rel)
    return None if a + c == 0 else (a + d) / (a + b + c + d)


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


def rr(ranked, *, unretrieved=(), k=None, ruler=None, rel=1):
    """Value of the rank of the first relevant document, 0 without one (ROMIP 2010, 3.5)."""
    if count_relevant(judged_labels(ranked, unretrieved), rel) == 0:
        return None
    for rank, label in enumerate(top(ranked, k), start=1):
        if is_relevant(label, rel):
            return ruler_value(rank, ruler)
    return 0.0


def iprec(ranked, recall_level, *, unretrieved=(), rel=1):
    """Interpolated precision at a recall level, as TREC measures it (ROMIP 2010, 4).

    0 if the level exceeds the recall of the list; otherwise the largest precision over all prefixes
    at least as long as the shortest one that reaches the level. The level is an exact fraction and
    reaching it is a comparison of integers.
    """
    total = count_relevant(judged_labels(ranked, unretrieved), rel)
    if total == 0:
        return None
    level = Fraction(recall_level).limit_denominator(10**6)
    best = 0.0
    for n in range(1, len(ranked) + 1):
        hits = count_relevant(top(ranked, n), rel)
        if hits * level.denominator >= level.numerator * total:
            best = max(best, hits / n)
    return best


def eleven_points(ranked, *, unretrieved=(), rel=1):
    """The 11-point curve of TREC: interpolated precision at the recalls 0, 0.1, ..., 1."""
    levels = [Fraction(i, 10) for i in range(11)]
    return [iprec(ranked, level, unretrieved=unretrieved, rel=rel) for level in levels]


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


def judged(ranked, *, unretrieved=(), k=None):
    """Share of the top k that is judged; a list shorter than k is taken as it is. None if empty."""
    found = top(ranked, k)
    return None if not found else len(condense(found)) / len(found)


# ---------------------------------------------------------------------- gains


def dcg_sum(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """Sum over ranks of gain times discount, without asking whether anything is relevant."""
    total = 0.0
    for rank, label in enumerate(top(ranked, k), start=1):
        total += gain_of(label, gain) * discount_at(rank, discount, base)
    return total


def dcg(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """Discounted cumulative gain (Jarvelin, Kekalainen 2002; ROMIP 2010, 5.1 with ranks from 1)."""
    if all(gain_of(label, gain) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    return dcg_sum(ranked, k=k, gain=gain, discount=discount, base=base)


def ndcg(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """DCG over the DCG of the best order of all judged documents, cut at the same k."""
    how = {"k": k, "gain": gain, "discount": discount, "base": base}
    everything = judged_labels(ranked, unretrieved)
    best_first = sorted(everything, key=lambda label: gain_of(label, gain), reverse=True)
    ideal = dcg_sum(best_first, **how)
    if not everything or gain_of(best_first[0], gain) <= 0:
        return None
    return dcg_sum(ranked, **how) / ideal


def cg(ranked, *, unretrieved=(), k=None, gain="exp2"):
    """Cumulative gain (Jarvelin, Kekalainen 2002): the sum of the gains of the top k."""
    if all(gain_of(label, gain) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    return float(sum(gain_of(label, gain) for label in top(ranked, k)))


def rbp(ranked, *, unretrieved=(), k=None, p=0.8, gain="linear", max_grade):
    """Rank-biased precision (Moffat, Zobel 2008): (1 - p) sum of p^(r-1) gain / gain(max_grade)."""
    if all(gain_of(label, gain) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    highest = gain_of(max_grade, gain)
    total = 0.0
    for rank, label in enumerate(top(ranked, k), start=1):
        total += p ** (rank - 1) * gain_of(label, gain) / highest
    return (1 - p) * total


def q_numerator(ranked, *, unretrieved=(), k=None, beta=1.0, gain="linear"):
    """Sum over relevant r of (beta cg(r) + count(r)) / (beta cg_I(r) + r) (Sakai 2007, section 4).

    cg_I(r) is the cumulative gain of the best order of all judged documents, constant after R.
    """
    ideal = sorted((gain_of(x, gain) for x in judged_labels(ranked, unretrieved)), reverse=True)
    total, cumulated, count = 0.0, 0.0, 0
    for rank, label in enumerate(top(ranked, k), start=1):
        if gain_of(label, gain) > 0:
            cumulated += gain_of(label, gain)
            count += 1
            total += (beta * cumulated + count) / (beta * sum(ideal[:rank]) + rank)
    return total


def q(ranked, *, unretrieved=(), k=None, beta=1.0, gain="linear", normalize="all"):
    """Q-measure: the sum above over R, the number of documents with a gain.

    With a cut-off: R ("all") or min(R, k) ("ideal", as NTCIREVAL).
    """
    everything = judged_labels(ranked, unretrieved)
    total = sum(1 for label in everything if gain_of(label, gain) > 0)
    if total == 0:
        return None
    numerator = q_numerator(ranked, unretrieved=unretrieved, k=k, beta=beta, gain=gain)
    return numerator / cutoff_normalizer(total, k, normalize)


# ---------------------------------------------------------------------- cascades


def stop_probability(label, max_grade):
    """R_i = (2^grade - 1) / 2^max_grade (Chapelle et al. 2009; ROMIP 2010, 5.2)."""
    return 0.0 if label is None else (2.0**label - 1.0) / 2.0**max_grade


def err_sum(ranked, *, unretrieved=(), k=None, max_grade):
    """Sum over r of 1/r times R_r times the product over i < r of (1 - R_i)."""
    stop = [stop_probability(label, max_grade) for label in top(ranked, k)]
    total = 0.0
    for r in range(1, len(stop) + 1):
        total += stop[r - 1] * math.prod(1 - stop[i - 1] for i in range(1, r)) / r
    return total


def err(ranked, *, unretrieved=(), k=None, max_grade):
    """Expected reciprocal rank (Chapelle et al. 2009), ROMIP's graded mean reciprocal rank."""
    if all(stop_probability(x, max_grade) == 0 for x in judged_labels(ranked, unretrieved)):
        return None
    return err_sum(ranked, k=k, max_grade=max_grade)


def nerr(ranked, *, unretrieved=(), k=None, max_grade):
    """ERR over the ERR of the best order of all judged documents, cut at the same k."""
    value = err(ranked, unretrieved=unretrieved, k=k, max_grade=max_grade)
    if value is None:
        return None
    best_first = sorted(judged_labels(ranked, unretrieved), reverse=True)
    return value / err_sum(best_first, k=k, max_grade=max_grade)


YANDEX_PROBABILITIES = (0.0, 0.07, 0.14, 0.41, 0.61)


def satisfaction_probability(label, p_rel):
    """pRel of PFound: "romip" is 0.5 * 2^(grade - 3) above grade 0 (ROMIP 2010, 5.2).

    "yandex" is Yandex's table for the labels 0..4, "raw" takes the label as the probability,
    anything else is a table that is asked with the label.
    """
    if label is None:
        return 0.0
    if p_rel == "romip":
        return 0.5 * 2.0 ** (label - 3) if label > 0 else 0.0
    if p_rel == "yandex":
        return look_up(YANDEX_PROBABILITIES, label)
    if p_rel == "raw":
        return label
    return look_up(p_rel, label)


def pfound(ranked, *, unretrieved=(), k=None, p_rel="romip", p_break=0.15):
    """PFound = sum of pLook(r) pRel(r) (ROMIP 2010, 5.2).

    pLook(1) = 1, pLook(r) = pLook(r-1) (1 - pRel(r-1)) (1 - pBreak).
    """
    everything = judged_labels(ranked, unretrieved)
    if all(satisfaction_probability(label, p_rel) == 0 for label in everything):
        return None
    look, total = 1.0, 0.0
    for label in top(ranked, k):
        total += look * satisfaction_probability(label, p_rel)
        look = look * (1 - satisfaction_probability(label, p_rel)) * (1 - p_break)
    return total


# ---------------------------------------------------------------------- preferences


def bpref_penalty(above, r, total_rel, total_non, retrieved_non, variant):
    """Penalty of a relevant document at rank r of the condensed list, with ``above`` judged
    non-relevant documents above it (Sakai 2007, equations 9, 10, 11, 18; ROMIP 2010, 3.4).

    "old" is the bug of trec_eval up to 7.3: the retrieved non-relevant documents instead of all.
    """
    if above == 0:
        return 0.0
    if variant == "trec":
        return min(above, total_rel) / min(total_rel, total_non)
    if variant == "romip":
        return min(above, total_rel) / total_rel
    if variant == "10":
        return min(above, 10 + total_rel) / (10 + total_rel)
    if variant == "n":
        return above / total_non
    if variant == "relative":
        return above / (r - 1)
    if variant == "old":
        return min(above, total_rel) / min(total_rel, retrieved_non)
    raise ValueError(variant)


def bpref(ranked, *, unretrieved=(), variant="trec", rel=1):
    """1/R times the sum over the retrieved relevant documents of 1 - penalty; skips the unjudged.

    "relative" leaves out a relevant document at rank 1 (Sakai 2007, equation 18).
    """
    everything = judged_labels(ranked, unretrieved)
    total_rel = count_relevant(everything, rel)
    total_non = len(everything) - total_rel
    if total_rel == 0:
        return None
    condensed = condense(ranked)
    retrieved_non = len(condensed) - count_relevant(condensed, rel)
    total, count = 0.0, 0
    for r, label in enumerate(condensed, start=1):
        if not is_relevant(label, rel):
            continue
        count += 1
        if variant == "relative" and r == 1:
            continue
        total += 1 - bpref_penalty(r - count, r, total_rel, total_non, retrieved_non, variant)
    return total / total_rel


def rpref(ranked, *, unretrieved=(), variant="relative2", gain="linear", max_grade):
    """rpref of De Beer and Moens in Sakai's form (Sakai 2007, equations 2-8 and 14-20).

    rho = gain / gain(max_grade). The penalty of a relevant document k sums (rho_k - rho_l) / rho_k
    over the judged documents l above it that are less relevant; it is divided by the sum of 1 - rho
    of all judged documents ("n"), by r - 1 without rank 1 ("relative"), or by r ("relative2").
    """
    highest = gain_of(max_grade, gain)
    condensed = [gain_of(label, gain) / highest for label in condense(ranked)]
    everything = [gain_of(x, gain) / highest for x in judged_labels(ranked, unretrieved)]
    total_rho = sum(everything)
    total_non = sum(1 - rho for rho in everything)
    if total_rho == 0:
        return None
    total = 0.0
    for r, rho in enumerate(condensed, start=1):
        if rho == 0 or (variant == "relative" and r == 1):
            continue
        penalty = sum((rho - other) / rho for other in condensed[: r - 1] if other < rho)
        bound = {"n": total_non, "relative": r - 1, "relative2": r}[variant]
        total += rho * (1 - (penalty / bound if penalty > 0 else 0.0))
    return total / total_rho


METRICS = {
    "gap": gap,
    "ap": ap,
    "ndcg": ndcg,
    "dcg": dcg,
    "cg": cg,
    "precision": precision,
    "recall": recall,
    "f1": f_beta,
    "success": success,
    "r_precision": r_precision,
    "accuracy": accuracy,
    "error": error,
    "rr": rr,
    "err": err,
    "nerr": nerr,
    "pfound": pfound,
    "rbp": rbp,
    "q": q,
    "bpref": bpref,
    "rpref": rpref,
    "iprec": iprec,
    "judged": judged,
    "infap": infap,
}

# ---------------------------------------------------------------------- swaps and ties


def swap_delta(metric, labels, a, b):
    """metric(list with ranks a and b exchanged) - metric(list); ranks from 1."""
    swapped = list(labels)
    swapped[a - 1], swapped[b - 1] = swapped[b - 1], swapped[a - 1]
    return metric(swapped) - metric(list(labels))


def ranking(scores):
    """Rows in rank order: stable sort by score, descending; a score of -inf is not retrieved."""
    retrieved = [row for row in range(len(scores)) if scores[row] != -math.inf]
    return sorted(retrieved, key=lambda row: -scores[row])


def missing(scores, labels):
    """Labels of the documents that were judged but not retrieved (score -inf)."""
    return [y for s, y in zip(scores, labels, strict=True) if s == -math.inf and y is not None]


def tie_orders(scores, labels):
    """Every list of labels that breaks the ties of the scores in some way, each order once."""
    rows = ranking(scores)
    groups = [list(group) for _, group in itertools.groupby(rows, key=lambda row: scores[row])]
    for orders in itertools.product(*(list(itertools.permutations(group)) for group in groups)):
        yield [labels[row] for order in orders for row in order]


def stable(metric, scores, labels):
    """Value with ties in row order; ``metric(ranked, unretrieved=...)``."""
    ranked = [labels[row] for row in ranking(scores)]
    return metric(ranked, unretrieved=missing(scores, labels))


def tie_values(metric, scores, labels):
    """The metric of every order of the ties (the same list may come more than once)."""
    unretrieved = missing(scores, labels)
    return [metric(ranked, unretrieved=unretrieved) for ranked in tie_orders(scores, labels)]


def tie_expectation(metric, scores, labels):
    """Mean of the metric over all permutations of tied documents, all equally likely."""
    values = tie_values(metric, scores, labels)
    return None if values[0] is None else math.fsum(values) / len(values)


def tie_bound(metric, scores, labels, which="worst", greater_is_better=True):
    """Worst or best value over all permutations of tied documents."""
    values = tie_values(metric, scores, labels)
    if values[0] is None:
        return None
    return max(values) if (which == "best") == greater_is_better else min(values)


def label_ordered(metric, scores, labels, which="worst"):
    """Value with tied documents in order of label: lowest first ("worst"), highest first ("best").

    Equal to ``tie_bound`` for every metric that no swap of a better document upwards makes worse.
    """
    sign = 1 if which == "worst" else -1
    retrieved = [row for row in range(len(scores)) if scores[row] != -math.inf]
    rows = sorted(retrieved, key=lambda row: (-scores[row], sign * (labels[row] or 0)))
    return metric([labels[row] for row in rows], unretrieved=missing(scores, labels))


# ---------------------------------------------------------------------- LambdaRank


def ideal_value(numerator, labels, k=None, **parameters):
    """The unnormalised metric of the best list of these documents, cut at k."""
    best_first = sorted((label or 0 for label in labels), reverse=True)
    return numerator(best_first, k=k, **parameters)


def objective(numerator, labels, *, k=None, truncation_level=None, **parameters):
    """The two things ``lambdas`` asks for, of a normalised metric given by its numerator.

    The metric is the numerator cut at k (its ranks are not cut by the truncation level); the
    normaliser is the ideal value of the list cut at min(truncation level, k), as LightGBM does.
    Numerators: dcg_sum (nDCG), gap_numerator, ap_numerator, q_numerator, err_sum (nERR).
    """
    cuts = [cut for cut in (k, truncation_level) if cut is not None]
    normalizer = ideal_value(numerator, labels, k=min(cuts) if cuts else None, **parameters)

    def metric(ranked):
        return numerator(ranked, k=k, **parameters)

    return metric, normalizer


def logistic_of_minus(x):
    """1 / (1 + e^x)."""
    return 1 / (1 + math.exp(x)) if x < 700 else 0.0


def lambdas(
    metric,
    scores,
    labels,
    *,
    normalizer=1.0,
    sigma=1.0,
    truncation_level=None,
    score_norm=True,
    sum_norm=True,
    signed=False,
):
    """LambdaRank gradient and hessian of one query, in row order (Burges 2010; LightGBM's norms).

    ``metric`` maps the labels in rank order to a float; every swap delta is its brute-force
    difference over ``normalizer`` (see ``objective``). For each pair of ranks a <= min(T, n), a < b
    (ranks from 1) with different labels and a delta that is not zero, "high" being the document of
    the higher label:

        delta  = |delta| / (0.01 + |s_high - s_low|)   if score_norm and best score != worst score
        p      = 1 / (1 + exp(sigma (s_high - s_low)))
        lambda = sigma delta p          grad[high] -= lambda, grad[low] += lambda
        h      = sigma^2 delta p (1-p)  hess[high] += h,      hess[low] += h

    With sum_norm everything is multiplied by log2(1 + S) / S, S the sum of 2 lambda over the pairs.
    ``signed`` drops the pairs for which the exchange changes the metric in the wrong direction: the
    better document moves up and the metric falls. Ties are in row order; a document with a score of
    -inf takes no part.
    """
    grad, hess, total = [0.0] * len(scores), [0.0] * len(scores), 0.0
    rows = ranking(scores)
    if not rows or normalizer == 0:
        return grad, hess
    ranked = [labels[row] for row in rows]
    spread = scores[rows[0]] != scores[rows[-1]]
    last = len(rows) if truncation_level is None else min(truncation_level, len(rows))
    for a in range(1, last + 1):
        for b in range(a + 1, len(rows) + 1):
            upper, lower = ranked[a - 1] or 0, ranked[b - 1] or 0
            if upper == lower:
                continue
            change = swap_delta(metric, ranked, a, b) / normalizer
            if change == 0 or (signed and (change > 0) != (lower > upper)):
                continue
            high, low = (rows[a - 1], rows[b - 1]) if upper > lower else (rows[b - 1], rows[a - 1])
            distance = scores[high] - scores[low]
            delta = abs(change)
            if score_norm and spread:
                delta /= 0.01 + abs(distance)
            p = logistic_of_minus(sigma * distance)
            grad[high] -= sigma * delta * p
            grad[low] += sigma * delta * p
            hess[high] += sigma**2 * delta * p * (1 - p)
            hess[low] += sigma**2 * delta * p * (1 - p)
            total += 2 * sigma * delta * p
    if sum_norm and total > 0:
        factor = math.log2(1 + total) / total
        grad = [factor * value for value in grad]
        hess = [factor * value for value in hess]
    return grad, hess
