"""What NeuralRanker refuses to train, and where."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.utils import check_random_state
from torch import nn

from skrank import _validation as check
from skrank.metrics import metric


def check_training_options(ranker: Any, X_val: Any, y_val: Any, groups_val: Any) -> None:
    """Parameters of a NeuralRanker that fit together, and rows to validate on."""
    check.check_hidden(ranker.hidden)
    if ranker.module is not None and not callable(ranker.module):
        raise ValueError(
            f"module={ranker.module!r} must be a torch.nn.Module, or a function of the number of "
            "features that makes one."
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
        check.check_count("early_stopping_rounds", ranker.early_stopping_rounds, "see its docs")
    with check.about("scoring"):
        metric(ranker.scoring)  # raises if it is none
    with check.about("random_state"):
        check_random_state(ranker.random_state)
    usable(ranker.device)
    _check_validation(ranker.validation_fraction, X_val, y_val, groups_val)


def _check_validation(share: Any, X_val: Any, y_val: Any, groups_val: Any) -> None:
    """Rows to validate on from one source, if there are any."""
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both, or none.")
    if X_val is None and groups_val is not None:
        raise ValueError("groups_val is the query of each row of X_val: give X_val and y_val.")
    if share is not None:
        check.check_share("validation_fraction", share, ": it leaves nothing to train on")
        if X_val is not None:
            raise ValueError("there are X_val and validation_fraction: set one of the two.")


def fixed_parameters(ranker: Any) -> dict[str, Any]:
    """Parameters of a NeuralRanker that a training which is taken up cannot change."""
    names = "module", "dropout", "standardize", "random_state"
    fixed = {name: getattr(ranker, name) for name in names}
    return {"hidden": check.check_hidden(ranker.hidden)} | fixed


def check_trainable(network: Any) -> None:
    """A network with weights to train."""
    if not isinstance(network, nn.Module):
        raise ValueError(
            f"module gives a {type(network).__name__}: a function must make a torch.nn.Module."
        )
    if not any(one.requires_grad for one in network.parameters()):
        raise ValueError("module has no parameters to train: none requires a gradient.")


def usable(device: Any) -> torch.device:
    """A device that there is, and that holds numbers."""
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used: {reason}") from None
    if found.type == "meta":
        raise ValueError('device="meta" holds no numbers: choose another device, such as "cpu".')
    return found
