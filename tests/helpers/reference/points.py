"""Which metrics the tests compare with a literal definition, and at which parameters."""

import re
from collections.abc import Callable
from typing import Any

TEXTS = []  # such as "gap(normalize=ideal)@3"
LITERALS: dict[str, Callable[..., Any]] = {}  # the definition, by the name of the metric


def tested_at(texts: str) -> Callable:
    """Have the tests compare a definition with the metrics that these texts name, as users type."""

    def remember(definition: Callable) -> Callable:
        TEXTS.extend(texts.split())
        names = (re.match(r"\w+", text)[0] for text in texts.split())
        LITERALS.update(dict.fromkeys(names, definition))
        return definition

    return remember
