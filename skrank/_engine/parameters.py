"""Parameters of metrics and objectives: fields of a dataclass with a check of their values.

A check returns a value in its normal form, or raises an error that names the parameter. A parameter
whose default is None may be None, which is not checked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from skrank import _validation as check

T = TypeVar("T")
Check = Callable[[str, Any], object]
_CHECK = "check"  # key of the metadata of a field


def _named(default: T, check_value: Check) -> T:
    """A parameter with the check ``check_value(name, value)``."""
    return dataclasses.field(default=default, metadata={_CHECK: check_value})


def parameter(default: T, check_value: Callable[[Any], object]) -> T:
    """A parameter with the check ``check_value(value)``, whose errors name the parameter."""
    return _named(default, lambda _, value: check_value(value))


def choice(default: T, choices: Sequence[object]) -> T:
    """One of some values."""
    return _named(default, partial(check.check_choice, choices=choices))


def flag(default: T) -> T:
    """True or False."""
    return _named(default, check.check_flag)


def count(default: T, meaning: str) -> T:
    """A whole number of at least 1; `meaning`, such as "the number of orders", is for errors."""
    return _named(default, partial(check.check_count, meaning=meaning))


def number(default: float, low: float, high: float, *, open_low: bool = False) -> float:
    """A number in [low, high], or in (low, high].

    The upper bound 1e6 of several parameters is a free choice, far from overflow and cancellation.
    """
    return _named(default, partial(check.check_number, low=low, high=high, open_low=open_low))


class Parameterised:
    """Base class of frozen dataclasses: checks parameters, and stores them in their normal form."""

    def __post_init__(self) -> None:
        checked: dict[str, dataclasses.Field[Any]] = {}
        # if a subclass redefines the default of a parameter, the check of the base class remains,
        # and the default of the base class says whether None is allowed
        for cls in reversed(type(self).__mro__):
            for name, field in vars(cls).get("__dataclass_fields__", {}).items():
                if _CHECK in field.metadata:
                    checked[name] = field
        for name, field in checked.items():
            value = getattr(self, name)
            if value is not None or field.default is not None:
                object.__setattr__(self, name, field.metadata[_CHECK](name, value))

    @property
    def needs_scale(self) -> bool:
        """Whether results depend on a highest grade of the collection that no parameter fixes.

        Default: True if there is a parameter `max_grade`, and it is None. For an objective, its
        metric is not considered: the metric has this attribute, too.
        """
        return getattr(self, "max_grade", 0) is None

    def _set(self, **fields: object) -> None:
        """Set fields of this frozen instance."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


def format_value(value: object) -> str:
    """The text of a parameter, such as "[1,2]" or "{0:1,3:7}", as `skrank.metric` reads it."""
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):  # a mapping, stored as pairs
            return "{" + ",".join(f"{format_value(a)}:{format_value(b)}" for a, b in value) + "}"
        return "[" + ",".join(map(format_value, value)) + "]"
    if isinstance(value, str):
        constant = value in ("False", "None", "True")
        bare = value.isidentifier() and not constant
        return value if bare else repr(value)
    return repr(value.item() if isinstance(value, np.generic) else value)
