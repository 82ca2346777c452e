"""Bejeweled player model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.parameters import number
from skrank._engine.user_models import ReaderModel, ReaderResidual, ReaderTables


@register("bpm")
@dataclass(frozen=True, kw_only=True)
class BPM(ReaderModel):
    r"""Bejeweled player model: mean gain per document of a user who stops at gain T or rank k.

    .. math:: BPM = \frac1n \sum_{r \le n} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    n is the smaller of k and the first rank at which the sum of the gains reaches T. This is the
    static model of the paper: T and k do not change while the user reads.

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
        ``ties="average"`` is an error if the user stops among tied documents of different gains:
        there is no closed form. Range [0, 1].

    See Also
    --------
    BPMResidual : how much documents without a label could add to this value.

    References
    ----------
    F. Zhang, Y. Liu, X. Li, M. Zhang, Y. Xu, S. Ma, Evaluating Web Search with a Bejeweled Player
    Model, SIGIR 2017.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpm@10", max_grade=2)([1, 0, 1], [0.9, 0.5, 0.1])
    0.3333333333333333
    """

    untrainable: ClassVar[str | None] = (
        "the number of ranks that its user reads depends on the order: train on precision@k."
    )

    T: float = number(1.0, 0, 1e6, open_low=True)

    def reader(self, gain: np.ndarray, ids: np.ndarray) -> ReaderTables:
        """Input of the compiled loop of this metric."""
        return ReaderTables("bpm", gain, self.limit, self.T, np.zeros(self.limit + 1), ids)


@register("bpm_residual")
@dataclass(frozen=True, kw_only=True)
class BPMResidual(ReaderResidual, BPM):
    """Residual of the Bejeweled player model: its change if unjudged documents were relevant.

    The value of the metric if all documents without a label, and all ranks below the end of the
    list, have the highest grade, minus its value if they have gain 0. The residual is negative if
    the user with gain 0 from these documents reads on to documents of higher gain.

    Parameters
    ----------
    T, gain, max_grade
        See `BPM`.
    k, condensed, empty, ties, average
        See `Metric`; for the default of k and for ties, which have no closed form, see `BPM`.
        Defined for every query. Range [-1, 1]; lower is better.

    References
    ----------
    See `BPM`.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpm_residual@10")([1, float("nan")], [0.5, 0.9])
    0.5
    """

    value_range = "[-1, 1]"


bpm_score = score_function(BPM, 1.0)
bpm_residual_score = score_function(BPMResidual, 0.0)
