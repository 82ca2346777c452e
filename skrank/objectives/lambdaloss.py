"""LambdaLoss: LambdaRank with pair weights such that the loss is an upper bound of 1 - nDCG."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.parameters import choice, number
from skrank._engine.quadratic import QuadraticTables
from skrank._kernels import lambdaloss
from skrank._kernels.lambdaloss import LambdaLossWeights
from skrank._typing import Weights
from skrank.metrics import DCG
from skrank.objectives.lambdarank import BoundPairs, PairObjective


@dataclass(frozen=True)
class LambdaLoss(PairObjective):
    r"""LambdaLoss on nDCG or DCG.

    A pair of documents whose gains differ, the better with score s_i, the worse with s_j, has the
    loss ``weight log(1 + exp(-sigmoid (s_i - s_j)))`` as in `LambdaRank`, with another weight. With
    the normalised gains G, the discount d and the ranks r,

    .. math::
       \text{ndcg_loss2} &= |G_i - G_j| \, (d(|r_i - r_j|) - d(|r_i - r_j| + 1)) \\
       \text{ndcg_loss2++} &= |G_i - G_j| \, |d(r_i) - d(r_j)| + \mu \, \text{ndcg_loss2}

    The first term of ndcg_loss2++ is the weight of LambdaRank: the change of nDCG if the two
    documents swap ranks. It is small for adjacent ranks far down the list. The weights of
    ndcg_loss2 depend only on the distance of the ranks. Over the pairs in the wrong order they sum
    to at least ``1 - nDCG``, so that the loss is an upper bound of ``1 - nDCG``, up to a factor.

    Parameters
    ----------
    metric : str or Metric
        ndcg or dcg, with any gain and discount. For a document at rank r, the differences of d in
        ndcg_loss2 over all documents above sum to d(1) - d(r). Below a cut-off k, they are scaled
        so that they sum to d(1).
    weights : {"ndcg_loss2++", "ndcg_loss2"}
        Weights of pairs, as above.
    mu : float
        Factor of ndcg_loss2 in "ndcg_loss2++", at least 0; 0 gives LambdaRank.
    norm : {True, "score", "sum", False}
        As in `LambdaRank`, but False by default, as the paper does not normalise.
    sigmoid, truncation_level, tie_order, random_state
        See `LambdaRank`; `SoftRank` has `sigma`, a standard deviation, in place of `sigmoid`.

    Notes
    -----
    The loss of the paper takes logarithms to base 2, which only scales it.

    References
    ----------
    X. Wang, C. Li, N. Golbandi, M. Bendersky, M. Najork, The LambdaLoss Framework for Ranking
    Metric Optimization, CIKM 2018. R. Jagerman, Z. Qin, X. Wang, M. Bendersky, M. Najork, On
    Optimizing Top-K Metrics for Neural Ranking Models, SIGIR 2022 (cut-offs).

    Examples
    --------
    >>> import skrank
    >>> grad, hess = skrank.LambdaLoss("ndcg@10")([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(3)
    array([ 2.035, -2.761,  0.726])
    """

    name = "lambdaloss"

    _: KW_ONLY
    weights: str = choice("ndcg_loss2++", ("ndcg_loss2++", "ndcg_loss2"))
    mu: float = number(10.0, 0, 1e6)
    norm: bool | str = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.metric, DCG):
            raise ValueError(
                f"LambdaLoss has weights for ndcg and dcg, not for {self.metric}: LambdaRank takes "
                "any metric."
            )
        if self.mu != 10 and self.weights == "ndcg_loss2":
            raise ValueError(f"mu={self.mu} has no effect on weights='ndcg_loss2': leave it out.")

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundPairs:
        """The objective bound to judgments, with one weight per query."""
        plan = self.metric.bind(judgments, max_grade=max_grade)
        longest, k = judgments.queries.longest, self.metric.k
        discount = self.metric.discount_at(np.arange(1.0, longest + 1))
        swaps, bound = (1.0, self.mu) if self.weights == "ndcg_loss2++" else (0.0, 1.0)
        fall = swaps * discount
        fall[longest if k is None else k :] = 0.0
        stretch, even = _below_the_cutoff(discount, k)
        assert isinstance(plan.tables, QuadraticTables)
        form = LambdaLossWeights(
            plan.tables.gain, fall, -bound * np.diff(discount), stretch, bound * even
        )
        return BoundPairs(self, plan, weights, (lambdaloss.lambdas, judgments.codes, form))


def _below_the_cutoff(discount: np.ndarray, k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """By rank, a factor and a term for the steps d(i) - d(i + 1) to the documents above.

    The steps of rank r sum to d(1) - d(r). Below the cut-off, factor and term are such that they
    sum to d(1): the factor is d(1) / (d(1) - d(r)), or, if d(r) = d(1), the term is d(1) / (r - 1).
    """
    stretch, even = np.ones(len(discount)), np.zeros(len(discount))
    below = np.arange(len(discount)) >= (len(discount) if k is None else k)
    sums = discount[0] - discount
    steep, flat = below & (sums > 0), below & (sums == 0)
    stretch[steep] = discount[0] / sums[steep]
    even[flat] = discount[0] / np.flatnonzero(flat)
    return stretch, even
