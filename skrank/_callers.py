"""What is found among the callers of a function: the one file of skrank that looks at frames.

Some things are told to no estimator, scorer, objective or metric. They are read from the variables
of the functions that are at work, by names which are not part of any public interface:

* scikit-learn: a function that splits rows has variables ``X``, ``y``, ``train`` and ``test``
  (`_fit_and_score`, `_fit_and_predict`, `_permutation_test_score`, `_rfe_single_fit`, ...).
* LightGBM: ``self`` of `Booster.update`, `Booster.eval_train` and `Booster.eval_valid`; the
  arguments ``callbacks`` and ``feval`` of `lightgbm.train`, which calls these methods.
* XGBoost: ``self`` of `xgboost.callback.CallbackContainer.after_iteration`, with its callbacks, and
  ``dtrain``, the data that it trains on.
* Optuna: ``self`` of the function that calls `lightgbm.train` or `cv` for a `LightGBMTuner`.

Where nothing is found, because a user calls or another version has other names, nothing is warned
of or refused, and no number is another one. Without this file skrank would lose the warnings of
splits that cut queries, and the errors for boosters that would train or stop on something else than
was asked for. `tests/project/test_callers.py` fails when an installed version changes its names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

_PARTS = ("X", "y", "train", "test")
_ASKING = ("update", "eval_train", "eval_valid")
_NEARBY = 10  # calls between a booster and a callable of skrank, with room for wrappers of users


def _upwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A function at work and its callers, the nearest first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


# Everywhere below, the name of a function is compared first: to look at the variables of a frame
# keeps them alive until the function returns.


def splitting_tools() -> Iterator[Mapping[str, Any]]:
    """The variables of the functions of scikit-learn that split rows, the nearest first."""
    for frame in _upwards(sys._getframe(1)):
        names = frame.f_code.co_varnames
        if str(frame.f_globals.get("__name__")).startswith("sklearn.") and all(
            name in names for name in _PARTS
        ):
            yield frame.f_locals


class LightGBMTraining(NamedTuple):
    """The training of LightGBM that asks for gradients or values.

    Attributes
    ----------
    booster : lightgbm.Booster or None
        None if a user asks.
    caller : frame or None
        The function that called the Booster.
    """

    booster: Any
    caller: FrameType | None

    @property
    def params(self) -> Mapping[str, Any]:
        """Parameters of the Booster."""
        return {} if self.booster is None else self.booster.params

    @property
    def data(self) -> Any:
        """The `lightgbm.Dataset` that it trains on, if it is known."""
        return getattr(self.booster, "train_set", None)

    def argument(self, name: str) -> Sequence[object]:
        """An argument of `lightgbm.train`, as a sequence; empty in other functions."""
        if self.caller is None or self.caller.f_code.co_name != "train":
            return ()
        value = self.caller.f_locals.get(name)
        return value if isinstance(value, (list, tuple)) else (value,)

    @property
    def tuner(self) -> Any:
        """The part of Optuna's LightGBMTuner that trains, if one does."""
        for frame in islice(_upwards(self.caller), _NEARBY):
            if str(frame.f_globals.get("__name__")).startswith("optuna"):
                tuner = frame.f_locals.get("self")
                return tuner if hasattr(tuner, "higher_is_better") else None
        return None


def lightgbm_training() -> LightGBMTraining | None:
    """The training whose Booster asks, among the nearest callers."""
    booster_class = sys.modules["lightgbm"].Booster if "lightgbm" in sys.modules else ()
    for frame in islice(_upwards(sys._getframe(1)), _NEARBY):
        if frame.f_code.co_name in _ASKING and isinstance(
            booster := frame.f_locals.get("self"), booster_class
        ):
            return LightGBMTraining(booster, frame.f_back)
    return None


class XGBoostTraining(NamedTuple):
    """The training of XGBoost that asks for values.

    Attributes
    ----------
    callbacks : sequence of xgboost.callback.TrainingCallback
    data : xgboost.DMatrix or None
        What it trains on; in a cross-validation, the data of all folds.
    """

    callbacks: Sequence[object]
    data: Any


def xgboost_training() -> XGBoostTraining | None:
    """The training whose callbacks ask, among the nearest callers."""
    if "xgboost" not in sys.modules:
        return None
    container = sys.modules["xgboost"].callback.CallbackContainer
    for frame in islice(_upwards(sys._getframe(1)), _NEARBY):
        if frame.f_code.co_name == "after_iteration" and isinstance(
            found := frame.f_locals.get("self"), container
        ):
            return XGBoostTraining(found.callbacks, frame.f_locals.get("dtrain"))
    return None
