"""Expected reciprocal rank, and the same divided by that of an ideal list."""

from __future__ import annotations

from dataclasses import dataclass

from skrank import _validation as check
from skrank._engine.cascade import CascadeTables
from skrank._engine.metric import Metric
from skrank._engine.names import register
from skrank._engine.parameters import parameter
from skrank._engine.tables import Gain, Scale, discounts


@register("err")
@dataclass(frozen=True, kw_only=True)
class ERR(Metric):
    r"""Expected reciprocal rank: mean of 1 / rank of the document that satisfies the user.

    The user reads from rank 1 on, and is satisfied by a document of label y with probability rho;
    with the default gain, rho is (2^y - 1) / 2^max_grade. The first document that satisfies the
    user ends the search.

    .. math:: ERR@k = \sum_{r \le k} \frac1r \rho_r \prod_{s<r} (1 - \rho_s), \quad
              \rho_r = \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade}) + 1}

    Parameters
    ----------
    gain : {"exp2", "linear"}, sequence or mapping
        See `DCG`. "exp2" is the definition of the paper; other gains give ERR of NTCIREVAL.
    max_grade : int, optional
        Highest grade of the collection. Default: the highest label that was passed to
        `skrank.with_groups`; for other labels, the highest measured label. Give `max_grade` to
        compare data sets.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1); an ideal list scores less than 1.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected Reciprocal Rank for Graded Relevance,
    CIKM 2009. NTCIREVAL, ERR (gain).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("err", max_grade=4)([4, 0, 1], [0.9, 0.5, 0.1])
    0.9388020833333334
    """

    gain: Gain = parameter("exp2", check.check_gain)
    max_grade: int | None = parameter(None, check.check_max_grade)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Probability rho of each distinct label, and 1 / rank."""
        stop = scale.shares(self.gain, added=1)
        return CascadeTables(stop, discounts(lambda rank: 1 / rank, scale.longest, k))


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

    @property
    def ideal_cutoff(self) -> int | None:
        """The best list is cut at the same rank."""
        return self.k
