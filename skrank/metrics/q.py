"""Q-measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._engine.judgments import best_first
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Gain, Scale, check_gain, discounts, gain_per_code
from skrank._engine.threads import run_chunks
from skrank._kernels import labels
from skrank._kernels.labels import QGains


class _Pairs(PairWorth):
    """Their weights, as many as the data has rows, are numbers as they were made."""

    def __post_init__(self) -> None:
        """Nothing to check."""


@register("q", function="q_measure_score")
@dataclass(frozen=True, kw_only=True)
class QMeasure(Metric):
    r"""Q-measure: average precision whose precision is blended with cumulated gain.

    .. math:: Q = \frac1R \sum_{r: g_r > 0}
              \frac{\beta\, cg(r) + \text{count}(r)}{\beta\, cg^*(r) + r}

    cg and count are gain and relevant documents down to rank r, cg* the gain of the ideal list.

    Parameters
    ----------
    beta : float
        Weight of the gain, at least 0; 0 gives average precision.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    normalize : {"all", "ideal"}
        With a cut-off: divide by R, or by min(R, k), so that an ideal list scores 1 (as NTCIREVAL).
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    Notes
    -----
    A better document that moves up can lower Q when grades differ. LambdaRank leaves such pairs
    out.

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("q")([0, 2, 1], [0.9, 0.5, 0.1]), 4)
    0.7167
    """

    beta: float = number(1.0, 0, 1e6)
    gain: Gain = parameter("linear", check_gain)
    normalize: str = choice("all", ("all", "ideal"))

    @property
    def ideal_cutoff(self) -> int | None:
        """The whole list, or the first k ranks."""
        return None if self.normalize == "all" else self.k

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """A pair of documents counts the share of the upper one in the blend of the lower one."""
        gain = gain_per_code(self.gain, scale.labels, scale.place)
        found = (gain > 0).astype(np.float64)
        blend = found + self.beta * gain
        weights = self._weights(gain, scale, k)
        pairs = _Pairs(weights, blend, found, np.multiply)
        best = (found, discounts(np.ones_like, scale.longest, k))
        return QuadraticTables(
            blend, weights, pairs, offset=scale.judgments.indptr[:-1], ideal=best
        )

    def _weights(self, gain: np.ndarray, scale: Scale, k: int | None) -> np.ndarray:
        """Weight of each rank of each query: one over the denominator of the definition."""
        judgments = scale.judgments
        weights = np.empty(len(judgments.codes))
        tables, indptr = (
            QGains(gain, self.beta, scale.longest if k is None else k),
            judgments.indptr,
        )
        if judgments.counts is None:
            best = judgments.best_lists(gain).codes
            run_chunks(labels.q_weights_of_lists, indptr, best, tables, weights)
        else:
            counts, order = judgments.counts, best_first(gain)
            run_chunks(labels.q_weights, indptr, counts, order, tables, weights)
        return weights


q_measure_score = score_function(QMeasure, 0.9167)
