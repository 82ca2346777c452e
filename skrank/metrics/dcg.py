"""Cumulated gain, discounted cumulated gain and its normalised form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import ORDERLESS, Lists, Metric, Scale, discounts, register
from skrank.metrics.quadratic import QuadraticTables

Gain = str | Sequence[float] | Mapping[float, float]


def check_gain(gain: Gain) -> Any:
    """A gain as "exp2", "linear", gains by label 0, 1, 2, ..., or pairs of label and gain."""
    if isinstance(gain, str):
        return check.check_choice("gain", gain, ("exp2", "linear"))
    if isinstance(gain, Mapping) or _is_pairs(gain):
        pairs = check.check_mapping("gain", gain)
        check.check_gains("gain", [worth for _, worth in pairs])
        return pairs
    numbers = check.check_numbers("gain", gain)
    check.check_gains("gain", numbers)
    return numbers


def _is_pairs(gain: Any) -> bool:
    return isinstance(gain, tuple) and len(gain) > 0 and isinstance(gain[0], tuple)


def gain_per_code(gain: Any, labels: np.ndarray) -> np.ndarray:
    """Gain of each label."""
    if gain == "exp2":
        check.check_exponent("gain=exp2", labels.max(initial=0))
        return np.exp2(labels) - 1
    if gain == "linear":
        return labels.astype(np.float64)
    pairs = gain if isinstance(gain[0], tuple) else enumerate(gain)
    return check.look_up("gain", dict(pairs), labels)


@register("cg")
@dataclass(frozen=True, kw_only=True)
class CG(Metric):
    r"""Cumulated gain: the sum of the gains, whatever the ranks.

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

    gain: Gain = "exp2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(gain=check_gain(self.gain))

    @property
    def untrainable(self) -> str | None:
        """Without a cut-off the order does not matter."""
        return ORDERLESS if self.k is None else None

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain per label, no discount, no pairs."""
        gain = gain_per_code(self.gain, scale.labels)
        return QuadraticTables(gain, discounts(np.ones_like, scale.longest, k))


def cg_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    gain: Gain = "exp2",
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Cumulated gain: mean over queries of `CG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, condensed, empty, ties, average
        See `CG`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import cg_score
    >>> cg_score([2, 0, 1], [0.9, 0.5, 0.1], k=2, gain="linear")
    2.0
    """
    metric = CG(k=k, gain=gain, condensed=condensed, empty=empty, ties=ties, average=average)
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


DISCOUNTS = ("log2", "jk", "letor", "romip")
Discount = str | Sequence[float]


@register("dcg")
@dataclass(frozen=True, kw_only=True)
class DCG(Metric):
    r"""Discounted cumulated gain.

    .. math:: DCG@k = \sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        ``2**label - 1``, the label itself, gains of the labels 0, 1, 2, ..., or gain by label.
        Gains must be at least 0 and must not fall as labels rise; in a mapping without 0, label 0
        gains 0.
    discount : {"log2", "jk", "letor", "romip"} or sequence of float
        "log2": ``1 / log2(1 + rank)``. "jk": 1 above rank `base`, then ``1 / log(rank, base)``
        (Jarvelin and Kekalainen). "letor": the official script of LETOR, ``1 / log2(rank)`` with 1
        at rank 1, and 0 for queries with fewer than k documents. "romip": ``1 / log2(2 + rank)``,
        as printed by ROMIP. Or the weights of the ranks 1, 2, ..., which must not increase and are
        0 below.
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

    gain: Gain = "exp2"
    discount: Discount = "log2"
    base: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            gain=check_gain(self.gain),
            base=check.check_number("base", self.base, 1, 1e6, open_low=True),
        )
        if isinstance(self.discount, str):
            check.check_choice("discount", self.discount, DISCOUNTS)
        else:
            table = check.check_numbers("discount", self.discount)
            check.check_descending("discount", table)
            self._set(discount=table)

    def weights(self, rank: np.ndarray) -> np.ndarray:
        """Discount of each rank."""
        if not isinstance(self.discount, str):
            return np.interp(rank, np.arange(1, len(self.discount) + 1), self.discount, right=0.0)
        if self.discount == "log2":
            return 1 / np.log2(1 + rank)
        if self.discount == "romip":
            return 1 / np.log2(2 + rank)
        base = self.base if self.discount == "jk" else 2.0
        return np.log(base) / np.log(np.maximum(rank, base))

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain per label, discount per rank, no pairs."""
        gain = gain_per_code(self.gain, scale.labels)
        return QuadraticTables(gain, discounts(self.weights, scale.longest, k))

    def finish(self, sums: np.ndarray, lists: Lists) -> np.ndarray:
        """As they are, but for LETOR's rule for short lists."""
        if self.discount == "letor" and self.k is not None:
            sums[lists.total < self.k] = 0.0
        return sums


def dcg_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    base: float = 2.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Discounted cumulated gain: mean over queries of `DCG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, discount, base, condensed, empty, ties, average
        See `DCG`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import dcg_score
    >>> dcg_score([2, 0, 1], [0.9, 0.5, 0.1])
    3.5
    """
    metric = DCG(
        k=k,
        gain=gain,
        discount=discount,
        base=base,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("ndcg")
@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    """Normalised discounted cumulated gain: DCG@k over the best DCG@k of the query.

    ``gain="linear"`` equals scikit-learn and trec_eval, the default equals LightGBM and XGBoost.

    Parameters
    ----------
    gain, discount, base
        See `DCG`.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    See `DCG`. F. McSherry, M. Najork, Computing Information Retrieval Performance Measures
    Efficiently in the Presence of Tied Scores, ECIR 2008 (ties).

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("ndcg(gain=linear)@10")([3, 0, 1], [0.1, 0.5, 0.9]), 4)
    0.6885
    """

    @property
    def ideal_cutoff(self) -> int | None:
        """The first k ranks, as the list itself."""
        return self.k


def ndcg_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    base: float = 2.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Normalised discounted cumulated gain: mean over queries of `NDCG`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, gain, discount, base, condensed, empty, ties, average
        See `NDCG`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import ndcg_score
    >>> round(ndcg_score([3, 0, 1], [0.1, 0.5, 0.9], k=10, gain="linear"), 4)
    0.6885
    """
    metric = NDCG(
        k=k,
        gain=gain,
        discount=discount,
        base=base,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
