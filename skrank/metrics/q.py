"""Q-measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import DividedByIdeal, Metric
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.quadratic import PairWorth, QuadraticTables
from skrank._engine.tables import Gain, Scale, discounts
from skrank._engine.threads import run_chunks
from skrank._kernels import labels


@register("q")
@dataclass(frozen=True, kw_only=True)
class QMeasure(DividedByIdeal, Metric):
    r"""Q-measure: average precision, with a blend of precision and cumulated gain at each rank.

    .. math:: Q = \frac1R \sum_{r: g_r > 0}
              \frac{\beta\, cg(r) + \text{count}(r)}{\beta\, cg^*(r) + r}

    g_r is the gain of the document at rank r, and R the number of documents of the query with a
    gain above 0. cg(r) is the sum of the gains down to rank r, cg*(r) the same sum for the ideal
    list, and count(r) the number of documents with a gain above 0 down to rank r.

    Parameters
    ----------
    beta : float
        Weight of the gain, at least 0. With 0, the metric is average precision.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    normalize : {"all", "ideal"}
        Divisor of a list that is cut at rank k: R, or min(R, k), so that an ideal list has the
        value 1, as in NTCIREVAL.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    Notes
    -----
    With three or more grades, Q can fall when a document moves above one of lower grade.
    `skrank.LambdaRank` leaves out such pairs of documents.

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
    gain: Gain = parameter("linear", check.check_gain)
    normalize: str = choice("all", ("all", "ideal"))

    reads_judgments = True

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """The definition as a sum over documents and pairs of documents.

        With ``blend = 1 + beta gain`` for a gain above 0, and w_r one over the denominator at rank
        r: a document at rank r adds blend w_r, and two documents add (blend of the upper one) w_r,
        with r the rank of the lower one.
        """
        gain = scale.gains(self.gain)
        relevant = (gain > 0).astype(np.float64)
        blend = relevant + self.beta * gain
        weights = self._weights(gain, scale, k)
        pairs = PairWorth(weights, blend, relevant, np.multiply)
        best = (relevant, discounts(np.ones_like, scale.longest, k))
        return QuadraticTables(
            blend, weights, pairs, offset=scale.judgments.indptr[:-1], ideal=best
        )

    def _weights(self, gain: np.ndarray, scale: Scale, k: int | None) -> np.ndarray:
        """``1 / (beta cg*(r) + r)`` of each rank of each query, in one array for all queries."""
        indptr, depth = scale.judgments.indptr, scale.longest if k is None else k
        run_ptr, lengths, codes = scale.judgments.best_runs(gain)
        steps, weights = 1.0 + self.beta * gain[codes], np.empty(indptr[-1])
        run_chunks(labels.q_weights, indptr, run_ptr, lengths, steps, depth, weights)
        return weights
