"""Every metric at odd parameter points, each beside its literal definition.

A point is the text that users type; it stands above the definition (`compared_at`). Parameters of
the definition are read from it without skrank. test_names.py fails for a registered metric that has
no point.
"""

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
import pytest

import skrank
from skrank.testing import ScoredLists, make_lists
from tests.helpers import reference as ref
from tests.helpers.reference.points import LITERALS, NUMERATORS, TEXTS

Lists, lists = ScoredLists, make_lists

# definitions that reference.py leaves to its caller
# ------------------------------------------------------------------------------------------------


def letor_sum(ranked, *, unretrieved=(), k):
    """DCG of the official script of LETOR: 0 for a query with fewer than k documents."""
    if len(ranked) + len(unretrieved) < k:
        return 0.0
    return ref.dcg_sum(ranked, k=k, discount="letor")


def letor(ranked, *, unretrieved=(), k):
    value = ref.ndcg(ranked, unretrieved=unretrieved, k=k, discount="letor")
    return 0.0 if value is not None and len(ranked) + len(unretrieved) < k else value


NUMERATORS[letor] = letor_sum
SCALE = ("thresholds", "max_grade", "fractional")  # of GAP


def read(value: str) -> Any:
    try:
        return ast.literal_eval(value)
    except ValueError:  # a word
        return value


def parsed(text: str) -> tuple[Callable[..., float | None], dict[str, Any]]:
    """The literal definition and its parameters of a text such as "gap(normalize=ideal)@3"."""
    name, inside, k = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(\d+))?", text).groups()
    pairs = re.findall(r"(\w+)=(\[.*?\]|{.*?}|[^,]+)", inside or "")
    given = {parameter: read(value) for parameter, value in pairs}
    if k is None:
        return LITERALS[name], given
    if given.get("discount") == "letor":
        return letor, {"k": int(k)}
    return LITERALS[name], given | {"k": int(k)}


@cache
def accepts(function: Callable, parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters


class Point:
    """A metric and its literal definition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.literal, self.parameters = parsed(text)
        # orders of tied documents, and swaps, mostly repeat a list of labels
        self._value = lru_cache(1000)(self._compute)

    @cached_property
    def metric(self) -> skrank.Metric:
        return skrank.metric(self.text)

    def _complete(self, function: Callable, max_grade: int) -> dict[str, Any]:
        """The parameters that `function` takes, the scale of grades among them."""
        given = {key: value for key, value in self.parameters.items() if key != "condensed"}
        if given.get("thresholds") is None and accepts(self.literal, "max_grade"):
            given.setdefault("max_grade", max_grade)
        if function is self.literal:
            return given
        scale = SCALE if function is ref.gap_numerator else ()
        return {
            key: value for key, value in given.items() if accepts(function, key) or key in scale
        }

    def value(self, ranked, unretrieved=(), max_grade: int = 3) -> float | None:
        return self._value(tuple(ranked), tuple(unretrieved), max_grade)

    def _compute(self, ranked, unretrieved, max_grade: int) -> float | None:
        if self.parameters.get("condensed"):
            ranked, unretrieved = ref.condense(ranked), ref.condense(unretrieved)
        how = self._complete(self.literal, max_grade)
        return self.literal(list(ranked), unretrieved=list(unretrieved), **how)

    def on_scale(self, max_grade: int) -> Callable[..., float | None]:
        """``literal(ranked, unretrieved=...)`` with the scale of a data set."""
        return partial(self.value, max_grade=max_grade)

    def change_by_swap(self, labels, truncation_level: int | None = None, max_grade: int = 3):
        """Literal change by a swap of two ranks, as LambdaRank takes it."""
        numerator = NUMERATORS.get(self.literal)
        if numerator is None:  # not normalised by an ideal list
            return partial(ref.swap_delta, self.on_scale(max_grade))
        how = self._complete(numerator, max_grade)
        return ref.change_by_swap(numerator, labels, truncation_level=truncation_level, **how)

    @property
    def name(self) -> str:
        return self.metric.names[0]

    @property
    def settled(self) -> skrank.Metric:
        """The metric, for scores with ties: in row order where no closed form averages them."""
        return replace(self.metric, ties="stable") if self.name in STRICT else self.metric

    def expected(self, data: Lists) -> np.ndarray:
        how = ref.stable if self.name in STRICT else ref.tie_expectation
        metric = self.on_scale(data.max_grade)
        values = [how(metric, scores, labels) for scores, labels in data.queries()]
        return np.array([np.nan if value is None else value for value in values])

    def __repr__(self) -> str:
        return self.text


# no closed form for the mean over the orders of ties; the last two enumerate some orders
STRICT = ("iprec", "iap", "infap", "inst", "bpm", "nearly_err", "compat")

CATALOGUE = [Point(text) for text in TEXTS]


def trainable(point: Point) -> bool:
    try:
        skrank.LambdaRank(point.metric)
    except ValueError:
        return False
    return True


every_objective = pytest.mark.parametrize("point", [*filter(trainable, CATALOGUE)], ids=repr)
