"""INSQ: mean gain per document of a user who reads ranks with quadratically falling probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.parameters import number
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Scale, gain_shares
from skrank._engine.user_models import UserModel, WeightResidual, insq_weights


@register("insq")
@dataclass(frozen=True, kw_only=True)
class INSQ(UserModel):
    r"""INSQ: mean gain of the documents read by a user more likely to go on the more was read.

    .. math:: INSQ = \frac{\sum_{r \le k} w_r\, \text{gain}(y_r) / \text{gain}(\text{max grade})}
              {\sum_{r \le k} w_r}, \quad w_r = \frac{1}{(r + 2T - 1)^2}

    The user goes on from rank i to the next rank with probability ((i + 2T - 1) / (i + 2T))^2, and
    thus reads rank r with a probability in proportion to w_r.

    Parameters
    ----------
    T : float
        Total gain that the user wants, in units of the gain of the highest grade; above 0.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Range [0, 1]; below 1 for an ideal list with fewer than k documents of the highest grade.

    See Also
    --------
    INST : the probability of going on also depends on the gain found so far.
    INSQResidual : how much documents without a label could add to this value.

    References
    ----------
    A. Moffat, F. Scholer, P. Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS
    2012.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("insq", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.4368
    """

    T: float = number(1.0, 0, 1e6, open_low=True)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain by label, and w_r by rank."""
        weights = self.weights(insq_weights(self.T), scale)
        return QuadraticTables(gain_shares(self, self.gain, scale), weights)


@register("insq_residual")
@dataclass(frozen=True, kw_only=True)
class INSQResidual(WeightResidual):
    """Residual of INSQ: its highest increase if unjudged documents were relevant.

    Parameters
    ----------
    T : float
        See `INSQ`.
    k, condensed, empty, ties, average
        See `Metric`; for the default of k, see `INSQ`. Ranks below the end of the list count as
        not judged. Defined for every query. Range [0, 1]; lower is better.

    References
    ----------
    See `INSQ`.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("insq_residual")([1, float("nan")], [0.9, 0.5]), 4)
    0.6118
    """

    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on insq."

    T: float = number(1.0, 0, 1e6, open_low=True)

    def weigh(self, rank: np.ndarray) -> np.ndarray:
        """The weights of `INSQ`."""
        return insq_weights(self.T)(rank)


insq_score = score_function(INSQ, 0.4368)
insq_residual_score = score_function(INSQResidual, 0.3422)
