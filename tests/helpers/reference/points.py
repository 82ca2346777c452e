"""Which metrics the tests compare with a literal definition, and at which parameters."""

import re
from collections.abc import Callable
from typing import Any

TEXTS = []  # such as "gap(normalize=ideal)@3"
LITERALS: dict[str, Callable[..., Any]] = {}  # the definition, by the name of the metric
NUMERATORS: dict[Callable[..., Any], Callable[..., Any]] = {}  # by the definition


def compared_at(texts: str, numerator: Callable | None = None) -> Callable:
    """Have the tests compare a definition with the metrics that these texts name, as users type.

    `numerator` is the sum that a normalised metric divides by its value for the best list.
    """

    def remember(definition: Callable) -> Callable:
        if numerator is not None:
            NUMERATORS[definition] = numerator
        TEXTS.extend(texts.split())
        names = (re.match(r"\w+", text)[0] for text in texts.split())
        LITERALS.update(dict.fromkeys(names, definition))
        return definition

    return remember
