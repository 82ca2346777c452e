"""The Bejeweled player model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register
from skrank._engine.parameters import number
from skrank._engine.score_functions import score_function
from skrank._engine.tables import Scale
from skrank._engine.user_models import ReaderTables, UserModel, gain_shares


@register("bpm")
@dataclass(frozen=True, kw_only=True)
class BPM(UserModel):
    r"""Bejeweled player model: gain per document of a user who stops with gain T, or at rank k.

    .. math:: BPM = \frac1n \sum_{r \le n} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    n is the first rank where the gains add up to T, at most k. This is the static model.

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
        as in cwl_eval. The mean over the orders of ties has no closed form: ``ties="average"`` is
        an error where the user stops inside a block of tied documents of different gains.
        Range [0, 1].

    See Also
    --------
    BPMResidual : how much documents without a label could add.

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

    strict: ClassVar[bool] = True
    untrainable: ClassVar[str | None] = (
        "how far its user reads depends on the order: train on precision@k."
    )

    T: float = number(1.0, 0, 1e6, open_low=True)

    def tables(self, scale: Scale, k: int | None) -> ReaderTables:
        """Read by a kernel of its own."""
        return ReaderTables(
            "bpm", "bpm", gain_shares(self, self.gain, scale), self.limit, self.T,
            np.zeros(self.limit + 1), ids=scale.judgments.queries.ids,
        )  # fmt: skip


bpm_score = score_function(BPM, 1.0)
