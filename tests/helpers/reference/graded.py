"""Literal definitions of metrics of gains, of users who stop, and of preferences."""

import math

from tests.helpers.reference.binary import (
    condense,
    count_relevant,
    cutoff_normalizer,
    discount_at,
    gain_of,
    is_relevant,
    judged_labels,
    look_up,
    top,
)
from tests.helpers.reference.points import compared_at

# ---------------------------------------------------------------------- gains


def dcg_sum(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """Sum over ranks of gain times discount, without asking whether anything is relevant."""
    total = 0.0
    for rank, label in enumerate(top(ranked, k), start=1):
        total += gain_of(label, gain) * discount_at(rank, discount, base)
    return total


@compared_at("dcg dcg(gain=linear)@2 dcg(discount=letor)")
def dcg(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """Discounted cumulative gain (Jarvelin, Kekalainen 2002; ROMIP 2010, 5.1 with ranks from 1)."""
    if all(gain_of(label, gain) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    return dcg_sum(ranked, k=k, gain=gain, discount=discount, base=base)


@compared_at(
    "ndcg ndcg@1 ndcg@3 ndcg@100 ndcg(gain=linear)@3 ndcg(gain=[0,1,3,10]) "
    "ndcg(gain={0:0,1:0.5,2:0.5,3:4})@2 ndcg(condensed=True)@2 ndcg(discount=jk,base=2) "
    "ndcg(discount=jk,base=3)@3 ndcg(discount=letor) ndcg(discount=letor)@4 ndcg(discount=romip) "
    "ndcg(discount=[1,0.5,0.5,0.1])",
    numerator=dcg_sum,
)
def ndcg(ranked, *, unretrieved=(), k=None, gain="exp2", discount="log2", base=2):
    """DCG over the DCG of the best order of all judged documents, cut at the same k."""
    how = {"k": k, "gain": gain, "discount": discount, "base": base}
    everything = judged_labels(ranked, unretrieved)
    best_first = sorted(everything, key=lambda label: gain_of(label, gain), reverse=True)
    ideal = dcg_sum(best_first, **how)
    if not everything or gain_of(best_first[0], gain) <= 0:
        return None
    return dcg_sum(ranked, **how) / ideal


@compared_at("cg cg(gain=linear)@2")
def cg(ranked, *, unretrieved=(), k=None, gain="exp2"):
    """Cumulative gain (Jarvelin, Kekalainen 2002): the sum of the gains of the top k."""
    if all(gain_of(label, gain) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    return float(sum(gain_of(label, gain) for label in top(ranked, k)))


@compared_at(
    "rbp rbp(p=0.5)@3 rbp(p=0.95,gain=exp2,max_grade=4) rbp(p=0) rbp(rel=2) rbp(p=0.5,rel=1)@3"
)
def rbp(ranked, *, unretrieved=(), k=None, p=0.8, gain="linear", max_grade, rel=None):
    """Rank-biased precision (Moffat, Zobel 2008): (1 - p) sum of p^(r-1) gain / gain(max_grade).

    With `rel`, the gain of a relevant document is 1, and that of others 0.
    """

    def share(label):
        if rel is not None:
            return float(is_relevant(label, rel))
        return gain_of(label, gain) / gain_of(max_grade, gain)

    if all(share(label) <= 0 for label in judged_labels(ranked, unretrieved)):
        return None
    return (1 - p) * sum(p**r * share(label) for r, label in enumerate(top(ranked, k)))


@compared_at("rbp_residual rbp_residual(p=0.5)@2")
def rbp_residual(ranked, *, unretrieved=(), k=None, p=0.8):
    """Moffat, Zobel 2008: the weight of the unjudged ranks and of all ranks that are not shown."""
    shown = top(ranked, k)
    unjudged = sum((1 - p) * p**r for r, label in enumerate(shown) if label is None)
    return unjudged + p ** len(shown)


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


@compared_at("q q(beta=0) q(beta=10)@3 q(gain=exp2,normalize=ideal)@2", numerator=q_numerator)
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


def stop_probability(label, max_grade, gain="exp2"):
    """R_i = (2^grade - 1) / 2^max_grade (Chapelle et al. 2009; ROMIP 2010, 5.2).

    For other gains, gain / (gain of max_grade + 1), as NTCIREVAL.
    """
    if label is None:
        return 0.0
    if gain == "exp2":
        return (2.0**label - 1.0) / 2.0**max_grade
    return gain_of(label, gain) / (gain_of(max_grade, gain) + 1.0)


def err_sum(ranked, *, unretrieved=(), k=None, max_grade, gain="exp2"):
    """Sum over r of 1/r times R_r times the product over i < r of (1 - R_i)."""
    stop = [stop_probability(label, max_grade, gain) for label in top(ranked, k)]
    total = 0.0
    for r in range(1, len(stop) + 1):
        total += stop[r - 1] * math.prod(1 - stop[i - 1] for i in range(1, r)) / r
    return total


@compared_at("err err@2 err(max_grade=4)@3 err(condensed=True) err(gain=linear)@4")
def err(ranked, *, unretrieved=(), k=None, max_grade, gain="exp2"):
    """Expected reciprocal rank (Chapelle et al. 2009), ROMIP's graded mean reciprocal rank."""
    if all(stop_probability(x, max_grade, gain) == 0 for x in judged_labels(ranked, unretrieved)):
        return None
    return err_sum(ranked, k=k, max_grade=max_grade, gain=gain)


@compared_at("nerr nerr(gain=linear)@4 nerr@2 nerr(max_grade=4)@3", numerator=err_sum)
def nerr(ranked, *, unretrieved=(), k=None, max_grade, gain="exp2"):
    """ERR over the ERR of the best order of all judged documents, cut at the same k."""
    value = err(ranked, unretrieved=unretrieved, k=k, max_grade=max_grade, gain=gain)
    if value is None:
        return None
    best_first = sorted(judged_labels(ranked, unretrieved), reverse=True)
    return value / err_sum(best_first, k=k, max_grade=max_grade, gain=gain)


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


@compared_at(
    "pfound pfound@3 pfound(p_rel=yandex,p_break=0.3) "
    "pfound(p_rel={0:0,1:0.2,2:0.4,3:1},p_break=0.5)"
)
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


@compared_at(
    "bpref bpref(variant=romip) bpref(variant='10') bpref(variant=n) "
    "bpref(variant=relative,rel=2) bpref(variant=old)"
)
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


@compared_at("rpref rpref(variant=n) rpref(variant=relative,gain=exp2)")
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
