"""Discounted cumulative gain and its normalised form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import Metric, Scale, discounts, register
from skrank.metrics.quadratic import QuadraticTables

Gain = str | tuple[float, ...] | tuple[tuple[float, float], ...]


def check_gain(gain: Gain | Mapping[float, float]) -> Gain:
    """A gain as "exp2", "linear", gains by label 0, 1, 2, ..., or pairs of label and gain."""
    if isinstance(gain, str):
        return str(check.check_choice("gain", gain, ("exp2", "linear")))
    if isinstance(gain, Mapping):
        gain = check.check_mapping("gain", gain)
    elif len(gain) and isinstance(gain[0], tuple):
        gain = check.check_mapping("gain", dict(gain))
    else:
        gain = check.check_numbers("gain", gain)
    check.check_gains([pair[1] if isinstance(pair, tuple) else pair for pair in gain])
    return gain


def gain_per_code(gain: Gain, labels: np.ndarray) -> np.ndarray:
    """Gain of each label."""
    if gain == "exp2":
        return np.exp2(labels) - 1
    if gain == "linear":
        return labels.astype(np.float64)
    pairs = gain if isinstance(gain[0], tuple) else enumerate(gain)
    return check.look_up("gain", dict(pairs), labels)  # type: ignore[arg-type]


@register("dcg")
@dataclass(frozen=True, kw_only=True)
class DCG(Metric):
    r"""Discounted cumulative gain.

    .. math:: DCG@k = \sum_{r \le k} \text{gain}(y_r) / \log_2(1 + r)

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        ``2**label - 1``, the label itself, gains of the labels 0, 1, 2, ..., or gain by label.
        Gains must be at least 0 and must not fall as labels rise; label 0 gains nothing unless said
        otherwise.
    discount : {"log2"}
        ``1 / log2(1 + rank)``.
    k, condensed, empty, ties
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
    discount: str = "log2"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            gain=check_gain(self.gain),
            discount=check.check_choice("discount", self.discount, ("log2",)),
        )

    def tables(self, scale: Scale, k: int | None) -> QuadraticTables:
        """Gain per label, discount per rank, no pairs."""
        weights = discounts(lambda rank: 1 / np.log2(1 + rank), scale.longest, k)
        return QuadraticTables(gain_per_code(self.gain, scale.labels), weights)


@register("ndcg")
@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    """Normalised discounted cumulative gain: DCG@k over the best DCG@k of the query.

    ``gain="linear"`` equals scikit-learn and trec_eval, the default equals LightGBM and XGBoost.

    Parameters
    ----------
    gain, discount
        See `DCG`.
    k, condensed, empty, ties
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
