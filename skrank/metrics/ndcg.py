"""Normalised discounted cumulated gain."""

from __future__ import annotations

from dataclasses import dataclass

from skrank._engine.names import register, score_function
from skrank.metrics.dcg import DCG


@register("ndcg")
@dataclass(frozen=True, kw_only=True)
class NDCG(DCG):
    r"""Normalised discounted cumulated gain: DCG@k divided by the highest possible DCG@k.

    .. math:: nDCG@k = \frac{DCG@k}{\max DCG@k}

    The maximum is over all orders of the documents of the query, retrieved or not. The default is
    the nDCG of LightGBM and XGBoost; ``gain="linear"`` is the nDCG of scikit-learn and trec_eval.

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

    value_range = "[0, 1]"

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is cut at rank k, as the ranked list is."""
        return self.k


ndcg_score = score_function(NDCG, 0.9639)
