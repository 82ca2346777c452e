"""Checks of parameters and names. Every message names the parameter and the remedy."""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, TypeVar, cast

import numpy as np

from skrank._typing import RandomState

T = TypeVar("T")

EMPTY_CHOICES = ("skip", 0, 1, "nan", "raise")
TIES_CHOICES = ("average", "stable", "worst", "best")
MOST_GRADES = 1000  # sums of gains 2**grade - 1 must not exceed the largest double, about 2**1024
LEAST_LABEL, MOST_LABEL = 1e-100, 1e100  # so that sums, squares and quotients are normal doubles
HEAVIEST = 1e9  # largest weight of a part of a mixture, chosen freely
MOST_RANKS = 2**31 - 1  # ranks are 32-bit integers
MOST_REPEATS = 10**7  # more would take hours, and gigabytes


_BRIEF = reprlib.Repr()
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = _BRIEF.maxfrozenset = 10
_BRIEF.maxstring = _BRIEF.maxother = 200

_in_command = False  # whether messages are for the command line


@contextmanager
def words_of_the_command() -> Iterator[None]:
    """Write arguments in messages as options of the command: see `argument`."""
    global _in_command
    before, _in_command = _in_command, True
    try:
        yield
    finally:
        _in_command = before


def argument(parameter: str, value: object = ..., *, whole: bool = False) -> str:
    """An argument as the caller writes it: k=5, or --k=5 in the command; k= without a value."""
    text = repr if whole else brief
    if not _in_command:
        return f"{parameter}={'' if value is ... else text(value)}"
    if isinstance(value, dict):
        value = ",".join(f"{key}={item}" for key, item in value.items())
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    option = f"--{parameter.replace('_', '-')}"
    return option if value is ... or value is True else f"{option}={text(value)}"


def brief(value: object, most: int = 80) -> str:
    """The text of a value in messages: at most 10 entries, and `most` characters.

    Arrays of more entries are described by their type and shape.
    """
    shape = getattr(value, "shape", ())
    if math.prod(shape) > 10:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = _BRIEF.repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def unknown_name(
    kind: str, name: object, known: Iterable[str], meant: str | None = None, remedy: str = ""
) -> ValueError:
    """The error for an unknown name, with a suggestion: `meant`, or the most similar known name.

    Without a suggestion, it has the `remedy`.
    """
    known = sorted(known)
    suggestion = _suggested(str(name), known, meant) or remedy
    return ValueError(f"unknown {kind} {brief(name)}: {suggestion}Known: {', '.join(known)}.")


def check_known(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not known."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise unknown_name(kind, unknown[0], known)


def _suggested(name: str, known: Iterable[str], meant: str | None = None) -> str:
    """A question for `meant`, or for the most similar known name; empty if none is similar."""
    lowered = {spelling.lower(): spelling for spelling in known}
    # 0.6, the default of difflib, suggests recall for kendall
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.65)
    meant = meant or (lowered[near[0]] if near else None)
    return f"did you mean {meant!r}? " if meant else ""


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """A number of things for messages: "1 run", "2 runs"."""
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def check_choice(parameter: str, value: object, choices: Sequence[T]) -> T:
    """`value` if it is one of `choices`."""
    for choice in choices:
        if value == choice and isinstance(value, (bool, np.bool_)) == isinstance(choice, bool):
            return choice
    options = ", ".join(repr(choice) for choice in choices)
    raise ValueError(f"{argument(parameter, value)} is not a choice: use one of {options}.")


def check_flag(parameter: str, value: object) -> bool:
    """`value` as a bool, after a check that it is True, False, 1 or 0."""
    if isinstance(value, (bool, np.bool_, int)) and value in (0, 1):
        return bool(value)
    raise ValueError(f"{argument(parameter, value)} must be True or False.")


def check_text(parameter: str, value: object, meaning: str) -> str:
    """`value` as a string."""
    if not isinstance(value, str):
        raise ValueError(f"{argument(parameter, value)} must be a string, {meaning}.")
    return str(value)


