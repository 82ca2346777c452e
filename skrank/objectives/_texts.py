"""Parts of texts of objectives: signs outside brackets, names, and options."""

from __future__ import annotations

import re
from contextlib import suppress

from skrank._engine.name_parser import read
from skrank._typing import Options
from skrank.metrics import Metric, metric


def split(text: str, sign: str, most: int = -1) -> list[str]:
    """The parts of a text between signs outside brackets and quotes, split at most `most` times."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += 0 if quote else (character in "([{") - (character in ")]}")
        if character == sign and depth == 0 and not quote and len(parts) != most + 1:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def named_in(text: str) -> list[tuple[str, Options]]:
    """Names in a text with their options, up to the first error."""
    named = []

    def note(name: str, options: Options) -> Metric:
        named.append((name, options))
        return metric("gap")

    with suppress(ValueError):
        read(text, note)
    return named


def options_of(head: str) -> Options:
    """The options in the brackets of ``name(option=value)``."""
    named = named_in(head) if re.fullmatch(r"\w+\s*(\(.*\))?", head, re.DOTALL) else []
    if not named:
        raise ValueError(
            f"{head!r} is not an objective: write name or name(option=value), with its metric "
            "behind a colon if it has one, such as 'softmax(gain=linear)' or 'lambdarank:gap'."
        )
    return named[0][1]
