"""Residual of scaled discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register
from skrank._engine.score_functions import score_function
from skrank._engine.user_models import WeightResidual
from skrank.metrics.sdcg import log_discount


@register("sdcg_residual")
@dataclass(frozen=True, kw_only=True)
class SDCGResidual(WeightResidual):
    """Residual of SDCG: its highest increase if unjudged documents were relevant.

    Ranks below the end of a list that is shorter than k count as not judged.

    Parameters
    ----------
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Defined for every query. Range [0, 1]; lower is better.

    References
    ----------
    See `SDCG`.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("sdcg_residual@2")([1, float("nan")], [0.9, 0.5]), 4)
    0.3869
    """

    untrainable: ClassVar[str | None] = "it does not depend on relevance: train on sdcg."

    def weigh(self, rank: np.ndarray) -> np.ndarray:
        """The weights of `SDCG`."""
        return log_discount(rank)


sdcg_residual_score = score_function(SDCGResidual, 0.9827)