def check_random_state(random_state: RandomState, parameter: str = "random_state") -> int:
    """A seed from 0 to 2**63 - 1: the integer, or one drawn from a generator, or a fresh one."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**63))
    whole = isinstance(random_state, Integral) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise ValueError(
            f"{parameter}={brief(random_state)} is not a seed: pass an integer of at least 0, a "
            "numpy Generator or RandomState, or None for a fresh seed."
        )
    return int(random_state) % 2**63  # kernels take seeds below 2**63


def as_random_state(parameter: str, value: Any) -> np.random.RandomState:
    """A RandomState, as in scikit-learn's splitters, where None is NumPy's global one."""
    from sklearn.utils import check_random_state as sklearn_random_state

    ready = value is None or isinstance(value, np.random.RandomState)
    return sklearn_random_state(value if ready else check_random_state(value, parameter) % 2**32)


def check_repeats(parameter: str, value: object, meaning: str) -> int:
    """`value` as a number of random draws, from 1 to MOST_REPEATS."""
    return check_count(parameter, value, meaning, most=MOST_REPEATS)


def check_count(
    parameter: str, value: object, meaning: str, least: int = 1, most: int = MOST_RANKS
) -> int:
    """`value` as an int from `least` to `most`; `meaning` describes it in errors."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= cast(int, value) <= most:
        raise ValueError(
            f"{argument(parameter, value)} must be an integer, at least {least} and at most "
            f"{most}: {meaning}."
        )
    return int(cast(int, value))


def check_number(
    parameter: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """`value` as a float in [low, high], without a bound that is open."""
    number = math.nan  # in no interval
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # of whole numbers
            number = float(value)
    above = low < number if open_low else low <= number
    if above and (number < high if open_high else number <= high):
        return number
    start, end = "(" if open_low else "[", ")" if open_high else "]"
    raise ValueError(
        f"{argument(parameter, value)} must be a number in {start}{low:g}, {high:g}{end}."
    )


def check_numbers(parameter: str, values: Any) -> tuple[float, ...]:
    """A non-empty sequence of finite numbers as a tuple of floats."""
    try:
        # float() of a complex number of NumPy only warns; a dict, a set or a text is no sequence
        if np.iscomplexobj(values) or np.ndim(values) != 1:
            raise TypeError
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(
            f"{argument(parameter, values)} must be a sequence of numbers, at least one, all "
            "finite."
        )
    return numbers


def check_thresholds(thresholds: object, max_grade: int | None) -> tuple[float, ...] | None:
    """Probabilities of the grades 1..c as a tuple; None stays None."""
    if thresholds is None:
        return None
    g = check_numbers("thresholds", thresholds)
    if min(g) < 0 or abs(sum(g) - 1) > 1e-9:
        raise ValueError(
            f"thresholds={brief(g)} must be at least 0 and sum to 1, not to {sum(g):.10g}: they "
            f"are probabilities of the grades 1..{len(g)}."
        )
    if max_grade is not None and max_grade != len(g):
        raise ValueError(
            f"{len(g)} thresholds do not cover the grades 1..{max_grade}: give one per grade."
        )
    return g


def check_mapping(parameter: str, values: Any) -> tuple[tuple[float, float], ...]:
    """A mapping from labels to numbers as a sorted tuple of pairs, which is hashable."""
    try:
        values = dict(values)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter}={brief(values)} must map labels to numbers.") from None
    labels = check_numbers(f"labels of {parameter}", list(values))
    worth = check_numbers(f"values of {parameter}", list(values.values()))
    return tuple(sorted(zip(labels, worth, strict=True)))


def check_rel(rel: object) -> float:
    """The lowest label of a relevant document, above 0."""
    return check_number("rel", rel, 0, MOST_LABEL, open_low=True)


def check_persistence(p: object) -> float:
    """The probability that a user goes on to the next rank, in [0, 1)."""
    return check_number("p", p, 0, 1, open_high=True)


def check_max_grade(max_grade: object) -> int | None:
    """The highest grade of a collection, from 1 to MOST_GRADES; None stays None."""
    if max_grade is None:
        return None
    meaning = "the highest grade of the collection; bin higher labels into grades"
    return check_count("max_grade", max_grade, meaning, most=MOST_GRADES)


def are_no_labels(values: np.ndarray) -> np.ndarray:
    """True for values that are neither a label nor NaN: negative, infinite, too small or large."""
    return ((values < LEAST_LABEL) & (values != 0)) | (values > MOST_LABEL)


def highest_grade(labels: np.ndarray) -> int:
    """The highest grade of a collection of these labels: their maximum, rounded up, at least 1.

    NaN does not count.
    """
    return max(1, math.ceil(np.fmax.reduce(labels, initial=0)))


