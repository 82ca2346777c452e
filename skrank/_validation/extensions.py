"""Checks of metrics that users define: classes, names, tables, and functions of one list."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import first
from skrank._validation.parameters import brief, check_range

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_Kind = TypeVar("_Kind")


def check_free_name(name: str, taken: Mapping[str, type], cls: type) -> None:
    """Check that no other class has this name."""
    other = taken.get(name)
    # the same module and name: the class was defined again, as when a notebook cell runs twice
    if other is not None and _source(other) != _source(cls):
        raise ValueError(
            f"the name {name!r} is taken by {_source(other)}: choose another, or free it "
            f"with skrank.unregister({name!r}) if that class is yours."
        )


def check_metric_name(name: object) -> str:
    """A name that texts such as ``name(parameter=value)@k`` can contain."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is not a name for a metric: use small letters, digits and underscores, "
            "with a letter first, such as 'my_metric', and no keyword of Python "
            "(name= of metric_from_function)."
        )
    return name


def check_metric_class(cls: object, base: type, name: str) -> None:
    """Check that a class is a metric that can be registered.

    It must be a concrete subclass of `base`, a frozen dataclass, and have a default for each field.
    """
    if not (inspect.isclass(cls) and issubclass(cls, base)):
        raise TypeError(
            f"register({name!r}) takes a class that derives from skrank.Metric, not {cls!r}. "
            "A function of one ranked list becomes a metric by skrank.metric_from_function."
        )
    abstract = sorted(getattr(cls, "__abstractmethods__", ()))
    if abstract:
        raise TypeError(f"{cls.__name__} is not a metric yet: it does not define {abstract[0]}().")
    if len(inspect.signature(cls.tables).parameters) != 3:  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__}.tables must be def tables(self, scale, k).")
    is_dataclass = "__dataclass_fields__" in vars(cls)
    fields = dataclasses.fields(cls) if is_dataclass else None  # type: ignore[arg-type]
    if fields is None or not all(field.kw_only for field in fields):
        raise TypeError(
            f"{cls.__name__} is not a dataclass of keywords only: put "
            f"@dataclass(frozen=True, kw_only=True) on {cls.__name__}, below @register."
        )
    for field in fields:
        if field.default is dataclasses.MISSING:
            raise TypeError(f"{cls.__name__}.{field.name} has no default: give it one.")
    bounds = inspect.getattr_static(cls, "value_range")
    if not isinstance(bounds, property):
        check_range(f"{cls.__name__}.value_range", bounds)


def _source(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def as_table(name: str, value: ArrayLike, n_axes: int, dtype: type = np.float64) -> np.ndarray:
    """A table as a contiguous, writable array of one dtype, so that loops are compiled once."""
    try:
        table = np.asarray(value)
        if value is None or np.iscomplexobj(table):
            raise TypeError
        with np.errstate(invalid="ignore"):
            array: np.ndarray = np.require(table.astype(dtype, copy=False), requirements=["C", "W"])
        if dtype is np.int64 and not np.array_equal(array, table):  # such as 0.5
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers, not {_brief_type(value)}.") from None
    if array.ndim != n_axes:
        raise ValueError(f"{name} has {array.ndim} axes instead of {n_axes}.")
    if array.size and np.isnan(array.min()):  # one pass, without a mask
        raise ValueError(f"{name} holds NaN: every label and every rank needs a number.")
    return array


def check_finite_table(name: str, array: np.ndarray) -> None:
    """Check that no entry of a table without NaN is infinite."""
    if array.size and not (array.min() > -np.inf and array.max() < np.inf):
        raise ValueError(f"{name} holds an infinite entry: all entries must be finite.")


def check_kind(name: str, value: object, kind: type[_Kind]) -> _Kind:
    """`value`, after a check of its type."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {_brief_type(value)}.")
    return value


def _brief_type(value: object) -> str:
    """A short text of a bad value: its repr, or its type if the repr is long."""
    text = repr(value)
    return text if len(text) < 40 else f"a {type(value).__name__}"


def check_entries(
    name: str, array: np.ndarray, axes: tuple[str, ...], entries: Mapping[str, int]
) -> None:
    """Check the sizes of a table: one entry per label code and query, and at least one per rank."""
    for axis, size in zip(axes, array.shape, strict=True):
        needed = entries[axis]
        if size < needed or (axis != "ranks" and size > needed):
            what = {"codes": "labels of scale.labels", "ranks": "ranks of scale.longest"}
            raise ValueError(f"{name} has {size} entries for {needed} {what.get(axis, 'queries')}.")


def check_within(name: str, array: np.ndarray, low: float, high: float) -> None:
    """Check that all entries of a table are between two bounds."""
    outside = array[(array < low) | (array > high)]
    if outside.size:
        raise ValueError(f"{name} holds {outside[0]:g}: entries are between {low:g} and {high:g}.")


def check_falling(name: str, array: np.ndarray) -> None:
    """Check that the entries of a table do not rise from rank to rank."""
    if (rank := first(np.diff(array) > 0)) >= 0:
        raise ValueError(f"{name} rises from rank {rank + 1} to {rank + 2}: it must not.")


def check_classes(name: str, worth: np.ndarray, equals: np.ndarray, labels: np.ndarray) -> None:
    """Check that labels of equal gain have the same entry in `worth`.

    ``equals[c]`` is the first label code with the gain of code c.
    """
    if (code := first(worth != worth[equals])) >= 0:
        raise ValueError(
            f"the labels {labels[equals[code]]:g} and {labels[code]:g} have equal gain and differ "
            f"in {name}: documents of equal gain must have equal values."
        )


def takes_unretrieved(function: Callable[..., object]) -> bool:
    """True if a function has a parameter `unretrieved`; raises if it takes other parameters."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of compiled functions without a signature
        return False
    both = "unretrieved" in signature.parameters
    try:
        bound = signature.bind(*("ranked", "unretrieved")[: 1 + both])
        if both and bound.arguments.get("unretrieved") != "unretrieved":  # it is not the second
            raise TypeError
    except TypeError:
        raise TypeError(
            f"function{signature} is called as function(ranked), or as function(ranked, "
            "unretrieved): with the labels of one list in rank order, and those of the judged "
            "documents not retrieved. Labels and scores of rows are arguments of the metric."
        ) from None
    return both


def list_value(value: Any, name: str, query: str, ranked: Collection[float]) -> float:
    """What a function of one list returned, after a check that it is a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not np.isfinite(number):
        raise ValueError(
            f"{name} returned {brief(value)} for query {query}, whose list begins with the labels "
            f"{brief(list(ranked))}: it must return a finite number for every list."
        )
    return number
