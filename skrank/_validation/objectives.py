"""Errors for values that are neither a metric nor an objective, and names in other libraries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

# names in papers and other libraries, in small letters and digits: name in skrank
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
    "unbiasedlambdamart": "unbiased_lambdarank:ndcg",
}


def is_name_of_objective(text: str) -> bool:
    """True if papers or libraries use this name, in any spelling, for an objective."""
    return _letters(text) in _WRITTEN


def unknown_objective(name: str, objectives: Iterable[str], metrics: Iterable[str]) -> ValueError:
    """The error for a name that is neither an objective nor a metric."""
    written = _WRITTEN.get(_letters(name))
    near = difflib.get_close_matches(name.lower(), [*metrics, *objectives], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
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
