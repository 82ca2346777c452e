"""What LightGBM tells no callable: which Booster asks, with which parameters and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from skrank import _validation as check
from skrank._callers import lightgbm_training


class Asking:
    """The training that asks for gradients or values; without parameters if a user calls.

    As a context: a machine that fails leaves the network of the training. LightGBM would leave it
    when the failed Booster is collected, which may be in the middle of the next training.

    Attributes
    ----------
    params : mapping
        Parameters of the Booster.
    machines : int
        Number of machines that train it.
    tuner : object or None
        The tuner of Optuna that trains it.
    training_set : lightgbm.Dataset or None
    """

    def __init__(self) -> None:
        self._training = lightgbm_training()
        found = self._training
        self.params: Mapping[str, Any] = {} if found is None else found.booster.params
        self.machines = check.n_machines(self.params)
        self.tuner = None if found is None else found.tuner
        self.training_set = None if found is None else getattr(found.booster, "train_set", None)

    def argument(self, name: str) -> Sequence[object]:
        """An argument of the `lightgbm.train` that runs, as a sequence."""
        return () if self._training is None else self._training.argument(name)

    def __enter__(self) -> Asking:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        found, self._training = self._training, None  # lets go of a frame and all of its variables
        if kind is not None and self.machines > 1 and found is not None:
            found.booster.free_network()
