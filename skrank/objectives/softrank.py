"""SoftRank: the expectation of a metric for normally distributed scores, and its gradient."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments, judge_rows
from skrank._engine.parameters import flag, number
from skrank._engine.quadratic import QuadraticTables
from skrank._engine.threads import run_chunks
from skrank._kernels import softrank
from skrank._kernels.softrank import Soft
from skrank._typing import Weights
from skrank.metrics import AP, DCG, GAP, Metric, metric
from skrank.metrics.dcg import SHIFTS
from skrank.objectives._bound import BoundFunction
from skrank.objectives.base import Objective

_LEAST_SIGMA = 1e-9  # so that curvatures fit single precision


@dataclass(frozen=True)
class SoftRank(Objective):
    r"""One minus a smooth version of GAP, AP, DCG or nDCG.

    The score of a document is the mean of a normal variable, so that document i ranks above
    document j with the probability :math:`\pi_{ij} = \Phi((s_i - s_j) / (\sqrt2 \sigma))`. The
    expected metric is smooth in the scores. As sigma goes to 0, it converges to the metric, if no
    scores tie. Unlike in `LambdaRank`, the gradient is the derivative of a function: 1 - `value`.

    Parameters
    ----------
    metric : str or Metric
        gap, ap, dcg or ndcg with the discount "log2" or "romip", without a cut-off.
    sigma : float
        Standard deviation of a score, at least 1e-9, the sigma of the paper. With small values the
        smooth metric is close to the metric; with large values gradients reach documents at distant
        ranks. `LambdaRank` and `LambdaLoss` have `sigmoid`, a slope, in its place.
    relative : bool
        Whether sigma is in units of the standard deviation of the scores of the query, or of 0.01
        if that is less, so that scores of any scale are smoothed equally. The gradient treats this
        standard deviation as a constant. Training increases the differences of scores: with a fixed
        sigma, the smooth metric approaches the metric in the course of training; with a relative
        sigma above about 0.3, it does not.

    Notes
    -----
    SoftGAP is, with the probabilities of relevance u and their sum D,

    .. math::
       \frac1D \sum_j \frac{u_j + \sum_{i \ne j} \pi_{ij} \min(u_i, u_j)}
                           {1 + \sum_{i \ne j} \pi_{ij}},

    a ratio of expectations, not an expectation. Document j itself counts once in numerator and
    denominator, so that SoftGAP converges to GAP as sigma goes to 0. In the paper, j counts half in
    the sums, and once more.

    The curvature is that of an upper bound of the loss. Let c > 0 be the derivative of the value by
    :math:`\pi_{ij}`, held fixed as `LambdaRank` holds its deltas, and x_0 the present x. Then
    :math:`-c \Phi(x)` is at most :math:`-c \Phi(x_0) \log \Phi(x)` plus a constant, which is
    convex, with equality at x_0. The curvature is the sum over pairs of
    :math:`c \varphi(x) (x + \sqrt{x^2 + 4}) / (4 \sigma^2)`, where x is the difference of the
    scores, positive in the right order, in units of :math:`\sqrt2 \sigma`. For DCG and nDCG the
    second derivative of the variances is added. So the curvature is positive, and Newton steps are
    proportional to sigma. Boosting with Newton steps from constant scores gives the same ranking
    for any sigma; sigma only changes the relative strength of the booster's regularisation.

    The rank of a document enters by its expectation in GAP and AP (SoftGAP), by expectation and
    variance in DCG and nDCG: a Taylor series of second order, whose value may exceed 1 by a few
    thousandths. A gradient takes O(n^2) time for n documents.

    Probabilities have errors of up to 4e-16. For gradients in single precision, as
    boosters need them, errors are up to 2e-7, or 2e-5 if the scores of a query span hundreds of
    sigma. Sums over documents are always in double precision.

    References
    ----------
    M. Taylor, J. Guiver, S. Robertson, T. Minka, SoftRank: Optimizing Non-Smooth Rank Metrics, WSDM
    2008. S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance
    Judgments, SIGIR 2010, section 5.

    Examples
    --------
    >>> import skrank
    >>> soft = skrank.objectives.SoftRank("gap", sigma=0.1)
    >>> grad, hess = soft([0, 2, 1], [0.3, 0.2, 0.1])
    >>> grad.round(2)
    array([ 0.49, -0.55,  0.05])
    >>> round(soft.value([0, 2, 1], [0.3, 0.2, 0.1]), 3)
    0.592
    >>> round(skrank.metric("gap")([0, 2, 1], [0.3, 0.2, 0.1]), 3)
    0.556
    """

    name = "softrank"
    by_query = True

    metric: Any  # a Metric once made; callers may pass its name
    _: KW_ONLY
    sigma: float = number(1.0, _LEAST_SIGMA, 1e6)
    relative: bool = flag(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = metric(self.metric)
        self._set(metric=chosen)
        known = isinstance(chosen, (AP, GAP)) or shift_of(chosen) is not None
        if not known or chosen.k is not None or chosen.condensed:
            raise ValueError(
                f"SoftRank cannot train on {chosen}: only gap, ap, dcg and ndcg, uncut and "
                "without condensed=True, and with the discount log2 or romip, have a smooth form. "
                "Train on such a metric and evaluate yours; mix objectives in place of metrics; or "
                "use LambdaRank, which takes cut-offs and other metrics."
            )

    @property
    def is_function(self) -> bool:
        """True unless sigma is relative: then the gradient is not the derivative of `value`."""
        return not self.relative

    def bind(
        self, judgments: Judgments, weights: Weights = None, *, max_grade: int | None = None
    ) -> BoundSoftRank:
        """The objective bound to judgments, with one weight per query."""
        return BoundSoftRank(self, judgments, weights, max_grade)

    def value(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The smooth metric: mean over queries, which training maximises unless sigma is relative.

        Parameters
        ----------
        relevance, scores, groups, sample_weight
            As in a call.

        Returns
        -------
        float
            Mean over the queries with a relevant document; NaN if there is no such query.
        """
        judgments, weights = judge_rows(relevance, scores, groups, sample_weight)
        queries, bound = judgments.queries, self.bind(judgments, weights)
        vector = queries.gather(check.as_vector("scores", scores, queries.n_rows))
        check.check_finite_scores(vector, queries)
        mass = bound.weight * ~bound.empty
        return float(mass @ bound.values(vector) / mass.sum()) if mass.any() else float("nan")


