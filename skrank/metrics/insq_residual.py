"""Residual of INSQ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register
from skrank._engine.parameters import number
from skrank._engine.score_functions import score_function
from skrank._engine.user_models import WeightResidual, insq_weights


@register("insq_residual")
@dataclass(frozen=True, kw_only=True)
class INSQResidual(WeightResidual):
    """Residual of INSQ: its highest increase if unjudged documents were relevant.

    Ranks below the end of the list count as not judged.

    Parameters
    ----------
    T : float
        See `INSQ`.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Defined for every query. Range [0, 1]; lower is better.

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


insq_residual_score = score_function(INSQResidual, 0.3422)
