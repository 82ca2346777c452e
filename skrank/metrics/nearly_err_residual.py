"""Residual of nearly ERR."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank._engine.user_models import ReaderResidual
from skrank.metrics.nearly_err import NearlyERR


@register("nearly_err_residual")
@dataclass(frozen=True, kw_only=True)
class NearlyERRResidual(ReaderResidual, NearlyERR):
    """Residual of nearly ERR: its change if unjudged documents were relevant.

    The value of the metric if all documents without a label, and all ranks below the end of the
    list, have the highest grade, minus its value if they have gain 0.

    Parameters
    ----------
    patience, p, T, gain, max_grade
        See `NearlyERR`.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        Defined for every query. ``ties="average"`` is an error if ties change the value: there is
        no closed form. Range [0, 1]; lower is better.

    References
    ----------
    See `NearlyERR`.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("nearly_err_residual")([1, float("nan")], [0.5, 0.9]), 4)
    0.5263
    """


nearly_err_residual_score = score_function(NearlyERRResidual, 0.0)
