"""Parameters of metrics: fields of a dataclass that say what values they take.

A check returns a value in its normal form, or refuses it by name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from skrank import _validation as check

T = TypeVar("T")
Check = Callable[[str, Any], object]
_CHECK = "check"


def _field(default: Any, checked: Check) -> Any:
    return dataclasses.field(default=default, metadata={_CHECK: checked})


def parameter(default: T, checked: Callable[[Any], object]) -> T:
    """A parameter that has a check of its own, which knows its name."""
    return _field(default, lambda _, value: checked(value))


def choice(default: T, choices: Sequence[object]) -> T:
    """One of some values."""
    return _field(default, lambda name, value: check.check_choice(name, value, choices))


def flag(default: bool) -> bool:
    """True or False."""
    return _field(default, check.check_flag)


def number(default: float, low: float, high: float, *, open_low: bool = False) -> float:
    """A number in [low, high], or in (low, high]."""
    return _field(
        default, lambda name, value: check.check_number(name, value, low, high, open_low=open_low)
    )


def checked(instance: Any) -> dict[str, object]:
    """The parameters of an instance in their normal form."""
    checks: dict[str, Check] = {}
    # a class that gives a parameter of its base another default keeps the check of the base
    for cls in reversed(type(instance).__mro__):
        for name, field in vars(cls).get("__dataclass_fields__", {}).items():
            if _CHECK in field.metadata:
                checks[name] = field.metadata[_CHECK]
    return {name: one(name, getattr(instance, name)) for name, one in checks.items()}