def check_descending(parameter: str, values: Sequence[float]) -> None:
    """Check that numbers are at least 0 and do not increase."""
    if min(values) < 0 or any(b > a for a, b in pairwise(values)):
        raise ValueError(f"{parameter}={brief(values)} must not increase and must stay at least 0.")


def check_gains(parameter: str, gains: Sequence[float]) -> None:
    """Check that gains do not fall, in the order of their labels, and that sums are finite."""
    if min(gains) < 0 or max(gains) > 1e300 or any(b < a for a, b in pairwise(gains)):
        raise ValueError(
            f"{parameter}={brief(gains)} must be from 0 to 1e300 and must not fall as labels rise."
        )


def check_gain(gain: Any) -> Any:
    """Normal form of a gain: "exp2", "linear", gains of 0, 1, ..., or pairs (label, gain)."""
    if isinstance(gain, str):
        return check_choice("gain", gain, ("exp2", "linear"))
    pairs = isinstance(gain, tuple) and any(isinstance(item, tuple) for item in gain)
    if hasattr(gain, "keys") or pairs:  # a mapping, or a Series with labels as its index
        checked = check_mapping("gain", gain)
        check_gains("gain", [value for _, value in checked])
        return checked
    numbers = check_numbers("gain", gain)
    check_gains("gain", numbers)
    return numbers


def check_range(parameter: str, value: Any) -> tuple[float, float]:
    """A pair of the lowest and the highest value, which may be infinite."""
    with suppress(TypeError, ValueError):
        low, high = map(float, value)
        if low < high and not isinstance(value, (str, bytes)):
            return low, high
    raise ValueError(
        f"{parameter}={value!r} must be a pair of the lowest and the highest value, such as "
        "(0, 1) or (0, math.inf)."
    )


def check_share(parameter: str, value: object) -> float:
    """`value` as a float between 0 and 1, both excluded."""
    return check_number(parameter, value, 0, 1, open_low=True, open_high=True)


def check_confidence(confidence: object) -> tuple[float, float]:
    """A confidence level, and one minus it in decimal: .05 for .95, where 1 - .95 is above .05."""
    level = check_share("confidence", confidence)
    return level, float(1 - Decimal(str(level)))


def check_table(parameter: str, table: Any, columns: Sequence[str]) -> None:
    """Check that `table` is a DataFrame with at least one row and these columns."""
    names = list(getattr(table, "columns", ()))
    if not names or len(table) == 0 or not set(columns) <= set(names):
        raise ValueError(
            f"{parameter} must be a DataFrame of one row or more with the columns {list(columns)}."
        )


def several(parameter: str, items: object, types: tuple[type, ...]) -> list[Any]:
    """A list of the items of a sequence, or of one item, which is of one of the `types`."""
    if isinstance(items, types):
        return [items]
    if not isinstance(items, Iterable):
        raise ValueError(f"{parameter}={brief(items)} must be one item or a sequence of items.")
    return list(items)


def chosen_names(
    parameter: str, wanted: str | Sequence[str] | None, known: Iterable[Any]
) -> list[str]:
    """The wanted names, by default all known names; raises if a wanted name is not known."""
    names = list(known)
    if wanted is None:
        return names
    chosen = several(parameter, wanted, (str,))
    if not chosen:
        raise ValueError(f"no {parameter} is chosen: pass some of {', '.join(map(repr, names))}.")
    check_known(parameter, chosen, names)
    return chosen


# names in papers and other libraries: names of skrank
_ELSEWHERE = {"lambdamart": "lambdarank:ndcg", "listnet": "softmax", "rmse": "squared_error"}


def unknown_objective(
    name: object, objectives: Iterable[str], metrics: Iterable[str]
) -> ValueError:
    """The error for a value or a name that is neither an objective nor a metric."""
    meant = _ELSEWHERE.get(str(name).lower())
    hint = _suggested(str(name), [*metrics, *objectives], meant)
    if isinstance(name, type):
        hint = f"write {name.__name__}(...). "
    return ValueError(
        f"unknown objective {brief(name)}: {hint}Name a metric to train on, such as 'ndcg@10', or "
        "an objective, with its metric if it has one, such as 'softmax' or 'lambdarank:gap'. "
        f"Objectives: {', '.join(sorted(objectives))}. Worker processes do not know metrics that a "
        "notebook or a script registers: pass the metric itself, not its name."
    )
