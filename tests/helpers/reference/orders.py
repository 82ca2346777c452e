"""Literal orders by label, and normalisers by the ideal list."""

from tests.helpers.engine import tie_values
from tests.helpers.engine import without_nan as from_array

__all__ = ["from_array", "objective", "tie_bound"]


def tie_bound(metric, scores, labels, which="worst", greater_is_better=True):
    """Worst or best value over all permutations of tied documents."""
    values = tie_values(metric, scores, labels)
    if values[0] is None:
        return None
    return max(values) if (which == "best") == greater_is_better else min(values)


def objective(numerator, labels, /, *, k=None, truncation_level=None, **parameters):
    """The two things ``lambdas`` asks for, of a normalised metric given by its numerator.

    The metric is the numerator cut at k (its ranks are not cut by the truncation level); the
    normaliser is the ideal value of the list cut at min(truncation level, k), as LightGBM does.
    Numerators: dcg_sum (nDCG), gap_numerator, ap_numerator, q_numerator, err_sum (nERR).
    """
    cuts = [cut for cut in (k, truncation_level) if cut is not None]
    best_first = sorted((label or 0 for label in labels), reverse=True)
    normalizer = numerator(best_first, k=min(cuts, default=None), **parameters)

    def metric(ranked):
        return numerator(ranked, k=k, **parameters)

    return metric, normalizer
