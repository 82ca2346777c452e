"""What LightGBM tells no callable: which Booster asks, with which parameters and arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from skrank import _validation as check

_ASKING = ("update", "eval_train", "eval_valid")  # methods of Booster that call callables
_NEARBY = 8  # calls between LightGBM's Booster and a callable, with room for wrappers of users


class Asking:
    """The Booster that asks for gradients or values, found among the callers.

    As a context: a machine that fails leaves the network of the training. LightGBM would leave it
    when the failed Booster is collected, which may be in the middle of the next training.

    Attributes
    ----------
    booster : lightgbm.Booster or None
        None: a user calls.
    params : dict
        Its parameters.
    machines : int
        Number of machines that train it.
    """

    def __init__(self) -> None:
        self.booster, self._train = _search(sys._getframe(1))
        self.params: dict[str, Any] = {} if self.booster is None else self.booster.params
        self.machines = check.n_machines(self.params)

    def argument(self, name: str) -> Sequence[Any]:
        """An argument of the `lightgbm.train` that runs, as a sequence."""
        if self._train is None or self._train.f_code.co_name != "train":
            return ()
        value = self._train.f_locals.get(name)
        return value if isinstance(value, (list, tuple)) else (value,)

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._train = None  # a frame holds all of its variables
        if kind is not None and self.machines > 1 and self.booster is not None:
            self.booster.free_network()


def _search(frame: FrameType | None) -> tuple[Any, FrameType | None]:
    """The nearest Booster that asks, and the frame that called it."""
    booster_class = sys.modules["lightgbm"].Booster if "lightgbm" in sys.modules else ()
    for _ in range(_NEARBY):
        if frame is None:
            break
        # the name first: to look at the variables of a frame keeps them alive
        if frame.f_code.co_name in _ASKING and isinstance(
            booster := frame.f_locals.get("self"), booster_class
        ):
            return booster, frame.f_back
        frame = frame.f_back
    return None, None
