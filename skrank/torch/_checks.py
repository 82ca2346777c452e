"""Checks of the parameters, the network and the device of NeuralRanker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from sklearn.utils import check_random_state
from torch import nn

from skrank import _validation as check
from skrank.metrics import metric

if TYPE_CHECKING:
    from skrank.torch._ranker import NeuralRanker


def check_training_options(
    ranker: NeuralRanker, X_val: object, y_val: object, groups_val: object
) -> None:
    """Check the parameters of a NeuralRanker, and which validation rows are given."""
    check.check_hidden(ranker.hidden)
    if ranker.module is not None and not callable(ranker.module):
        raise ValueError(
            f"module={ranker.module!r} must be a torch.nn.Module, or a function of the number of "
            "features that returns a module."
        )
    for name in ("standardize", "warm_start", "progress"):
        check.check_flag(name, getattr(ranker, name))
    check.check_count("epochs", ranker.epochs, "passes over the training queries")
    check.check_count("batch_queries", ranker.batch_queries, "queries of a batch")
    check.check_number("learning_rate", ranker.learning_rate, 0, 1e3, open_low=True)
    check.check_number("weight_decay", ranker.weight_decay, 0, 1e3)
    if check.check_number("dropout", ranker.dropout, 0, 1):
        check.check_share("dropout", ranker.dropout, ": it leaves no unit")
    if ranker.max_queries is not None:
        check.check_count("max_queries", ranker.max_queries, "training queries to use")
    if ranker.early_stopping_rounds is not None:
        check.check_count(
            "early_stopping_rounds", ranker.early_stopping_rounds, "epochs without improvement"
        )
    with check.about("scoring"):
        metric(ranker.scoring)  # raises if scoring is not a metric
    with check.about("random_state"):
        check_random_state(ranker.random_state)
    usable(ranker.device)
    _check_validation(ranker.validation_fraction, X_val, y_val, groups_val)


def _check_validation(
    share: float | None, X_val: object, y_val: object, groups_val: object
) -> None:
    """Check that validation rows come from one source."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both, or neither.")
    if X_val is None and groups_val is not None:
        raise ValueError("groups_val is the query of each row of X_val: give X_val and y_val.")
    if share is not None:
        check.check_share("validation_fraction", share, ": it leaves nothing to train on")
        if X_val is not None:
            raise ValueError("X_val and validation_fraction are both given: leave out one.")


def fixed_parameters(ranker: NeuralRanker) -> dict[str, object]:
    """Parameters of a NeuralRanker that a warm start cannot change."""
    names = "module", "dropout", "standardize", "random_state"
    fixed: dict[str, object] = {name: getattr(ranker, name) for name in names}
    return fixed | {"hidden": check.check_hidden(ranker.hidden)}


def check_trainable(network: object) -> None:
    """Check that a network has weights to train."""
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"module returns a {type(network).__name__}: it must return a torch.nn.Module."
        )
    if not any(one.requires_grad for one in network.parameters()):
        raise ValueError("module has no parameters to train: no parameter requires a gradient.")


def usable(device: str | torch.device) -> torch.device:
    """A device, after a check that tensors can be created there."""
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used: {reason}") from None
    if found.type == "meta":
        raise ValueError('device="meta" stores no values: choose another device, such as "cpu".')
    return found
