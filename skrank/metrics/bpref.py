"""Binary preference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.preference import PreferenceMetric, PreferenceTables
from skrank._engine.tables import Scale

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
    relative    n / (r - 1), 1 at r = 1
    old         min(n, R) / min(R, N retrieved)
    ==========  =====================================

    "N retrieved" is the number of judged non-relevant documents that were retrieved.

    Parameters
    ----------
    variant : {"trec", "romip", "10", "n", "relative", "old"}
        The penalty, as in the table.
    rel : float
        Documents with a label of at least `rel` are relevant.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. Range [0, 1].

    References
    ----------
    C. Buckley, E. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004 (10, old).
    trec_eval 8 and later (trec). ROMIP 2010, appendix A (romip, 10). T. Sakai, Alternatives to
    Bpref, SIGIR 2007 (n, relative; relative2 is `AP` with ``condensed=True``).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpref")([1, 0, float("nan"), 1], [4, 3, 2, 1])
    0.5
    """

    variant: str = parameter(
        "trec", lambda given: check.check_choice("variant", str(given), _VARIANTS)
    )
    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """Weights of relevant documents, and the cap and the divisor of n by variant."""
        share = (scale.labels >= self.rel).astype(np.float64)
        check.check_few_labels(self.names[0], scale.labels)
        other = (1.0 - share) * scale.judged
        relevant, rest = scale.totals(share), scale.totals(other)
        without = np.full(len(relevant), np.inf)
        cap, divisor = {
            "trec": (relevant, np.minimum(relevant, rest)),
            "romip": (relevant, relevant),
            "10": (10 + relevant, 10 + relevant),
            "n": (without, rest),
            "relative": (without, without),
            "old": (relevant, relevant),
        }[self.variant]
        return PreferenceTables(
            share, np.outer(share, other), cap, divisor,
            divide_by={"relative": "above", "old": "found"}.get(self.variant, "total"),
            unjudged=scale.unjudged,
        )  # fmt: skip


bpref_score = score_function(BPref, 0.5)
