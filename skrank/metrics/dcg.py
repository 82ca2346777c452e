"""Cumulated gain (CG), discounted cumulated gain (DCG) and normalised DCG (nDCG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import elementwise
from skrank._engine.metric import Counts, Metric, Values
from skrank._engine.names import register
from skrank._engine.parameters import number, parameter
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.tables import Gain, Scale, at_rank, discounts


@register("cg")
@dataclass(frozen=True, kw_only=True)
class CG(Metric):
    r"""Cumulated gain: the sum of the gains of the first k documents, whatever their order.

    .. math:: CG@k = \sum_{r \le k} \text{gain}(y_r)

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        See `DCG`.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, inf).

    References
    ----------
    K. Jarvelin, J. Kekalainen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 2002.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("cg(gain=linear)@2")([2, 0, 1], [0.9, 0.5, 0.1])
    2.0
    """

    value_range = (0.0, math.inf)
    orderless = True

    gain: Gain = parameter("exp2", check.check_gain)

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain by label; all ranks up to the cut-off weigh 1."""
        return QuadraticTables(scale.gains(self.gain), discounts(np.ones_like, scale.longest, k))


DISCOUNTS = ("log2", "jk", "letor", "romip")
SHIFTS = {"log2": 1.0, "romip": 2.0}  # c in the discount 1 / log2(c + rank)
Discount = str | Sequence[float]


def _check_discount(discount: Discount) -> Discount:
    if isinstance(discount, str):
        return check.check_choice("discount", discount, DISCOUNTS)
    factors = check.check_numbers("discount", discount)
    check.check_descending("discount", factors)
    return factors


@register("dcg")
@dataclass(frozen=True, kw_only=True)
class DCG(Metric):
    r"""Discounted cumulated gain: the sum of the gains, each divided by a logarithm of its rank.

    .. math:: DCG@k = \sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        Gain of a label. "exp2": ``2**label - 1``. "linear": the label itself. A sequence has the
        gains of the labels 0, 1, 2, ...; a mapping has the gain of each label, and 0 for label 0 if
        that is missing. Gains must be at least 0 and must not fall as labels rise.
    discount : {"log2", "jk", "letor", "romip"} or sequence of float
        Factor of the gain at a rank. "log2": ``1 / log2(1 + rank)``. "jk": 1 for ranks up to
        `base`, then ``1 / log(rank, base)``, as Jarvelin and Kekalainen. "letor": as the official
        script of LETOR, 1 at rank 1 and then ``1 / log2(rank)``; queries with fewer than k
        documents have the value 0. "romip": ``1 / log2(2 + rank)``, as ROMIP. A sequence has the
        factors of the ranks 1, 2, ..., which must not increase; further ranks have the factor 0.
    base : float
        Base of the discount "jk", above 1.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, inf).

    References
    ----------
    K. Jarvelin, J. Kekalainen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 2002.
    C. Burges et al., Learning to Rank Using Gradient Descent, ICML 2005 (gain and discount).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("dcg")([2, 0, 1], [0.9, 0.5, 0.1])
    3.5
    """

    value_range = (0.0, math.inf)

    gain: Gain = parameter("exp2", check.check_gain)
    discount: Discount = parameter("log2", _check_discount)
    base: float = number(2.0, 1, 1e6, open_low=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base != 2 and self.discount != "jk":
            raise ValueError(f"base={self.base} has no effect without discount='jk': leave it out.")

    def discount_at(self, rank: np.ndarray) -> np.ndarray:
        """Discount of each rank; the first rank is 1."""
        if not isinstance(self.discount, str):
            return at_rank(rank, self.discount)
        if self.discount in SHIFTS:
            return 1 / elementwise(math.log2, SHIFTS[self.discount] + rank)
        base = self.base if self.discount == "jk" else 2.0  # else "letor"
        return math.log(base) / elementwise(math.log, np.maximum(rank, base))

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain by label, and discount by rank."""
        gain = scale.gains(self.gain)
        return QuadraticTables(gain, discounts(self.discount_at, scale.longest, k))

    def values(self, sums: Counts, shown: Counts, relevant: Counts, total: Counts) -> Values:
        """`sums`; with the discount "letor", 0 for queries with fewer than k documents.

        Documents are judged or retrieved; k is that of the metric (objectives may call `tables`
        with another k, for the best sums).
        """
        if self.discount == "letor" and self.k is not None:
            return np.where(total < self.k, 0.0, sums), None
        return sums, None


@register("ndcg")
@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    r"""Normalised discounted cumulated gain: DCG@k divided by the highest possible DCG@k.

    .. math:: nDCG@k = \frac{DCG@k}{\max DCG@k}, \quad
        DCG@k = \sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)

    The maximum is over all orders of the documents of the query, retrieved or not. The default is
    the nDCG of LightGBM and XGBoost; ``gain="linear"`` is the nDCG of scikit-learn and trec_eval.

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        Gain of a label: ``2**label - 1``, the label itself, the gains of the labels 0, 1, 2, ...,
        or the gain of each label. Gains must be at least 0 and must not fall as labels rise.
    discount : {"log2", "jk", "letor", "romip"} or sequence of float
        Factor of the gain at a rank. "log2": ``1 / log2(1 + rank)``. "jk": 1 for ranks up to
        `base`, then ``1 / log(rank, base)``. "letor": 1 at rank 1, then ``1 / log2(rank)``, and the
        value 0 for lists shorter than k. "romip": ``1 / log2(2 + rank)``. A sequence has the
        factors of the ranks 1, 2, ..., which must not increase; further ranks have the factor 0.
    base : float
        Base of the discount "jk", above 1.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    K. Jarvelin, J. Kekalainen, Cumulated Gain-Based Evaluation of IR Techniques, TOIS 2002.
    C. Burges et al., Learning to Rank Using Gradient Descent, ICML 2005 (gain and discount).
    F. McSherry, M. Najork, Computing Information Retrieval Performance Measures
    Efficiently in the Presence of Tied Scores, ECIR 2008 (ties).

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("ndcg(gain=linear)@10")([3, 0, 1], [0.1, 0.5, 0.9]), 4)
    0.6885
    """

    value_range = (0.0, 1.0)

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is cut at the same rank."""
        return self.k
