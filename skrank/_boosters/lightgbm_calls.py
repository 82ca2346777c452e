"""What LightGBM tells no callable: which Booster asks, with which parameters and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skrank import _validation as check
from skrank._callers import LightGBMTraining, lightgbm_training


@contextmanager
def asking() -> Iterator[LightGBMTraining]:
    """The training that asks for gradients or values; without parameters if a user calls.

    A machine that fails leaves the network of the training. LightGBM would leave it when the failed
    Booster is collected, which may be in the middle of the next training.
    """
    found = lightgbm_training() or LightGBMTraining(None, None)
    try:
        yield found
    except BaseException:
        if check.n_machines(found.params) > 1:
            found.booster.free_network()
        raise
