"""Parameters of metrics and objectives: fields of a dataclass that say what values they take.

A check returns a value in its normal form, or refuses it by name. None, where that is the default,
stays None.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
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
    return _field(default, partial(check.check_choice, choices=choices))


def flag(default: T) -> T:
    """True or False."""
    return _field(default, check.check_flag)


def count(default: T, meaning: str) -> T:
    """A whole number of at least 1; `meaning` says in errors of what."""
    return _field(default, partial(check.check_count, meaning=meaning))


def random_seed(default: int) -> int:
    """The seed of random draws, an integer of any sign."""
    return _field(default, check.check_seed)


def number(default: float, low: float, high: float, *, open_low: bool = False) -> float:
    """A number in [low, high], or in (low, high]."""
    return _field(default, partial(check.check_number, low=low, high=high, open_low=open_low))


class Parameterised:
    """A frozen dataclass whose parameters are checked, and stored in their normal form."""

    def __post_init__(self) -> None:
        checked: dict[str, dataclasses.Field[Any]] = {}
        # a class that gives a parameter of its base another default keeps the check of the base
        for cls in reversed(type(self).__mro__):
            for name, field in vars(cls).get("__dataclass_fields__", {}).items():
                if _CHECK in field.metadata:
                    checked[name] = field
        for name, field in checked.items():
            value = getattr(self, name)
            if value is not None or field.default is not None:
                object.__setattr__(self, name, field.metadata[_CHECK](name, value))

    def _set(self, **fields: object) -> None:
        """Store normalised parameters of a frozen instance."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)