def shift_of(chosen: Metric) -> float | None:
    """C of the discount 1 / log2(c + rank) of DCG and nDCG; None for other metrics."""
    return SHIFTS.get(str(chosen.discount)) if isinstance(chosen, DCG) else None


class BoundSoftRank(BoundFunction):
    """SoftRank bound to a data set: gains, discounts, normalisers."""

    objective: SoftRank

    def __init__(
        self, objective: SoftRank, judgments: Judgments, weights: Weights, max_grade: int | None
    ) -> None:
        chosen = objective.metric
        plan = chosen.bind(judgments, max_grade=max_grade)
        assert isinstance(plan.tables, QuadraticTables)
        gain = plan.tables.gain
        # gains are divided by a power of two, which is exact, so that they fit single precision
        unit = math.ldexp(1.0, math.frexp(gain.max())[1] - 1) if gain.any() else 1.0
        super().__init__(objective, judgments, weights, self._fill)
        self.gain = gain / unit
        self.shift = shift_of(chosen)
        with np.errstate(over="ignore"):
            self.inverse = plan.inverse * plan.slope() * unit
        check.check_learnable(self.inverse, chosen, judgments.queries)
        self.empty = plan.empty

    def _fill(self, weight: np.ndarray, scores: np.ndarray, *out: np.ndarray) -> None:
        """Fill in the derivatives, and 1 - value of each query with a relevant document."""
        grad, hess, losses = out
        values = self.values(scores, grad, hess)
        losses[:] = weight * np.where(self.empty, 0.0, 1.0 - values)

    def values(
        self, scores: np.ndarray, grad: np.ndarray | None = None, hess: np.ndarray | None = None
    ) -> np.ndarray:
        """Smooth value of each query, 0 without a relevant document, for finite scores.

        Fills in the derivatives of the loss unless they are None.
        """
        sigma, relative = self.objective.sigma, self.objective.relative
        judgments, values = self.judgments, np.empty(len(self.inverse))
        soft = Soft(judgments.codes, scores, self.gain, self.inverse, self.weight, sigma, relative)
        run_chunks(softrank.gradients, judgments.indptr, soft, self.shift, values, grad, hess)
        return values
