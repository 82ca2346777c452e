"""Literal definitions of user models of C/W/L, and of compatibility.

A user model is the function of a rank, the gains of the ranks down to it and the number of ranks
that the user reads at most, which says with what probability the user goes on.
"""

import math

from tests.helpers.reference.binary import gain_of, judged_labels, top
from tests.helpers.reference.points import compared_at

DEPTH = 1000


def shares(labels, gain, max_grade):
    """Gains as shares of that of the highest grade; None for documents that were not judged."""
    highest = gain_of(max_grade, gain)
    return [None if label is None else gain_of(label, gain) / highest for label in labels]


def mean_gain(continues, gains, depth):
    """Sum of W(i) g(i), W(i) = C(1)...C(i-1) over the sum of these products."""
    found, read, chance, so_far = 0.0, 0.0, 1.0, 0.0
    for rank in range(1, depth + 1):
        gain = gains[rank - 1]
        found, read, so_far = found + chance * gain, read + chance, so_far + gain
        chance *= continues(rank, gain, so_far) if rank < depth else 0.0
        if chance == 0:
            break
    return found / read


def padded(gains, depth):
    """Gains of the ranks down to the depth; 0 for what is not known."""
    known = [gain or 0.0 for gain in gains[:depth]]
    return known + [0.0] * (depth - len(known))


def user(texts, model):
    """The metric of a user model, tested at `texts`; its parameters are those of the model."""

    @compared_at(texts)
    def metric(ranked, *, unretrieved=(), k=None, gain="linear", max_grade, **parameters):
        everything = judged_labels(ranked, unretrieved)
        if all(gain_of(label, gain) <= 0 for label in everything):
            return None
        depth = DEPTH if k is None else k
        gains = shares(top(ranked, k), gain, max_grade)

        def continues(rank, here, so_far):
            return model(rank, here, so_far, **parameters)

        return mean_gain(continues, padded(gains, depth), depth)

    return metric


def sdcg_model(rank, here, so_far):
    """Jarvelin, Kekalainen 2002, as weights."""
    return math.log2(rank + 1) / math.log2(rank + 2)


def insq_model(rank, here, so_far, T=1.0):
    """Moffat, Scholer, Thomas 2012."""
    return ((rank + 2 * T - 1) / (rank + 2 * T)) ** 2


def inst_model(rank, here, so_far, T=1.0):
    """Moffat, Bailey, Scholer, Thomas 2015."""
    missing = T - so_far
    return ((rank + T + missing - 1) / (rank + T + missing)) ** 2


def bpm_model(rank, here, so_far, T=1.0):
    """Zhang et al. 2017, the static model; sums of gains are not exact in floating point."""
    return 1.0 if so_far < T - 1e-9 else 0.0


def nearly_err_model(rank, here, so_far, patience="rbp", p=0.9, T=1.0):
    """Azzopardi, Mackenzie, Moffat 2021, equations 8 to 11."""
    goes_on = {"all": 1.0, "rank": rank / (rank + 1), "rbp": p}
    goes_on["insq"] = insq_model(rank, here, so_far, T)
    return goes_on[patience] * (1 - here)


sdcg = user("sdcg sdcg@3 sdcg(gain=exp2,max_grade=4)@5 sdcg(condensed=True)@2", sdcg_model)
insq = user("insq insq(T=2.5)@3 insq(gain={0:0,1:0.5,2:0.5,3:4})", insq_model)
inst = user("inst inst(T=0.5)@4 inst(T=3,gain=exp2,max_grade=4)", inst_model)
bpm = user("bpm bpm@3 bpm(T=2.5)@20", bpm_model)
nearly_err = user(
    "nearly_err nearly_err(patience=all,max_grade=4)@5 nearly_err(patience=rank)@3 "
    "nearly_err(p=0.5) nearly_err(patience=insq,T=2)",
    nearly_err_model,
)


def overlap(one, other, p, depth):
    """Rank-biased overlap of two rankings of documents, down to a depth."""
    shared = sum(p ** (d - 1) * len(set(one[:d]) & set(other[:d])) / d for d in range(1, depth + 1))
    return shared / sum(p ** (d - 1) for d in range(1, depth + 1))


@compared_at("compat compat(p=0.5) compat(normalize=False) compat(p=0,condensed=True)")
def compat(ranked, *, unretrieved=(), p=0.95, normalize=True):
    """Clarke, Vtyurina, Smucker 2021: the overlap with the most similar ideal ranking."""
    labels = dict(enumerate([*ranked, *unretrieved]))
    ideal = [document for document, label in labels.items() if label is not None and label > 0]
    if not ideal:
        return None
    ideal.sort(key=lambda document: -labels[document])
    shown = list(range(len(ranked)))
    depth = max(len(shown), len(ideal))
    best = overlap(ideal, ideal, p, depth) if normalize else 1.0
    return overlap(shown, ideal, p, depth) / best
