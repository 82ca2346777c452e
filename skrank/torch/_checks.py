"""Checks of data sets and samplers of queries, and of the parameters of NeuralRanker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from torch import nn

from skrank import _validation as check
from skrank._typing import Options
from skrank.metrics import metric

# data sets and samplers


def whole_numbers(name: str, values: torch.Tensor | ArrayLike, remedy: str) -> np.ndarray:
    """A copy of `values` in int64, after a check that they are whole numbers in one dimension.

    `remedy` says in errors what to pass.
    """
    try:
        tensor = isinstance(values, torch.Tensor)
        array = np.array(values.numpy(force=True) if tensor else values)  # type: ignore[union-attr]
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be whole numbers in one dimension: {remedy}.") from None
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(
            f"{name} must be whole numbers in one dimension, and not of shape {array.shape} and "
            f"type {array.dtype}: {remedy}."
        )
    return array.astype(np.int64) if len(array) else np.empty(0, np.int64)


def check_data_labels(labels: np.ndarray, first_row: int = 0) -> np.ndarray:
    """Labels of a data set, after a check of each: NaN, or in the range of grades."""
    bad = np.flatnonzero(check.are_no_labels(labels))
    if len(bad):
        raise check.bad_label(float(labels[bad[0]]), first_row + int(bad[0]))
    return labels


def are_finite(values: np.ndarray) -> bool:
    """True if every value is finite."""
    with np.errstate(all="ignore"):  # a finite sum proves it in one pass; large sums may overflow
        return math.isfinite(values.sum()) or bool(np.isfinite(values).all())


def check_narrowed(
    narrow: np.ndarray, values: np.ndarray, names: Sequence[object], rows: np.ndarray, kind: object
) -> None:
    """Check that no feature became infinite by conversion of `values` to dtype `kind`."""
    if are_finite(narrow):
        return
    lost = np.argwhere(np.isinf(narrow) & np.isfinite(values))
    if len(lost):
        row, feature = lost[0]
        raise ValueError(
            f"feature {names[feature]!r} of row {rows[row]} is {values[row, feature]:g}, which is "
            f"infinite in {kind}: scale the features, or choose dtype=torch.float64."
        )


def needs_max_grade(what: object) -> ValueError:
    """The error for a missing `max_grade`."""
    return ValueError(
        f"{what} depends on the highest grade of the collection, which may be missing from a "
        "batch: give max_grade."
    )


# NeuralRanker


def check_training_options(
    params: Options, X_val: object, y_val: object, groups_val: object
) -> None:
    """Check the parameters of a NeuralRanker, and which validation rows are given."""
    check_hidden(params["hidden"])
    if params["module"] is not None and not callable(params["module"]):
        raise ValueError(
            f"module={params['module']!r} must be a torch.nn.Module, or a function of the number "
            "of features that returns a module."
        )
    for name in ("standardize", "warm_start", "progress"):
        check.check_flag(name, params[name])
    check.check_number("learning_rate", params["learning_rate"], 0, 1e3, open_low=True)
    check.check_number("weight_decay", params["weight_decay"], 0, 1e3)
    if check.check_number("dropout", params["dropout"], 0, 1):
        check.check_share("dropout", params["dropout"], ": it leaves no unit")
    for name, meaning in (
        ("epochs", "passes over the training queries"),
        ("batch_queries", "queries of a batch"),
        ("max_queries", "training queries to use"),
        ("early_stopping_rounds", "epochs without improvement"),
    ):
        if params[name] is not None or name in ("epochs", "batch_queries"):
            check.check_count(name, params[name], meaning)
    with check.about("scoring"):
        metric(params["scoring"])  # raises if scoring is not a metric
    check.as_random_state("random_state", params["random_state"])
    usable(params["device"])
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both, or neither.")
    if X_val is None and groups_val is not None:
        raise ValueError("groups_val is the query of each row of X_val: give X_val and y_val.")
    if params["validation_fraction"] is not None:
        share = params["validation_fraction"]
        check.check_share("validation_fraction", share, ": it leaves nothing to train on")
        if X_val is not None:
            raise ValueError("X_val and validation_fraction are both given: leave out one.")


def check_hidden(hidden: Sequence[int] | int) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is the width of one hidden layer."""
    hidden = [hidden] if isinstance(hidden, (int, np.integer)) else hidden
    if not isinstance(hidden, (list, tuple, np.ndarray)) or np.ndim(hidden) != 1:
        raise ValueError(
            f"hidden={hidden!r} must be the width of the hidden layer, or a sequence of widths."
        )
    return tuple(check.check_count("each of hidden", width, "units of a layer") for width in hidden)


def fixed_parameters(params: Options) -> dict[str, object]:
    """Parameters of a NeuralRanker that a warm start cannot change."""
    names = "module", "dropout", "standardize", "random_state"
    fixed: dict[str, object] = {name: params[name] for name in names}
    return fixed | {"hidden": check_hidden(params["hidden"])}


def check_unchanged(before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Check that parameters have the values of the first fit, for a warm start."""
    for name, value in before.items():
        if value is not now[name] and value != now[name]:
            raise ValueError(
                f"{name}={now[name]!r} was {value!r} in the first fit, which warm_start=True "
                f"continues: restore {name}, or set warm_start=False to train anew."
            )


def check_feature_sizes(X: np.ndarray | csr_matrix, highest: float) -> None:
    """Check that no feature of X, dense or sparse, exceeds `highest` in absolute value."""
    values = X if isinstance(X, np.ndarray) else X.data
    if not values.size or max(values.max(), -values.min()) <= highest:
        return
    large = np.abs(X) > highest
    row, feature = (int(one[0]) for one in large.nonzero())
    raise ValueError(
        f"feature {feature} of row {row} of X is {X[row, feature]:g}, and networks take features "
        f"up to {highest:g}: scale the features, or choose standardize=True."
    )


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
