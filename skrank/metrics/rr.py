"""The first relevant document: its reciprocal rank, and whether it is shown at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.cascade import CascadeTables
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import parameter
from skrank._engine.tables import Scale, at_rank, discounts

RULERS: dict[str, tuple[float, ...]] = {
    "trec": (1.0, 0.5, 0.33, 0.2, 0.1),
    "romip": (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1),
}


def _check_ruler(ruler: str | Sequence[float]) -> str | tuple[float, ...]:
    if isinstance(ruler, str):
        return check.check_choice("ruler", ruler, tuple(RULERS))
    values = check.check_numbers("ruler", ruler)
    check.check_descending("ruler", values)
    check.check_number("the first value of ruler", values[0], 0, 1)
    return values


@register("rr", "mrr")
@dataclass(frozen=True, kw_only=True)
class RR(Metric):
    r"""Reciprocal rank: one over the rank of the first relevant document; 0 if there is none.

    .. math:: RR@k = 1 / \min \{r \le k : y_r \ge rel\}

    The mean over queries is MRR.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    ruler : {"trec", "romip"} or sequence of float, optional
        Values of the ranks 1, 2, ... that replace 1 / rank, in [0, 1]; they must not increase, and
        further ranks have the value 0. "trec" (1, .5, .33, .2, .1) and "romip" (1, .9, ..., .1) are
        from ROMIP 2010.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    E. Voorhees, The TREC-8 Question Answering Track Report, 1999. ROMIP 2010, appendix A.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("rr")([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    """

    rel: float = parameter(1.0, check.check_rel)
    ruler: str | Sequence[float] | None = parameter(None, _check_ruler)

    def value_at(self, rank: np.ndarray) -> np.ndarray:
        """1 / rank, or the value of `ruler`."""
        if self.ruler is None:
            return 1 / rank
        ruler = RULERS[self.ruler] if isinstance(self.ruler, str) else self.ruler
        return at_rank(rank, ruler)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """The first relevant document ends the search; its rank gives the value."""
        return CascadeTables(scale.labels >= self.rel, discounts(self.value_at, scale.longest, k))


@register("success", "hit")
@dataclass(frozen=True, kw_only=True)
class Success(Metric):
    r"""Success: 1 if a relevant document is among the first k documents, else 0.

    .. math:: \max_{r \le k} [y_r \ge rel]

    The mean over queries is the hit rate.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Without a cut-off, all retrieved documents count. Range [0, 1].

    References
    ----------
    trec_eval, success_k.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("success@2")([0, 1, 1], [0.9, 0.5, 0.1])
    1.0
    """

    orderless = True

    rel: float = parameter(1.0, check.check_rel)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """The first relevant document ends the search; all ranks up to the cut-off are worth 1."""
        return CascadeTables(scale.labels >= self.rel, discounts(np.ones_like, scale.longest, k))
