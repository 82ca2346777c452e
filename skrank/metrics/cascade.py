"""Metrics of a user who reads down the list and stops when satisfied: ERR, reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._parallel import run_chunks
from skrank.metrics.base import Metric, Scale, discounts, register

if TYPE_CHECKING:
    from skrank.metrics.plan import RankedCodes


@dataclass(frozen=True, eq=False)
class CascadeTables:
    """``sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s))``.

    Parameters
    ----------
    stop : ndarray (n_codes,)
        rho per code: the probability that the document satisfies the user, in [0, 1].
    phi : ndarray (longest,)
        Worth of being satisfied at each rank; must not increase.
    """

    stop: np.ndarray
    phi: np.ndarray
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        used = np.flatnonzero(self.phi)
        object.__setattr__(self, "depth", int(used[-1]) + 1 if len(used) else 0)

    @property
    def relevant(self) -> np.ndarray:
        """Codes that are worth something."""
        return self.stop > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        from skrank._kernels import cascade

        out = np.empty(len(inverse))
        run_chunks(
            cascade.values, ranked.indptr, ranked.codes, ranked.tied, ranked.retrieved,
            self.stop, self.phi, self.depth, inverse, out,
        )  # fmt: skip
        return out

    def ideals(self, indptr: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The best value of each query, from its number of documents per code."""
        from skrank._kernels import cascade

        best_first = np.argsort(-self.stop, kind="stable")
        out = np.empty(len(counts))
        run_chunks(cascade.ideals, indptr, counts, best_first, self.stop, self.phi, self.depth, out)
        return out

    def deltas(self, codes: np.ndarray) -> np.ndarray:
        """Change of the sum for every swap of ranks a < b of one list of codes."""
        from skrank._kernels import cascade

        out = np.zeros((len(codes), len(codes)))
        cascade.deltas(codes, self.stop, self.phi, out)
        return out

    def lambda_kernel(self, n_queries: int) -> tuple[Callable[..., None], tuple[Any, ...]]:
        """The kernel of LambdaRank gradients and the arrays that it takes from here."""
        from skrank._kernels import cascade

        return cascade.lambdas, (self.stop, self.phi, self.depth)


RULERS: dict[str, tuple[float, ...]] = {
    "trec": (1.0, 0.5, 0.33, 0.2, 0.1),
    "romip": (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1),
}


@register("rr", "mrr")
@dataclass(frozen=True, kw_only=True)
class RR(Metric):
    r"""Reciprocal rank of the first relevant document.

    .. math:: RR@k = 1 / \text{rank of the first relevant document, 0 if that is beyond } k

    Parameters
    ----------
    rel : float
        Lowest label of a relevant document.
    ruler : {"trec", "romip"} or sequence of float, optional
        Worth of each rank instead of 1/rank, 0 beyond its end. "trec" (1, .5, .33, .2, .1) and
        "romip" (1, .9, ..., .1) are those of ROMIP 2010. Must not increase.
    k, condensed, empty, ties
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

    rel: float = 1.0
    ruler: str | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(rel=check.check_rel(self.rel))
        if isinstance(self.ruler, str):
            check.check_choice("ruler", self.ruler, tuple(RULERS))
        elif self.ruler is not None:
            ruler = check.check_numbers("ruler", self.ruler)
            check.check_descending("ruler", ruler)
            self._set(ruler=ruler)

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Satisfied by the first relevant document, who then values its rank."""
        found = (scale.labels >= self.rel).astype(np.float64)
        if self.ruler is None:
            return CascadeTables(found, discounts(lambda rank: 1 / rank, scale.longest, k))
        ruler = RULERS[self.ruler] if isinstance(self.ruler, str) else self.ruler
        worth = np.zeros(max(scale.longest, len(ruler)))
        worth[: len(ruler)] = ruler
        return CascadeTables(found, discounts(lambda rank: worth[: len(rank)], scale.longest, k))


@register("err")
@dataclass(frozen=True, kw_only=True)
class ERR(Metric):
    r"""Expected reciprocal rank: a user stops at grade y with probability (2^y - 1) / 2^max_grade.

    .. math:: ERR@k = \sum_{r \le k} \frac1r \rho_r \prod_{s<r} (1 - \rho_s)

    Parameters
    ----------
    max_grade : int, optional
        Highest grade of the collection. Default: the highest label of the data that the metric
        meets. Give it when values of different data sets are to be compared.
    k, condensed, empty, ties
        See `Metric`. Range [0, 1); an ideal list scores less than 1.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected Reciprocal Rank for Graded Relevance,
    CIKM 2009.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("err", max_grade=4)([4, 0, 1], [0.9, 0.5, 0.1])
    0.9388020833333334
    """

    max_grade: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(max_grade=check.check_max_grade(self.max_grade))

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Stops with (2^y - 1) / 2^max_grade, worth 1 / rank."""
        stop = (2.0**scale.labels - 1) / 2.0**scale.max_grade
        return CascadeTables(stop, discounts(lambda rank: 1 / rank, scale.longest, k))
