"""Training and test parts of a DMatrix for `xgboost.cv`, by query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters.adapters import Supplied, as_written, import_booster
from skrank._boosters.folds import row_folds
from skrank._boosters.xgboost_data import sizes_and_weights
from skrank._engine.groups import highest_grade
from skrank._typing import Folds, Options

if TYPE_CHECKING:
    import xgboost

Pair = tuple["xgboost.DMatrix", "xgboost.DMatrix", Options]


class Parts:
    """The training and the test part of each fold of a DMatrix.

    Attributes
    ----------
    max_grade : int
        Highest grade of all labels.
    """

    def __init__(self, data: Supplied, folds: Folds, groups: ArrayLike | None, seed: int) -> None:
        check.check_sliceable(data.owner, import_booster("xgboost"))
        sizes, self.weights = sizes_and_weights(data)
        labels = as_written(data.labels)
        self.max_grade = highest_grade(labels)
        self.matrix, self.sizes = data.owner, sizes
        self._row_query = np.repeat(np.arange(len(sizes)), sizes)
        self._folds = row_folds(folds, labels, sizes, groups, seed)
        self._left: Iterator[tuple[np.ndarray, np.ndarray]] = iter(self._folds)

    def __len__(self) -> int:
        return len(self._folds)

    def next(self, _train: xgboost.DMatrix, _test: xgboost.DMatrix, params: Options) -> Pair:
        """The parts of the next fold, for `fpreproc` of `xgboost.cv`, which ignores its own."""
        train, test = next(self._left)
        return self._part(train), self._part(test), params

    def _part(self, rows: np.ndarray) -> xgboost.DMatrix:
        queries = np.unique(self._row_query[rows])
        part = self.matrix.slice(rows, allow_groups=True)
        part.set_group(self.sizes[queries])
        if self.weights is not None:
            part.set_weight(self.weights[queries])
        return part


def keep_boosters(boosters: list[xgboost.Booster]) -> xgboost.callback.TrainingCallback:
    """A callback of `xgboost.cv` that appends the Booster of each fold to a list."""

    class Keep(import_booster("xgboost").callback.TrainingCallback):  # type: ignore[misc]
        def before_training(self, model: xgboost.Booster) -> xgboost.Booster:
            boosters.extend(fold.bst for fold in model.cvfolds)
            return model

    return Keep()
