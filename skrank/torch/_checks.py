"""Checks of the parameters, the network and the device of NeuralRanker."""

from __future__ import annotations

import torch
from sklearn.utils import check_random_state
from torch import nn

from skrank import _validation as check
from skrank._typing import Options
from skrank.metrics import metric


def check_training_options(
    params: Options, X_val: object, y_val: object, groups_val: object
) -> None:
    """Check the parameters of a NeuralRanker, and which validation rows are given."""
    check.check_hidden(params["hidden"])
    if params["module"] is not None and not callable(params["module"]):
        raise ValueError(
            f"module={params['module']!r} must be a torch.nn.Module, or a function of the number "
            "of features that returns a module."
        )
    for name in ("standardize", "warm_start", "progress"):
        check.check_flag(name, params[name])
    check.check_count("epochs", params["epochs"], "passes over the training queries")
    check.check_count("batch_queries", params["batch_queries"], "queries of a batch")
    check.check_number("learning_rate", params["learning_rate"], 0, 1e3, open_low=True)
    check.check_number("weight_decay", params["weight_decay"], 0, 1e3)
    if check.check_number("dropout", params["dropout"], 0, 1):
        check.check_share("dropout", params["dropout"], ": it leaves no unit")
    if params["max_queries"] is not None:
        check.check_count("max_queries", params["max_queries"], "training queries to use")
    if params["early_stopping_rounds"] is not None:
        check.check_count(
            "early_stopping_rounds", params["early_stopping_rounds"], "epochs without improvement"
        )
    with check.about("scoring"):
        metric(params["scoring"])  # raises if scoring is not a metric
    with check.about("random_state"):
        check_random_state(params["random_state"])
    usable(params["device"])
    _check_validation(params["validation_fraction"], X_val, y_val, groups_val)


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


def fixed_parameters(params: Options) -> dict[str, object]:
    """Parameters of a NeuralRanker that a warm start cannot change."""
    names = "module", "dropout", "standardize", "random_state"
    fixed: dict[str, object] = {name: params[name] for name in names}
    return fixed | {"hidden": check.check_hidden(params["hidden"])}


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
