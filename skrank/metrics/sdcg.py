"""Scaled discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.names import register, score_function
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Scale, gain_shares
from skrank._engine.user_models import UserModel, WeightResidual


@register("sdcg")
@dataclass(frozen=True, kw_only=True)
class SDCG(UserModel):
    r"""Scaled discounted cumulated gain: DCG divided by that of k documents of the highest grade.

    .. math:: SDCG@k = \frac{\sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)}
              {\text{gain}(\text{max grade}) \sum_{r \le k} 1 / \log_2(1 + r)}

    Parameters
    ----------
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Range [0, 1]; an ideal list with fewer than k documents of the highest grade scores less
        than 1.

    See Also
    --------
    SDCGResidual : how much documents without a label could add to this value.

    References
    ----------
    A. Moffat, F. Scholer, P. Thomas, Models and Metrics: IR Evaluation as a User Process, ADCS
    2012; cwl_eval, which calls it NDCG.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("sdcg@3", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.5866
    """

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Share of the highest gain by label, and share of the sum of all discounts by rank."""
        weights = self.weights(log_discount, scale)
        return QuadraticTables(gain_shares(self, self.gain, scale), weights)


def log_discount(rank: np.ndarray) -> np.ndarray:
    """Discount of DCG."""
    return 1 / np.log2(1 + rank)


@register("sdcg_residual")
@dataclass(frozen=True, kw_only=True)
class SDCGResidual(WeightResidual):
    """Residual of SDCG: its highest increase if unjudged documents were relevant.

    Ranks below the end of a list that is shorter than k count as not judged.

    Parameters
    ----------
    k, condensed, empty, ties, average
        See `Metric`; for the default of k, see `SDCG`. Defined for every query.
        Range [0, 1]; lower is better.

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


sdcg_score = score_function(SDCG, 0.0102)
sdcg_residual_score = score_function(SDCGResidual, 0.9827)
