"""Objectives that learn how the position of a document influences its clicks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank._typing import Weights
from skrank.objectives._bound import BoundBlocks, BoundObjective, read_rows
from skrank.objectives.base import Objective

if TYPE_CHECKING:
    import pandas as pd


class PositionBias:
    """Positions at which documents were shown, and their estimates after the latest round.

    Parameters
    ----------
    queries : Queries
    positions : array-like of shape (n_rows,), optional
        In the caller's row order. Default: 1, 2, 3, ... inside each query, by row.
    deepest : int, optional
        Larger positions are replaced by this one.
    **estimates : float
        Initial estimates by name.

    Attributes
    ----------
    positions : int64 ndarray
        Distinct positions, ascending.
    codes : ndarray of unsigned integers, shape (n_rows,)
        Index in `positions` of the position of each contiguous row.
    estimates : dict of str to float64 ndarray
        Estimates by name, one entry per position.
    """

    def __init__(
        self,
        queries: Queries,
        positions: ArrayLike | None,
        deepest: int | None,
        **estimates: float,
    ) -> None:
        if positions is None:
            shown = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], queries.sizes) + 1
        else:
            shown = queries.gather(check.check_positions(positions, queries.n_rows))
        if deepest is not None:
            shown = np.minimum(shown, deepest)
        self.positions, codes = np.unique(shown, return_inverse=True)
        self.codes = codes.astype(np.min_scalar_type(len(self.positions)))
        self._initial = estimates
        self.estimates = {name: np.full(len(self.positions), x) for name, x in estimates.items()}

    def reset(self) -> None:
        """Replace the estimates by their initial values."""
        for name, initial in self._initial.items():
            self.estimates[name][:] = initial

    def frame(self) -> pd.DataFrame:
        """A table with one row per position, and one column per estimate."""
        import pandas as pd

        index = pd.Index(self.positions, name="position")
        return pd.DataFrame({name: x.copy() for name, x in self.estimates.items()}, index=index)


class PositionObjective(Objective):
    """An objective that learns the bias of positions from round to round."""

    takes_positions: ClassVar[bool] = True
    max_position: int | None

    @abstractmethod
    def bind(
        self,
        judgments: Judgments,
        weights: Weights = None,
        *,
        max_grade: int | None = None,
        positions: ArrayLike | None = None,
    ) -> BoundPositionObjective:
        """The objective bound to judgments, with one weight per query and one position per row."""

    def position_bias(
        self,
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        rounds: int = 100,
    ) -> pd.DataFrame:
        """Position bias of clicks for known scores: no model is trained.

        Parameters
        ----------
        relevance, scores, groups, sample_weight
            As in a call: clicks, and finite scores, which estimate the relevance of the documents.
        positions : array-like of shape (n_rows,), optional
            Position at which each document was shown, a whole number of at least 0. Default: the
            order of the rows inside their query, from 1 on.
        rounds : int
            Number of steps of the estimation.

        Returns
        -------
        pandas.DataFrame
            One row per position. Column "bias" for `AdditivePositionBias`; columns "clicked" and
            "skipped" for `UnbiasedLambdaRank`, see there.

        Examples
        --------
        >>> import numpy as np, skrank
        >>> rng = np.random.default_rng(0)
        >>> scores = rng.normal(size=8000)                       # 2000 queries of 4 documents
        >>> chance = 1 / (1 + np.exp(-scores - np.tile([0, -1, -1.5, -2], 2000)))
        >>> clicks, queries = rng.random(8000) < chance, np.repeat(np.arange(2000), 4)
        >>> additive = skrank.AdditivePositionBias("ndcg")
        >>> bias = additive.position_bias(clicks, scores, groups=queries)["bias"]
        >>> (bias - bias[1]).round(1).tolist()
        [0.0, -0.9, -1.5, -2.2]
        """
        judgments, weights, vector = read_rows(
            relevance, scores, groups, sample_weight, positions=positions
        )
        rounds = check.check_count("rounds", rounds, "steps of the estimation")
        bound = self.bind(judgments, weights, positions=positions)
        grad, hess = np.empty(len(vector)), np.empty(len(vector))
        for _ in range(rounds):
            bound.gradient(vector, grad, hess)
        return bound.position_bias.frame()


class BoundPositionObjective(BoundBlocks):
    """An objective bound to blocks of queries, which estimates the bias of positions.

    Each call of `gradient` updates the estimates; ``position_bias.reset()`` forgets them.
    """

    def __init__(
        self, parts: Sequence[tuple[slice, BoundObjective]], position_bias: PositionBias
    ) -> None:
        super().__init__(parts)
        self.position_bias = position_bias
