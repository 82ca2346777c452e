"""PFound: the probability that a user finds a document that is wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.cascade import CascadeTables
from skrank._engine.elementwise import elementwise, powers
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import number, parameter
from skrank._engine.tables import Scale, discounts

YANDEX = (0.0, 0.07, 0.14, 0.41, 0.61)  # probability of relevance of the grades 0..4


def _check_p_rel(p_rel: str | Mapping[float, float]) -> str | tuple[tuple[float, float], ...]:
    if isinstance(p_rel, str):
        return check.check_choice("p_rel", p_rel, ("romip", "yandex", "raw"))
    pairs = check.check_mapping("p_rel", p_rel)
    check.check_gains("p_rel", [probability for _, probability in pairs])
    return pairs


@register("pfound")
@dataclass(frozen=True, kw_only=True)
class PFound(Metric):
    r"""PFound: probability that a user finds a wanted document before giving up.

    .. math:: PFound@k = \sum_{r \le k} p(y_r) \prod_{s<r} (1 - p(y_s)) (1 - p_{break})

    The user reads from rank 1 on. A document of label y is the wanted one with probability p(y);
    the search then ends.

    Parameters
    ----------
    p_rel : {"romip", "yandex", "raw"} or mapping
        p(y). "romip": ``2**(label - 4)`` for labels above 0, which must be at most 4. "yandex": 0,
        .07, .14, .41, .61 for the grades 0..4. "raw": the label itself, as in CatBoost. Or a
        mapping from labels to probabilities, which do not fall as labels rise.
    p_break : float
        Probability of giving up after each document, in [0, 1].
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; an ideal list may score less than 1.

    References
    ----------
    ROMIP 2010, appendix A. A. Gulin, P. Karpovich, D. Raskovalov, I. Segalovich, Yandex at ROMIP
    2009.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("pfound")([3, 0, 2], [0.9, 0.5, 0.1])
    0.5903125
    """

    p_rel: str | Mapping[float, float] = parameter("romip", _check_p_rel)
    p_break: float = number(0.15, 0, 1)

    @property
    def orderless(self) -> bool:  # type: ignore[override]
        """With p_break = 0 and without a cut-off, all orders of a list have the same value."""
        return self.p_break == 0

    def probability(self, scale: Scale) -> np.ndarray:
        """p(y) of each label."""
        labels = scale.labels
        if self.p_rel == "romip":
            # clipped to avoid overflow; `check_probabilities` refuses labels above 4
            clipped = np.minimum(labels, check.MOST_GRADES)
            p = np.where(labels > 0, elementwise(math.exp2, clipped - 4), 0.0)
        elif self.p_rel == "yandex":
            p = check.look_up("p_rel=yandex", dict(enumerate(YANDEX)), labels, scale.row_of)
        elif self.p_rel == "raw":
            p = labels.astype(np.float64)
        else:
            pairs: Any = self.p_rel
            p = check.look_up("p_rel", dict(pairs), labels, scale.row_of)
        check.check_probabilities(f"p_rel of {self}", labels, p)
        return p

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """p(y) by label, and (1 - p_break)^(r - 1) by rank."""
        stay = 1 - self.p_break
        patience = discounts(lambda rank: powers(stay, rank - 1), scale.longest, k)
        return CascadeTables(self.probability(scale), patience)
