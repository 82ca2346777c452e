"""Checks of what others add: classes of metrics, their names, tables, and functions of a list."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_Kind = TypeVar("_Kind")


# names and classes


def check_free_name(name: str, taken: Mapping[str, type], cls: type) -> None:
    """A name that no other class has."""
    other = taken.get(name)
    # of one source is a class that is defined once more: a cell or a module that ran again
    if other is not None and _source(other) != _source(cls):
        raise ValueError(
            f"the name {name!r} is taken by {_source(other)}: choose another, or free it "
            f"with skrank.unregister({name!r}) if that class is yours."
        )


def check_metric_name(name: object) -> str:
    """A name as texts such as ``name(parameter=value)@k`` have it."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is not a name for a metric: use small letters, digits and underscores, a "
            "letter first, and no word of Python's own, such as 'my_metric'."
        )
    return name


def check_metric_class(cls: object, base: type, name: str) -> None:
    """A concrete, frozen dataclass of keyword parameters with defaults."""
    if not (inspect.isclass(cls) and issubclass(cls, base)):
        raise TypeError(
            f"register({name!r}) takes a class that derives from skrank.Metric, not {cls!r}. "
            "A function of one ranked list becomes a metric by skrank.metric_from_function."
        )
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise TypeError(f"{cls.__name__} is not a metric yet: it does not define {missing[0]}().")
    try:
        inspect.signature(cls.tables).bind(None, None, None)  # type: ignore[attr-defined]
    except TypeError:
        raise TypeError(
            f"{cls.__name__}.tables must take the scale and k: def tables(self, scale, k)."
        ) from None
    wanted = f"put @dataclass(frozen=True, kw_only=True) on {cls.__name__}, below @register"
    if "__dataclass_fields__" not in vars(cls):
        raise TypeError(f"{cls.__name__} is not a dataclass: {wanted}.")
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if not field.kw_only:
            raise TypeError(f"{cls.__name__}.{field.name} is not for keywords only: {wanted}.")
        if field.default is dataclasses.MISSING:
            raise TypeError(
                f"{cls.__name__}.{field.name} has no default: give it one, so that the name "
                f"{name!r} alone is a metric."
            )


def _source(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


# tables


def as_table(name: str, value: ArrayLike, n_axes: int, dtype: type = np.float64) -> np.ndarray:
    """A table as compiled loops take it: numbers in one contiguous block of one type."""
    try:
        given = np.asarray(value)
        if value is None or np.iscomplexobj(given):
            raise TypeError
        with np.errstate(invalid="ignore"):
            array: np.ndarray = np.require(given.astype(dtype, copy=False), requirements=["C", "W"])
        if dtype is np.int64 and not np.array_equal(array, given):  # 0.5 is not a place
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers, not {_shown(value)}.") from None
    if array.ndim != n_axes:
        raise ValueError(f"{name} has {array.ndim} axes instead of {n_axes}.")
    if array.size and np.isnan(array.min()):  # one pass, without a mask
        raise ValueError(f"{name} holds NaN: every label and every rank needs a number.")
    return array


def check_finite_table(name: str, array: np.ndarray) -> None:
    """Entries of a table, none of them NaN, that are numbers."""
    if array.size and not (array.min() > -np.inf and array.max() < np.inf):
        raise ValueError(f"{name} holds an infinite entry: all must be finite.")


def check_code(name: str, value: object) -> None:
    """A code of documents, or the number of all codes."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(
            f"{name} must be the least code of documents that were not judged, as scale.unjudged "
            f"is, not {_shown(value)}."
        )


def check_kind(name: str, value: object, kind: type[_Kind]) -> _Kind:
    """A part of tables, which must be of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {_shown(value)}.")
    return value


def as_pair(name: str, value: Any) -> tuple[Any, Any]:
    """Worth of codes and weights of ranks."""
    try:
        worth, weights = value
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a pair of arrays, the worth of codes and the weights of ranks, not "
            f"{_shown(value)}."
        ) from None
    return worth, weights


def _shown(value: object) -> str:
    """A value that is of the wrong kind, in short."""
    text = repr(value)
    return text if len(text) < 40 else f"a {type(value).__name__}"


# what the methods of a metric return


