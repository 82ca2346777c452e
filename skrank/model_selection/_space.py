"""search_space: parameters of rankers to tune, with their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank._fitted import is_instance
from skrank._typing import Estimator, Options

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True)
class Range:
    """Values of a parameter.

    Attributes
    ----------
    low, high : int, float or bool
        Bounds, included. If both are integers, values are integers; if both are bool, all values.
    grid : tuple
        Values for a grid search; empty if a grid search does not vary the parameter.
    log : bool
        True: values are drawn uniformly on a logarithmic scale; False: uniformly.
    """

    low: float
    high: float
    grid: tuple[float, ...] = ()
    log: bool = True

    def suggest(self, name: str, trial: optuna.Trial) -> object:
        """A value from a trial of Optuna."""
        if isinstance(self.low, bool):
            return trial.suggest_categorical(name, self.grid)
        suggest = trial.suggest_int if isinstance(self.low, int) else trial.suggest_float
        return suggest(name, self.low, self.high, log=self.log)

    def distribution(self) -> Any:
        """A distribution of scipy, or a list of values to draw from."""
        from scipy import stats

        if isinstance(self.low, bool):
            return list(self.grid)
        if isinstance(self.low, int):  # about uniform on a logarithmic scale; 15 is a free choice
            return np.unique(np.rint(np.geomspace(self.low, self.high, 15)).astype(int)).tolist()
        if self.log:
            return stats.loguniform(self.low, self.high)
        return stats.uniform(self.low, self.high - self.low)


# Ranges and grids are chosen freely, around the defaults of the libraries. The page "Searches in
# equal time" of the docs measures what searches in these ranges find.
_RATE = Range(0.01, 0.2)
_SHARE = Range(0.3, 1.0, log=False)
_L2 = Range(1e-3, 100.0)
_TREES: dict[tuple[str, ...], dict[str, Range]] = {  # by module and classes
    ("lightgbm", "LGBMModel"): {
        "num_leaves": Range(4, 64, (7, 15, 31)),
        "min_child_samples": Range(5, 200, (20, 50)),
        "extra_trees": Range(False, True, (False, True)),
        "learning_rate": _RATE,
        "colsample_bytree": _SHARE,
        "reg_lambda": _L2,
    },
    ("xgboost", "XGBModel"): {
        "max_depth": Range(2, 8, (3, 4, 6)),
        "min_child_weight": Range(0.1, 100.0, (1.0, 10.0)),
        "reg_lambda": Range(1e-3, 100.0, (1.0, 10.0)),
        "learning_rate": _RATE,
        "colsample_bytree": _SHARE,
        "subsample": Range(0.5, 1.0, log=False),
    },
    ("catboost", "CatBoost"): {
        "depth": Range(2, 8, (3, 4, 6)),
        "l2_leaf_reg": Range(0.5, 100.0, (3.0, 10.0)),
        "random_strength": Range(0.1, 20.0, (1.0, 4.0)),
        "learning_rate": _RATE,
    },
    ("sklearn.ensemble", "HistGradientBoostingRegressor", "HistGradientBoostingClassifier"): {
        "max_leaf_nodes": Range(4, 64, (7, 15, 31)),
        "min_samples_leaf": Range(5, 200, (20, 50)),
        "l2_regularization": _L2,
        "learning_rate": _RATE,
    },
}
_START: dict[str, Range] = {"init_scale": Range(0.2, 5.0, (0.5, 1.0, 2.0))}


class SearchSpace(dict[str, list[float]]):
    """Lists of values by parameter for GridSearchCV, and ranges of values for other searches.

    Attributes
    ----------
    ranges : dict of str to Range
        All parameters. The grid has only the most important parameters.
    """

    def __init__(self, ranges: dict[str, Range]) -> None:
        super().__init__({name: list(span.grid) for name, span in ranges.items() if span.grid})
        self.ranges = ranges

    @property
    def distributions(self) -> Options:
        """Distributions and lists of values that RandomizedSearchCV draws from."""
        return {name: span.distribution() for name, span in self.ranges.items()}

    def suggest(self, trial: optuna.Trial) -> Options:
        """Parameters for `set_params` from a trial of Optuna."""
        return {name: span.suggest(name, trial) for name, span in self.ranges.items()}


def search_space(estimator: Estimator) -> SearchSpace:
    """Parameters of a ranker to tune, and their ranges.

    Parameters
    ----------
    estimator : estimator
        A GroupedRanker or LinearRanker; or an estimator of LightGBM, XGBoost, CatBoost or
        HistGradientBoosting, whose parameters get the names that they have in a GroupedRanker, such
        as ``estimator__num_leaves``.

    Returns
    -------
    SearchSpace
        A dict of lists for GridSearchCV, of at most 36 points; its `distributions` are for
        RandomizedSearchCV and its `suggest(trial)` for Optuna, with further parameters. The number
        of rounds is not a parameter: early stopping chooses it.

    Raises
    ------
    ValueError
        If skrank has no ranges for the class of the estimator.

    Examples
    --------
    >>> import lightgbm
    >>> import skrank
    >>> from skrank.model_selection import search_space
    >>> search_space(lightgbm.LGBMRanker())["estimator__num_leaves"]
    [7, 15, 31]
    >>> ranker = skrank.GroupedRanker(lightgbm.LGBMRanker(), objective="gap", init="linear")
    >>> sorted(search_space(ranker).ranges)[-1]
    'init_scale'
    >>> search_space(skrank.LinearRanker())
    {'alpha': [0.0001, 0.001, 0.01]}
    """
    if is_instance(estimator, "skrank", "LinearRanker"):
        return SearchSpace({"alpha": Range(1e-5, 0.1, (1e-4, 1e-3, 1e-2))})
    inner, start = estimator, {}
    if is_instance(estimator, "skrank", "GroupedRanker"):
        inner, start = estimator.estimator, {} if estimator.init is None else _START
    trees = next((_TREES[classes] for classes in _TREES if is_instance(inner, *classes)), None)
    if trees is None:
        raise ValueError(
            f"search_space has no ranges for the parameters of {type(inner).__name__}: pass a "
            "LinearRanker, or an estimator of LightGBM, XGBoost, CatBoost or "
            "HistGradientBoosting, alone or in a GroupedRanker."
        )
    return SearchSpace({f"estimator__{name}": span for name, span in trees.items()} | start)
