"""Normalised expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank.metrics.err import ERR


@register("nerr")
@dataclass(frozen=True, kw_only=True)
class NERR(ERR):
    r"""Normalised expected reciprocal rank: ERR@k divided by the highest possible ERR@k.

    .. math:: nERR@k = \frac{ERR@k}{\max ERR@k}

    The maximum is over all orders of the documents of the query, retrieved or not.

    Parameters
    ----------
    gain, max_grade
        See `ERR`.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; an ideal list scores 1.

    References
    ----------
    See `ERR`. NTCIREVAL, nERR.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("nerr", max_grade=4)([4, 0, 1], [0.9, 0.1, 0.5])
    1.0
    """

    value_range = "[0, 1]"

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is cut at rank k, as the ranked list is."""
        return self.k


nerr_score = score_function(NERR, 0.9867)
