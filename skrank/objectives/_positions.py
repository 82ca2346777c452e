"""What objectives share that learn what the place of a document did to its clicks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import Judgments
from skrank._engine.queries import Queries
from skrank.objectives._bound import BoundObjective, SharedRounds, begins_training, read_rows

if TYPE_CHECKING:
    import pandas as pd


class PositionBias:
    """What is known about each position of a data set, as of the latest round.

    Attributes
    ----------
    positions : int64 ndarray
        Ascending.
    estimates : dict of str to float64 ndarray
        One entry per position.
    """

    def __init__(self, positions: np.ndarray, **estimates: float) -> None:
        self.positions = positions
        self.estimates = {name: np.full(len(positions), x) for name, x in estimates.items()}

    def frame(self) -> pd.DataFrame:
        """A table with one line per position."""
        import pandas as pd

        index = pd.Index(self.positions, name="position")
        return pd.DataFrame({name: x.copy() for name, x in self.estimates.items()}, index=index)


class Shown:
    """Where the documents of a data set were shown.

    Parameters
    ----------
    queries : Queries
    positions : array-like of shape (n_rows,), optional
        In the caller's row order. Default: the order of the rows inside their query, from 1 on.
    deepest : int, optional
        Positions below are taken for this one.

    Attributes
    ----------
    values : int64 ndarray
        The positions that occur, ascending.
    codes : unsigned integers, ndarray of shape (n_rows,)
        Place of each contiguous row's position among them.
    """

    def __init__(self, queries: Queries, positions: ArrayLike | None, deepest: int | None) -> None:
        if positions is None:
            rows = np.arange(queries.n_rows) - np.repeat(queries.indptr[:-1], queries.sizes) + 1
        else:
            rows = queries.gather(check.check_positions(positions, queries.n_rows))
        self.queries = queries
        self.values, codes = np.unique(
            rows if deepest is None else np.minimum(rows, deepest), return_inverse=True
        )
        self.codes = codes.astype(np.min_scalar_type(len(self.values)))


class PositionObjective(ABC):
    """That an objective learns about positions from round to round, and shows what clicks say."""

    max_position: int | None

    @abstractmethod
    def bind(
        self,
        judgments: Judgments,
        weights: np.ndarray | None = None,
        *,
        max_grade: int | None = None,
        positions: ArrayLike | None = None,
    ) -> BoundPositionObjective:
        """The objective on judgments, with one weight per query and one position per row."""

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
        """Position bias that clicks show where scores are known: no model is trained.

        Parameters
        ----------
        relevance, scores, groups, sample_weight
            As in a call: clicks, and finite scores of what the documents are worth.
        positions : array-like of shape (n_rows,), optional
            Whole numbers of at least 0: where each document was shown. Default: the order of the
            rows inside their query, from 1 on.
        rounds : int
            Steps of the estimation.

        Returns
        -------
        pandas.DataFrame
            One line per position; columns as in the class.

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
        bound.restart()
        for _ in range(rounds):
            bound.step(vector, grad, hess)
        return bound.position_bias.frame()


class BoundPositionObjective(SharedRounds, ABC):
    """An objective on one data set, with what it has learned about the positions there."""

    def __init__(
        self, bounds: Sequence[BoundObjective], shown: Shown, position_bias: PositionBias
    ) -> None:
        self.bounds = bounds
        self.shown = shown
        self.position_bias = position_bias

    @abstractmethod
    def restart(self) -> None:
        """Forget what was learned."""

    @abstractmethod
    def step(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` for the present estimates, and update the estimates."""

    def gradient(self, scores: np.ndarray, grad: np.ndarray, hess: np.ndarray) -> None:
        """Fill `grad` and `hess` (float32 or float64, contiguous rows) for float64 `scores`."""
        if begins_training(scores, self.shown.queries.indptr):
            self.restart()
        self.step(scores, grad, hess)
