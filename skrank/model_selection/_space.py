"""search_space: parameters of rankers to tune, with their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank._fitted import class_names
from skrank._typing import Estimator, Options, RandomState

if TYPE_CHECKING:
    import optuna

_PREFIX = "estimator__"


@dataclass(frozen=True)
class Between:
    """A range of numbers.

    Attributes
    ----------
    low, high : int or float
        Bounds, included. If both are integers, values are integers.
    grid : tuple
        Values for a grid search; empty if a grid search does not vary the parameter.
    log : bool
        True: values are drawn uniformly on a logarithmic scale; False: uniformly.
    """

    low: float
    high: float
    grid: tuple[float, ...] = ()
    log: bool = True

    @property
    def whole(self) -> bool:
        """True if the values are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def suggest(self, name: str, trial: optuna.Trial) -> float:
        """A value from a trial of Optuna."""
        suggest = trial.suggest_int if self.whole else trial.suggest_float
        return suggest(name, self.low, self.high, log=self.log)

    def rvs(self, size: int | None = None, random_state: RandomState = None) -> float | np.ndarray:
        """Random values, by the interface of scipy's distributions."""
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        rng = check.as_random_state("random_state", random_state)
        transform, inverse = (np.log, np.exp) if self.log else (np.asarray, np.asarray)
        drawn = inverse(rng.uniform(transform(low), transform(high), size))
        values = np.clip(np.rint(drawn) if self.whole else drawn, self.low, self.high)
        kind = int if self.whole else float
        return kind(values) if size is None else values.astype(kind)


@dataclass(frozen=True)
class OneOf:
    """A set of values, all of which are in the grid."""

    values: tuple[bool, ...]

    @property
    def grid(self) -> tuple[bool, ...]:
        """All values."""
        return self.values

    def suggest(self, name: str, trial: optuna.Trial) -> object:
        """A value from a trial of Optuna."""
        return trial.suggest_categorical(name, self.values)


_RATE = Between(0.01, 0.2)
_SHARE = Between(0.3, 1.0, log=False)
_L2 = Between(1e-3, 100.0)
_TREES: dict[tuple[str, str], dict[str, Between | OneOf]] = {
    ("lightgbm", "LGBMModel"): {
        "num_leaves": Between(4, 64, (7, 15, 31)),
        "min_child_samples": Between(5, 200, (20, 50)),
        "extra_trees": OneOf((False, True)),
        "learning_rate": _RATE,
        "colsample_bytree": _SHARE,
        "reg_lambda": _L2,
    },
    ("xgboost", "XGBModel"): {
        "max_depth": Between(2, 8, (3, 4, 6)),
        "min_child_weight": Between(0.1, 100.0, (1.0, 10.0)),
        "reg_lambda": Between(1e-3, 100.0, (1.0, 10.0)),
        "learning_rate": _RATE,
        "colsample_bytree": _SHARE,
        "subsample": Between(0.5, 1.0, log=False),
    },
    ("catboost", "CatBoost"): {
        "depth": Between(2, 8, (3, 4, 6)),
        "l2_leaf_reg": Between(0.5, 100.0, (3.0, 10.0)),
        "random_strength": Between(0.1, 20.0, (1.0, 4.0)),
        "learning_rate": _RATE,
    },
    ("sklearn", "BaseHistGradientBoosting"): {
        "max_leaf_nodes": Between(4, 64, (7, 15, 31)),
        "min_samples_leaf": Between(5, 200, (20, 50)),
        "l2_regularization": _L2,
        "learning_rate": _RATE,
    },
}
_LINEAR: dict[str, Between | OneOf] = {"alpha": Between(1e-5, 0.1, (1e-4, 1e-3, 1e-2))}
_START: dict[str, Between | OneOf] = {"init_scale": Between(0.2, 5.0, (0.5, 1.0, 2.0))}


class SearchSpace(dict[str, list[float]]):
    """Lists of values by parameter for GridSearchCV, and ranges of values for other searches.

    Attributes
    ----------
    ranges : dict of str to Between or OneOf
        All parameters. The grid has only the most important parameters.
    """

    def __init__(self, ranges: dict[str, Between | OneOf]) -> None:
        super().__init__({name: list(one.grid) for name, one in ranges.items() if one.grid})
        self.ranges = ranges

    @property
    def distributions(self) -> dict[str, Between | Sequence[bool]]:
        """Distributions and lists of values that RandomizedSearchCV draws from."""
        return {
            name: one.values if isinstance(one, OneOf) else one for name, one in self.ranges.items()
        }

    def suggest(self, trial: optuna.Trial) -> Options:
        """Parameters for `set_params` from a trial of Optuna."""
        return {name: one.suggest(name, trial) for name, one in self.ranges.items()}


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
    classes = list(class_names(estimator))
    if ("skrank", "LinearRanker") in classes:
        return SearchSpace(dict(_LINEAR))
    inner, start = estimator, False
    if ("skrank", "GroupedRanker") in classes:
        inner, start = estimator.estimator, estimator.init is not None
    trees = next((_TREES[name] for name in class_names(inner) if name in _TREES), None)
    if trees is None:
        raise ValueError(
            f"search_space has no ranges for the parameters of {type(inner).__name__}: pass a "
            "LinearRanker, or an estimator of LightGBM, XGBoost, CatBoost or "
            "HistGradientBoosting, alone or in a GroupedRanker."
        )
    ranges = {_PREFIX + name: one for name, one in trees.items()}
    return SearchSpace({**ranges, **(_START if start else {})})
