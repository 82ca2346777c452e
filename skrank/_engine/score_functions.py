"""Score functions such as `skrank.metrics.gap_score`, one for each metric class."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

from numpy.typing import ArrayLike

from skrank._engine.metric import Metric

DOCSTRING = """{summary}: see `{cls}`.

Parameters
----------
relevance, scores : array-like of shape (n_rows,)
    Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
groups, sample_weight : array-like of shape (n_rows,), optional
    Query of each row, and weight of that query; see `Metric`.
{parameters}
    See `{cls}`.

Returns
-------
float
    Mean over queries.

Examples
--------
>>> from skrank.metrics import {name}
>>> {call}
{value}
"""


def score_function(cls: type[Metric], value: float, **options: object) -> Callable[..., float]:
    """A function of labels and scores that takes the parameters of a metric class as its own.

    Parameters
    ----------
    cls : type of Metric
        A registered class; the name of the function is ``cls.function``.
    value : float
        Result of the example in the docstring of the function, rounded to four digits.
    **options
        Parameters of the metric in that example.

    Returns
    -------
    function of (relevance, scores, *, groups, <parameters of the class>, sample_weight)
    """
    signature = _signature(cls)
    parameters = [field.name for field in _fields(cls)]

    def score(
        relevance: ArrayLike,
        scores: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **given: Any,
    ) -> float:
        for parameter in given:
            if parameter not in parameters:
                raise TypeError(
                    f"{cls.function}() has no parameter {parameter!r}: it has "
                    f"{', '.join(signature.parameters)}."
                )
        return cls(**given)(relevance, scores, groups=groups, sample_weight=sample_weight)

    score.__name__ = score.__qualname__ = cls.function
    score.__module__ = cls.__module__
    score.__doc__ = _docstring(cls, parameters, value, options)
    score.__annotations__ = _annotations(cls, parameters)
    vars(score)["__signature__"] = signature  # shown by help(), editors and Sphinx
    return score


def _fields(cls: type[Metric]) -> list[dataclasses.Field]:
    """Fields in the order of the signature: k, fields of this class, fields of `Metric`."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    shared = [field.name for field in dataclasses.fields(Metric) if field.name != "k"]
    own = [name for name in fields if name not in ("k", *shared)]
    return [fields[name] for name in ("k", *own, *shared)]


def _signature(cls: type[Metric]) -> inspect.Signature:
    def keyword(name: str, default: object, annotation: object) -> inspect.Parameter:
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=default, annotation=annotation)

    rows = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="ArrayLike")
        for name in ("relevance", "scores")
    ]
    fields = [keyword(field.name, field.default, field.type) for field in _fields(cls)]
    groups = keyword("groups", None, "ArrayLike | None")
    weights = keyword("sample_weight", None, "ArrayLike | None")
    return inspect.Signature([*rows, groups, *fields, weights], return_annotation="float")


def _annotations(cls: type[Metric], parameters: list[str]) -> dict[str, object]:
    """Types as objects, for `typing.get_type_hints`."""
    types = get_type_hints(cls)
    rows: dict[str, object] = {"relevance": ArrayLike, "scores": ArrayLike}
    optional: dict[str, object] = {"groups": ArrayLike | None, "sample_weight": ArrayLike | None}
    return rows | optional | {name: types[name] for name in parameters} | {"return": float}


def _docstring(
    cls: type[Metric], parameters: list[str], value: float, options: dict[str, object]
) -> str:
    given = "".join(f", {name}={one!r}" for name, one in options.items())
    call = f"{cls.function}([2, 0, 1], [0.9, 0.5, 0.1]{given})"
    return DOCSTRING.format(
        summary=re.split(r"[.:;,(]", cls.__doc__ or "", maxsplit=1)[0],
        cls=cls.__name__,
        parameters=", ".join(parameters),
        name=cls.function,
        call=call if value == round(value, 1) else f"round({call}, 4)",
        value=value,
    )
