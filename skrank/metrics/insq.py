"""INSQ: the gain per document of a user who is the less likely to go on the less was read."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register
from skrank._engine.parameters import number
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import UserModel, gain_shares, insq_weights


@register("insq")
@dataclass(frozen=True, kw_only=True)
class INSQ(UserModel):
    r"""INSQ: gain per document of a user who goes on from rank i with ((i + 2T - 1) / (i + 2T))^2.

    .. math:: INSQ = \frac{\sum_{r \le k} w_r\, \text{gain}(y_r) / \text{gain}(\text{max grade})}
              {\sum_{r \le k} w_r}, \quad w_r = \frac{1}{(r + 2T - 1)^2}

    Parameters
    ----------
    T : float
        Gain that the user wants in all, in documents of the highest grade, above 0.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection, whose gain is the unit. Default: that of all labels of the
        `skrank.with_groups` that the data come from, else the highest label of the data.
    k, condensed, empty, ties, average
        See `Metric`. k is the number of ranks that the user reads at most, 1000 without a cut-off
        as in cwl_eval. Range [0, 1]; an ideal list scores less than 1 if it has fewer than k
        documents of the highest grade.

    See Also
    --------
    INST : a user who also minds the gain seen so far.
    INSQResidual : how much documents without a label could add.

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
        """Share of the highest gain per label, quadratically falling weights per rank."""
        weights = self.weights(insq_weights(self.T), scale)
        return QuadraticTables(gain_shares(self, self.gain, scale), weights)


insq_score = score_function(INSQ, 0.4368)