def check_returned(value: object, kind: type, method: str, remedy: str) -> None:
    """What a method of a metric returned is of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{method} returned {_shown(value)}: it must return {remedy}.")


def check_cutoff_of_ideal(value: object, method: str) -> None:
    """The cut-off of the ideal list is None, or a rank from 0 on."""
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0
    ):
        raise ValueError(
            f"{method} is {_shown(value)}: it must be None for the whole list, 0 for none, or a "
            "rank."
        )


def check_line(line: Any, kind: type, n_queries: int, method: str) -> None:
    """A line whose parts are numbers, one for each query or one for all."""
    if not isinstance(line, kind):
        check_returned(line, kind, method, "a skrank.extending.Line")
    for name, part in zip(line._fields, line, strict=True):
        if not isinstance(part, (int, float)):
            array = np.asarray(part)
            if array.dtype.kind not in "fiub" or array.shape not in ((), (n_queries,)):
                raise ValueError(
                    f"the {name} of {method} must be a number, or one for each of the {n_queries} "
                    f"queries, not {_shown(part)}."
                )


def check_mass(mass: Any, n_queries: int, method: str) -> np.ndarray:
    """Weights of queries in the mean, which are at least 0."""
    array: np.ndarray = as_table(method, mass, 1)
    if len(array) != n_queries or not (array.min(initial=0) >= 0 and array.max(initial=0) < np.inf):
        raise ValueError(
            f"{method} must return None, or a finite number of at least 0 for each of the "
            f"{n_queries} queries, not {_shown(mass)}."
        )
    return array


def check_entries(
    name: str, array: np.ndarray, axes: tuple[str, ...], entries: Mapping[str, int]
) -> None:
    """A table must have an entry for each label code and query, and one at least for each rank."""
    for axis, size in zip(axes, array.shape, strict=True):
        needed = entries[axis]
        if size < needed or (axis != "ranks" and size > needed):
            what = {"codes": "labels of scale.labels", "ranks": "ranks of scale.longest"}
            raise ValueError(
                f"{name} has {size} entries for the {needed} {what.get(axis, 'queries')}."
            )


def check_within(name: str, array: np.ndarray, low: float, high: float) -> None:
    """Entries of a table between bounds."""
    outside = array[(array < low) | (array > high)]
    if outside.size:
        raise ValueError(f"{name} holds {outside[0]:g}: entries are between {low:g} and {high:g}.")


def check_falling(name: str, array: np.ndarray) -> None:
    """Entries of a table that do not rise from rank to rank."""
    rises = np.flatnonzero(np.diff(array) > 0)
    if rises.size:
        raise ValueError(f"{name} rises from rank {rises[0] + 1} to {rises[0] + 2}: it must not.")


def check_classes(name: str, worth: np.ndarray, equals: np.ndarray, labels: np.ndarray) -> None:
    """Codes of equal gain are one class, and bring the same to pairs."""
    odd = np.flatnonzero(worth != worth[equals])
    if odd.size:
        one, other = labels[equals[odd[0]]], labels[odd[0]]
        raise ValueError(
            f"the labels {one:g} and {other:g} have equal gain and differ in {name}: documents of "
            "equal gain are one class, and bring the same to pairs."
        )


# functions of one ranked list


def check_list_function(function: object) -> Callable[..., Any]:
    """A function of the labels of one ranked list."""
    if callable(function):
        return function
    raise TypeError(
        f"metric_from_function takes a function of the labels of one ranked list, not {function!r}."
    )


def takes_unretrieved(function: Callable[..., object]) -> bool:
    """Whether a function asks for the labels that its list does not contain."""
    try:
        return "unretrieved" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # of compiled functions that do not tell
        return False


def list_value(value: Any, name: str, query: str, ranked: Collection[float]) -> float:
    """What a function returned, if it is a number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        shown = ", ".join(f"{label:g}" for label in list(ranked)[:10])
        more = ", ..." if len(ranked) > 10 else ""
        raise ValueError(
            f"{name} returned {value!r} for query {query}, whose list has the labels "
            f"[{shown}{more}]: it must return a finite number for every list."
        )
    return number


def too_many_orders(name: str, query: str, most: int) -> ValueError:
    """The error for ties that break in more ways than can be tried."""
    return ValueError(
        f"the ties of query {query} can be broken in more than {most} ways, and {name} is known as "
        "a function of one list only, so that each would have to be tried: break the ties of the "
        'scores, set a cut-off, or choose ties="stable", "worst" or "best".'
    )
