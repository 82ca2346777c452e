"""Rank-biased preference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import choice, parameter
from skrank._engine.preference import PreferenceMetric, PreferenceTables
from skrank._engine.tables import Gain, Scale, check_gain, gain_shares


@register("rpref")
@dataclass(frozen=True, kw_only=True)
class RPref(PreferenceMetric):
    r"""Rank-biased preference: bpref, extended to graded labels.

    .. math:: \frac1{\sum_i g_i} \sum_{r: g_r > 0} g_r
              \left(1 - \frac1{D_r} \sum_{s < r,\, g_s < g_r} \frac{g_r - g_s}{g_r}\right)

    g_r is the gain of the document at rank r as a share of the gain of the highest grade. Documents
    without a label are removed from the list. Each document of lower gain g' above a document of
    gain g adds a penalty of (g - g') / g. The mean over relevant documents is weighted by gain.

    Parameters
    ----------
    variant : {"relative2", "n", "relative"}
        Divisor D_r of the penalties. "relative2": the rank r. "relative": r - 1; the document at
        rank 1 adds 0. "n": the sum of 1 - g over all judged documents of the query.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. Range [0, 1].

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007. J. De Beer, M.-F. Moens, Rpref: A Generalization of
    Bpref towards Graded Relevance Judgments, SIGIR 2006.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("rpref")([1, 0, 2], [3, 2, 1]), 4)
    0.6667
    """

    variant: str = choice("relative2", ("relative2", "n", "relative"))
    gain: Gain = parameter("linear", check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    @property
    def needs_scale(self) -> bool:
        """True if no parameter gives the highest grade, and the divisor depends on it."""
        return self.max_grade is None and self.variant == "n"

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """Gain shares, and the penalty of each pair of labels: (g - g') / g if g' < g, else 0."""
        check.check_few_labels(self.names[0], scale.labels)
        share = gain_shares(self, self.gain, scale)
        missing = np.subtract.outer(share, share)
        lack = np.divide(missing, share[:, None], out=np.zeros_like(missing), where=missing > 0)
        missing_gain = scale.totals((1 - share) * scale.judged)
        without = np.full(len(missing_gain), np.inf)
        return PreferenceTables(
            share, lack * scale.judged, without, missing_gain,
            divide_by={"n": "total", "relative": "above", "relative2": "rank"}[self.variant],
            unjudged=scale.unjudged,
        )  # fmt: skip


rpref_score = score_function(RPref, 0.8889)
