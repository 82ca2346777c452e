"""Preferences for relevant documents above others: bpref, and rpref for graded labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, parameter
from skrank._engine.preference import PreferenceTables
from skrank._engine.tables import Gain, Scale


@dataclass(frozen=True, kw_only=True)
class PreferenceMetric(Metric):
    """Base class of bpref and rpref: without a cut-off, and not for training."""

    cut_instead = "a metric with a cut-off"
    reads_judgments = True  # penalties depend on numbers of documents of the query
    ideal_cutoff = None  # divided by the sum of `share` over all documents of the query


_VARIANTS = ("trec", "romip", "10", "n", "relative", "old")


@register("bpref")
@dataclass(frozen=True, kw_only=True)
class BPref(PreferenceMetric):
    r"""Binary preference: how few judged non-relevant documents stand above relevant ones.

    bpref is for incomplete judgments: documents without a label are removed from the list.

    .. math:: bpref = \frac1R \sum_{r: y_r \ge rel} (1 - \text{penalty}(r))

    The query has R relevant and N non-relevant judged documents. A relevant document at rank r of
    the remaining list has n non-relevant documents above it. Relevant documents that were not
    retrieved add 0. The penalty depends on the variant:

    ==========  =====================================
    trec        min(n, R) / min(R, N)
    romip       min(n, R) / R
    10          min(n, 10 + R) / (10 + R)
    n           n / N
    relative    n / (r - 1); rank 1 adds 0
    old         min(n, R) / min(R, N retrieved)
    ==========  =====================================

    "N retrieved" is the number of judged non-relevant documents that were retrieved.

    Parameters
    ----------
    variant : {"trec", "romip", "10", "n", "relative", "old"}
        The penalty, as in the table.
    rel : float
        Documents with a label of at least `rel` are relevant.
    empty, ties, average
        See `Metric`; there is no cut-off, and `condensed` has no effect. Range [0, 1].

    References
    ----------
    C. Buckley, E. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004 (10).
    trec_eval 7.3 (old), 8 (trec). ROMIP 2010, appendix A (romip, 10). T. Sakai, Alternatives to
    Bpref, SIGIR 2007 (n, relative; relative2 is `AP` with ``condensed=True``).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpref")([1, 0, float("nan"), 1], [4, 3, 2, 1])
    0.5
    """

    variant: str = parameter(  # in the text "bpref(variant=10)", 10 is a number
        "trec", lambda variant: check.check_choice("variant", str(variant), _VARIANTS)
    )
    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """Weights of relevant documents, and the cap and the divisor of n by variant."""
        share = (scale.labels >= self.rel).astype(np.float64)
        check.check_few_labels(self.first_name, scale.labels)
        other = (1.0 - share) * scale.judged
        relevant, rest = scale.totals(share), scale.totals(other)
        no_cap = np.full(len(relevant), np.inf)
        cap, divisor = {  # `divide_by` replaces the divisor of "relative" and "old"
            "trec": (relevant, np.minimum(relevant, rest)),
            "romip": (relevant, relevant),
            "10": (10 + relevant, 10 + relevant),
            "n": (no_cap, rest),
            "relative": (no_cap, rest),
            "old": (relevant, rest),
        }[self.variant]
        return PreferenceTables(
            share, np.outer(share, other), cap, divisor,
            divide_by={"relative": "above", "old": "found"}.get(self.variant, "total"),
            unjudged=scale.unjudged,
        )  # fmt: skip


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
    empty, ties, average
        See `Metric`; there is no cut-off, and `condensed` has no effect. Range [0, 1].

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
    gain: Gain = parameter("linear", check.check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    @property
    def needs_scale(self) -> bool:
        """True if no parameter gives the highest grade, and the divisor depends on it."""
        return self.max_grade is None and self.variant == "n"

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """Gain shares, and the penalty of each pair of labels: (g - g') / g if g' < g, else 0."""
        check.check_few_labels(self.first_name, scale.labels)
        share = scale.shares(self.gain)
        missing = np.subtract.outer(share, share)
        lack = np.divide(missing, share[:, None], out=np.zeros_like(missing), where=missing > 0)
        missing_gain = scale.totals((1 - share) * scale.judged)
        no_cap = np.full(len(missing_gain), np.inf)
        return PreferenceTables(
            share, lack, no_cap, missing_gain,
            divide_by={"n": "total", "relative": "above", "relative2": "rank"}[self.variant],
            unjudged=scale.unjudged,
        )  # fmt: skip
