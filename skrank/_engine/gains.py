"""Gains: what a document of each label is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrank import _validation as check

Gain = str | Sequence[float] | Mapping[float, float]


def check_gain(gain: Gain) -> Any:
    """A gain as "exp2", "linear", gains by label 0, 1, 2, ..., or pairs of label and gain."""
    if isinstance(gain, str):
        return check.check_choice("gain", gain, ("exp2", "linear"))
    if isinstance(gain, Mapping) or _is_pairs(gain):
        pairs = check.check_mapping("gain", gain)
        check.check_gains("gain", [worth for _, worth in pairs])
        return pairs
    numbers = check.check_numbers("gain", gain)
    check.check_gains("gain", numbers)
    return numbers


def _is_pairs(gain: object) -> bool:
    return isinstance(gain, tuple) and len(gain) > 0 and isinstance(gain[0], tuple)


def gain_per_code(gain: Any, labels: np.ndarray, place: check.Place | None = None) -> np.ndarray:
    """Gain of each label; `place` says where the first document of a code stands."""
    if gain == "exp2":
        check.check_exponent("gain=exp2", labels, place)
        return np.exp2(labels) - 1
    if gain == "linear":
        return labels.astype(np.float64)
    pairs = gain if isinstance(gain[0], tuple) else enumerate(gain)
    return check.look_up("gain", dict(pairs), labels)
