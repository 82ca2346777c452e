"""Checks of parameters and names. Every message names the parameter and the remedy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from skrank._typing import RandomState

T = TypeVar("T")

EMPTY_CHOICES = ("skip", 0, 1, "nan", "raise")
TIES_CHOICES = ("average", "stable", "worst", "best")
MOST_GRADES = 1000  # sums of gains 2**grade - 1 must not exceed the largest double, about 2**1024
LEAST_LABEL, MOST_LABEL = 1e-100, 1e100  # so that sums, squares and quotients are normal doubles
HEAVIEST = 1e9  # largest weight of a part of a mixture
MOST_RANKS = 2**31 - 1  # ranks are 32-bit integers
MOST_REPEATS = 10**7  # more would take hours, and gigabytes


def unknown_name(
    kind: str, name: object, known: Iterable[str], meant: str | None = None
) -> ValueError:
    """The error for an unknown name, with a suggestion: `meant`, or the most similar known name."""
    known = sorted(known)
    meant = meant or _nearest(str(name), known)
    hint = f"did you mean {meant!r}? " if meant else ""
    return ValueError(f"unknown {kind} {name!r}: {hint}Known: {', '.join(known)}.")


def _nearest(name: str, known: list[str]) -> str | None:
    """The most similar known name; None if no name is similar."""
    lowered = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    return lowered[near[0]] if near else None


def check_choice(parameter: str, value: object, choices: Sequence[T]) -> T:
    """`value` if it is one of `choices`."""
    for choice in choices:
        if not isinstance(value, bool) and value == choice:  # True == 1
            return choice
    options = ", ".join(repr(choice) for choice in choices)
    raise ValueError(f"{parameter}={value!r} is not a choice: use one of {options}.")


def check_flag(parameter: str, value: object) -> bool:
    """`value` as a bool, after a check that it is True, False, 1 or 0."""
    if isinstance(value, (bool, np.bool_, int)) and value in (0, 1):
        return bool(value)
    raise ValueError(f"{parameter}={value!r} must be True or False.")


def check_text(parameter: str, value: object, meaning: str) -> str:
    """`value` as a string."""
    if not isinstance(value, str):
        raise ValueError(f"{parameter}={value!r} must be a string, {meaning}.")
    return str(value)


def check_seed(parameter: str, value: object) -> int:
    """`value` as an int, of any sign."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{parameter}={value!r} must be an integer, the seed of random draws.")
    return int(value)


def check_random_state(random_state: RandomState) -> int:
    """A seed from 0 to 2**63 - 1: the integer, or one drawn from a generator, or a fresh one."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state >= 0:
            return int(random_state) % 2**63  # kernels take seeds below 2**63
    elif isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    elif random_state is None or isinstance(random_state, np.random.Generator):
        return int(np.random.default_rng(random_state).integers(2**63))
    raise ValueError(
        f"random_state={random_state!r} is not a seed: pass an integer of at least 0, a numpy "
        "Generator or RandomState, or None for a fresh seed."
    )


def as_random_state(parameter: str, value: object) -> np.random.RandomState:
    """A RandomState, as in scikit-learn's splitters, from a seed, a RandomState or None."""
    from sklearn.utils import check_random_state as sklearn_random_state

    try:
        return sklearn_random_state(value)
    except ValueError:
        raise ValueError(
            f"{parameter}={value!r} is not a seed: pass an integer between 0 and 2**32 - 1, a "
            "numpy RandomState, or None for a fresh seed."
        ) from None


def check_repeats(parameter: str, value: object, meaning: str) -> int:
    """`value` as a number of random draws, from 1 to MOST_REPEATS."""
    number = check_count(parameter, value, meaning)
    if number > MOST_REPEATS:
        raise ValueError(f"{parameter}={value} is beyond {MOST_REPEATS}: give fewer.")
    return number


