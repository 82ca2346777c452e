"""Texts of objectives: a sum of weights times atoms, which are names or sums in brackets."""

from __future__ import annotations

import re
from contextlib import suppress

from skrank._engine.name_parser import read
from skrank._typing import Options
from skrank.metrics import Metric, metric

GROUP = re.compile(r"\((.*)\)", re.DOTALL)  # an atom that is a sum in brackets


def terms_of(text: str) -> list[tuple[float, str]]:
    """The weights and atoms of a sum."""
    terms = []
    for term in split(text, "+"):
        weight, atoms = 1.0, []
        for factor in split(term, "*"):
            try:
                weight *= float(factor)
            except ValueError:
                atoms.append(factor)
        terms.append((weight, "*".join(atoms)))
    return terms


def split(text: str, sign: str, most: int = -1) -> list[str]:
    """The parts of a text between signs that stand outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for one in text:
        if quote:
            quote = "" if one == quote else quote
        elif one in "'\"":
            quote = one
        depth += 0 if quote else (one in "([{") - (one in ")]}")
        if one == sign and depth == 0 and not quote and len(parts) != most + 1:
            parts.append("")
        else:
            parts[-1] += one
    return [part.strip() for part in parts]


def named_in(text: str) -> list[tuple[str, Options]]:
    """Names in a text with their options, as far as it can be read."""
    named = []

    def note(name: str, options: Options) -> Metric:
        named.append((name, options))
        return metric("gap")

    with suppress(ValueError):
        read(text, note)
    return named


def options_of(head: str) -> Options:
    """The options in the brackets of a name."""
    named = named_in(head) if re.fullmatch(r"\w+\s*(\(.*\))?", head, re.DOTALL) else []
    if not named:
        raise ValueError(
            f"{head!r} is no objective: write name or name(option=value), with its metric behind a "
            "colon where it has one, such as 'softmax(gain=linear)' or 'lambdarank:gap'."
        )
    return named[0][1]
