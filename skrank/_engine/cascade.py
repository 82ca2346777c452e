"""Cascade metrics, whose user reads down to a satisfying document: ERR, PFound, RR, success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import RankedCodes
from skrank._engine.tables import Swaps, Tables
from skrank._engine.threads import cached_property, run_chunks
from skrank._kernels import cascade, cascade_lambdas
from skrank._kernels.cascade import Cascade
from skrank._kernels.jit import ONE_PASS


@dataclass(frozen=True, eq=False)
class CascadeTables(Tables):
    """``sum_r phi_r rho(y_r) prod_{s<r} (1 - rho(y_s))``, for a list with the labels y_1, y_2, ...

    Parameters
    ----------
    stop : ndarray (n_codes,)
        rho per code: the probability that the document satisfies the user, in [0, 1].
    phi : ndarray (longest,)
        What the metric counts if the user is satisfied at each rank, such as 1 / rank for ERR; must
        not be negative or increase.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1], or `phi` is negative or increases.

    Examples
    --------
    ERR of the grades 0, 1 and 2:

    >>> from skrank.extending import CascadeTables
    >>> CascadeTables([0, 1 / 4, 3 / 4], [1, 1 / 2, 1 / 3]).relevant
    array([False,  True,  True])
    """

    axes: ClassVar = {"stop": ("codes",), "phi": ("ranks",)}
    cut = True

    stop: np.ndarray
    phi: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        check.check_within("CascadeTables.stop", self.stop, 0, 1)
        check.check_within("CascadeTables.phi", self.phi, 0, np.inf)
        check.check_falling("CascadeTables.phi", self.phi)

    @cached_property
    def depth(self) -> int:
        """Number of ranks down to the last whose `phi` is not 0."""
        return len(np.trim_zeros(self.phi, "b"))

    @property
    def _form(self) -> Cascade:
        return Cascade(self.stop, self.phi, self.depth)

    @property
    def relevant(self) -> np.ndarray:
        return self.stop > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        out = np.empty(len(inverse))
        cost = ONE_PASS if ranked.without_ties else None
        lists = ranked.indptr, ranked.lists, ranked.first_tie
        run_chunks(cascade.values, *lists, self._form, inverse, out, row_cost=cost)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        best = judgments.best_lists(self.stop, self.depth)
        return self.values(best, np.ones(len(best.retrieved)))

    def swaps(self, judgments: Judgments) -> Swaps:
        return cascade_lambdas.lambdas, judgments.codes, self._form