def check_count(parameter: str, value: object, meaning: str, least: int = 1) -> int:
    """`value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{parameter}={value!r} must be an integer: {meaning}.")
    if value < least:
        raise ValueError(f"{parameter}={value} must be at least {least}: {meaning}.")
    if value > MOST_RANKS:
        raise ValueError(
            f"{parameter}={value} is beyond {MOST_RANKS}, the largest number: {meaning}."
        )
    return int(value)


def check_number(
    parameter: str, value: object, low: float, high: float, *, open_low: bool = False
) -> float:
    """`value` as a float in [low, high], or in (low, high]."""
    bracket = "(" if open_low else "["
    expected = f"a number in {bracket}{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{parameter}={value!r} must be {expected}.")
    number = float(value)
    if not (low < number <= high if open_low else low <= number <= high):  # NaN included
        raise ValueError(f"{parameter}={value!r} must be {expected}.")
    return number


def check_numbers(parameter: str, values: Any) -> tuple[float, ...]:
    """A non-empty sequence of finite numbers as a tuple of floats."""
    try:
        if np.iscomplexobj(values):
            raise TypeError  # float() of a complex number of NumPy only warns
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{parameter}={values!r} must be a sequence of numbers.") from None
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{parameter}={values!r} must hold at least one number, all finite.")
    return numbers


def check_thresholds(thresholds: object, max_grade: int | None) -> tuple[float, ...] | None:
    """Probabilities of the grades 1..c as a tuple; None stays None."""
    if thresholds is None:
        return None
    g = check_numbers("thresholds", thresholds)
    for grade, probability in enumerate(g, start=1):
        if probability < 0:
            raise ValueError(
                f"thresholds[{grade - 1}]={probability:g} is negative: it is the probability that "
                f"a user regards documents of grade {grade} and better as relevant."
            )
    if abs(sum(g) - 1) > 1e-9:
        raise ValueError(
            f"thresholds sum to {sum(g):.10g}, not to 1: divide them by their sum "
            f"(one probability per grade 1..{len(g)})."
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
        raise ValueError(f"{parameter}={values!r} must map labels to numbers.") from None
    labels = check_numbers(f"labels of {parameter}", values.keys())
    worth = check_numbers(f"values of {parameter}", values.values())
    return tuple(sorted(zip(labels, worth, strict=True)))


def check_rel(rel: object) -> float:
    """The lowest label of a relevant document, above 0."""
    return check_number("rel", rel, 0, MOST_LABEL, open_low=True)


def check_persistence(p: object) -> float:
    """The probability that a user goes on to the next rank, in [0, 1)."""
    number = check_number("p", p, 0, 1)
    if number == 1:
        raise ValueError("p=1 leaves no weight for any rank: p must be below 1.")
    return number


def refuse_cutoff(name: str, k: object, instead: str) -> None:
    """Refuse a cut-off for a metric that has none; `instead` is a metric that has one."""
    if k is not None:
        raise ValueError(f"{name} has no cut-off: remove k={k}, or use {instead}.")


def check_max_grade(max_grade: object) -> int | None:
    """The highest grade of a collection, from 1 to MOST_GRADES; None stays None."""
    if max_grade is None:
        return None
    grade = check_count("max_grade", max_grade, "the highest grade of the collection")
    if grade > MOST_GRADES:
        raise ValueError(f"max_grade={grade} is beyond {MOST_GRADES}: bin the labels into grades.")
    return grade


def highest_grade(labels: np.ndarray) -> int:
    """The highest grade of a collection of these labels: their maximum, rounded up, at least 1.

    NaN does not count.
    """
    return max(1, math.ceil(np.fmax.reduce(labels, initial=0)))


def check_descending(parameter: str, values: Sequence[float]) -> None:
    """Check that numbers are at least 0 and do not increase."""
    if min(values) < 0 or any(b > a for a, b in pairwise(values)):
        raise ValueError(f"{parameter}={list(values)} must not increase and must stay at least 0.")


def check_gains(parameter: str, gains: Sequence[float]) -> None:
    """Check that gains, in the order of their labels, are at least 0 and do not fall."""
    if min(gains) < 0 or any(b < a for a, b in pairwise(gains)):
        raise ValueError(
            f"{parameter}={list(gains)} must be at least 0 and must not fall as labels rise: "
            "a document of a higher label must not have a lower gain."
        )


def check_share(parameter: str, value: object, because: str = "") -> float:
    """`value` as a float between 0 and 1, both excluded; `because` says why 1 is not allowed."""
    share = check_number(parameter, value, 0, 1, open_low=True)
    if share == 1:
        raise ValueError(f"{parameter}={value!r} must be below 1{because}.")
    return share


def check_result(parameter: str, value: object, kind: type[T], source: str) -> T:
    """`value`, after a check that it has the type `kind`, which `source` returns."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{parameter} is of type {type(value).__name__}: pass what {source} returns."
        )
    return value


