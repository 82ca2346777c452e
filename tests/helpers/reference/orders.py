"""Literal orders by label, and normalisers by the ideal list."""

import math

from tests.helpers.engine import missing, tie_values
from tests.helpers.engine import without_nan as from_array

__all__ = ["from_array", "ideal_value", "label_ordered", "objective", "tie_bound"]


def label_ordered(metric, scores, labels, which="worst"):
    """Value with tied documents in order of label: lowest first ("worst"), highest first ("best").

    Equal to ``tie_bound`` for every metric that no swap of a better document upwards makes worse.
    """
    sign = 1 if which == "worst" else -1
    retrieved = [row for row in range(len(scores)) if scores[row] != -math.inf]
    rows = sorted(retrieved, key=lambda row: (-scores[row], sign * (labels[row] or 0)))
    return metric([labels[row] for row in rows], unretrieved=missing(scores, labels))


def tie_bound(metric, scores, labels, which="worst", greater_is_better=True):
    """Worst or best value over all permutations of tied documents."""
    values = tie_values(metric, scores, labels)
    if values[0] is None:
        return None
    return max(values) if (which == "best") == greater_is_better else min(values)


def ideal_value(numerator, labels, /, k=None, **parameters):
    """The unnormalised metric of the best list of these documents, cut at k."""
    best_first = sorted((label or 0 for label in labels), reverse=True)
    return numerator(best_first, k=k, **parameters)


def objective(numerator, labels, /, *, k=None, truncation_level=None, **parameters):
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
