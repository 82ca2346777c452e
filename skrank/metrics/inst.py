"""INST: mean gain per document of a user who wants a certain gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.parameters import number
from skrank._engine.user_models import ReaderModel, ReaderResidual, ReaderTables


@register("inst")
@dataclass(frozen=True, kw_only=True)
class INST(ReaderModel):
    r"""INST: mean gain of the documents read by a user who stops earlier the more gain was found.

    .. math:: C(i) = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2, \quad
              T_i = T - \sum_{r \le i} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    The user reads rank 1, and goes on from rank i to the next rank with probability C(i). T_i is
    the gain that the user still wants after rank i. The user thus reads rank r with probability
    C(1) ... C(r - 1). These probabilities, divided by their sum, are the weights of the gains.

    Parameters
    ----------
    T : float
        Total gain that the user wants, in units of the gain of the highest grade; at least 0.5.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        ``ties="average"`` is an error if ties change the value: there is no closed form.
        Range [0, 1].

    See Also
    --------
    INSQ : the same without T_i: the gain found does not matter. LambdaRank can train on INSQ.
    INSTResidual : how much documents without a label could add to this value.

    References
    ----------
    A. Moffat, P. Bailey, F. Scholer, P. Thomas, INST: An Adaptive Metric for Information Retrieval
    Evaluation, ADCS 2015.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("inst", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6639
    """

    untrainable: ClassVar[str | None] = (
        "the number of ranks that its user reads depends on the order: train on insq."
    )

    T: float = number(1.0, 0.5, 1e6)

    def reader(self, gain: np.ndarray, ids: np.ndarray) -> ReaderTables:
        """Input of the compiled loop of this metric."""
        return ReaderTables("inst", gain, self.limit, self.T, np.zeros(self.limit + 1), ids)


@register("inst_residual")
@dataclass(frozen=True, kw_only=True)
class INSTResidual(ReaderResidual, INST):
    """Residual of INST: its change if unjudged documents were relevant.

    The value of the metric if all documents without a label, and all ranks below the end of the
    list, have the highest grade, minus its value if they have gain 0.

    Parameters
    ----------
    T, gain, max_grade
        See `INST`.
    k, condensed, empty, ties, average
        See `Metric`; for the default of k and for ties, which have no closed form, see `INST`.
        Defined for every query. Range [0, 1]; lower is better.

    References
    ----------
    See `INST`.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("inst_residual")([1, float("nan")], [0.9, 0.5]), 4)
    0.3917
    """


inst_score = score_function(INST, 0.6639)
inst_residual_score = score_function(INSTResidual, 0.1292)