def check_table(parameter: str, table: Any, columns: Sequence[str]) -> None:
    """Check that `table` is a DataFrame with at least one row and these columns."""
    missing = sorted(set(columns) - set(getattr(table, "columns", ())))
    n_rows = len(table) if hasattr(table, "columns") else 0
    if missing or not n_rows:
        raise ValueError(
            f"{parameter} has {n_rows} rows and lacks {missing}: pass a DataFrame of one row or "
            f"more, with the columns {', '.join(columns)}."
        )


def several(parameter: str, given: object, one: tuple[type, ...]) -> list[Any]:
    """A list of the items of a sequence, or of one item, which is of one of the types `one`."""
    if isinstance(given, one):
        return [given]
    if not isinstance(given, Iterable):
        raise ValueError(f"{parameter}={given!r} must be one item or a sequence of items.")
    return list(given)


def chosen_names(
    parameter: str,
    wanted: str | Sequence[str] | None,
    known: Iterable[Any],
    *,
    may_be_empty: bool = False,
) -> list[str]:
    """The wanted names, by default all known names; raises if a wanted name is not known."""
    names = list(known)
    if wanted is None:
        return names
    chosen = several(parameter, wanted, (str,))
    if not (chosen or may_be_empty):
        raise ValueError(f"no {parameter} is chosen: pass some of {', '.join(map(repr, names))}.")
    for name in chosen:
        if name not in names:
            raise unknown_name(parameter, name, names)
    return chosen


def check_parts(parts: Any, make: Callable[[Any], T], example: str) -> list[tuple[float, T]]:
    """Pairs (weight, make(item)) from pairs (weight, item); weights are in (0, HEAVIEST]."""
    wrong = ValueError(
        f"parts={parts!r} must be pairs of a weight and an item, such as [{example}]."
    )
    try:
        pairs = [(weight, one) for weight, one in parts]
    except (TypeError, ValueError):
        raise wrong from None
    if not pairs:
        raise wrong
    return [
        (check_number("weight", weight, 0, HEAVIEST, open_low=True), make(one))
        for weight, one in pairs
    ]


# names of objectives in papers and other libraries, in small letters and digits: name in skrank
_WRITTEN = {
    "lambdamart": "lambdarank:ndcg",
    "rankndcg": "lambdarank:ndcg",
    "rankmap": "lambdarank:ap",
    "softmaxloss": "softmax",
    "querysoftmax": "softmax",
    "listnet": "softmax",
    "xendcg": "softmax(random_gains=True)",
    "rankxendcg": "softmax(random_gains=True)",
    "mse": "squared_error",
    "rmse": "squared_error",
    "regsquarederror": "squared_error",
    "queryrmse": "squared_error(centered=True)",
}


def is_name_of_objective(text: str) -> bool:
    """True if papers or libraries use this name, in any spelling, for an objective."""
    return _letters(text) in _WRITTEN


def unknown_objective(name: str, objectives: Iterable[str], metrics: Iterable[str]) -> ValueError:
    """The error for a name that is neither an objective nor a metric."""
    near = _nearest(name, [*metrics, *objectives])
    hint = f"did you mean {near!r}? " if near else ""
    written = _WRITTEN.get(_letters(name))
    if written is not None:
        hint = f"write {written!r}. "
    return ValueError(
        f"unknown objective {name!r}: {hint}Name a metric to train on, such as 'gap' or 'ndcg@10', "
        f"or an objective, with its metric where it has one, such as 'softmax' or "
        f"'lambdarank:gap', or a sum of them. Objectives: {', '.join(sorted(objectives))}."
    )


def not_an_objective(value: object) -> ValueError:
    """The error for a value that is neither a string nor a metric nor an objective."""
    instance = f": write {value.__name__}(...)" if isinstance(value, type) else ""
    return ValueError(
        f"{value!r} is neither a metric nor an Objective{instance}. Name a metric to train on, "
        "such as 'gap' or 'ndcg@10', or an objective, such as 'softmax', or give an object."
    )


def _letters(text: str) -> str:
    return re.sub("[^a-z0-9]", "", text.lower())
