"""The grammar of names of metrics and objectives: 0.7*name(parameter=value)@10 + 0.3*name."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

from skrank._typing import Options

# a string, a number with an exponent, or a character
_TOKEN = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|(?<!\w)[\d.]+[eE][+-]?\d+|.", re.DOTALL
)
_NAME = re.compile(r"([^\W\d]\w*)\s*(?:\((.*)\))?\s*(?:@(.*))?", re.DOTALL)


def unreadable(text: str) -> ValueError:
    """The error for a text that is not of the grammar."""
    return ValueError(
        f"unknown metric {text!r}: write name, name@k or name(parameter=value)@k, such as 'gap@10' "
        "or 'ndcg(gain=linear)@10', or a sum such as '0.7*gap+0.3*ndcg@10'."
    )


def split(text: str, sign: str, most: int = -1) -> list[str]:
    """The parts of a text between signs outside brackets and quotes, split at most `most` times."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "([{") - (token in ")]}")
        if token == sign and depth == 0 and len(parts) != most + 1:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def terms(text: str) -> list[tuple[float | None, str]]:
    """The weights and atoms of a sum: names, or sums in brackets. Without a weight, it is None."""
    found: list[tuple[float | None, str]] = []
    for term in split(text, "+"):
        weight: float | None = None
        atoms = []
        for part in split(term, "*"):
            try:
                weight = float(part) * (1.0 if weight is None else weight)
            except ValueError:
                atoms.append(part)
        if len(atoms) != 1 or not atoms[0]:
            raise unreadable(text)
        found.append((weight, atoms[0]))
    return found


def group(atom: str) -> tuple[str, Any] | None:
    """The sum and the cut-off of a sum in brackets, such as ("gap+ap", 10); None for a name."""
    found = re.fullmatch(r"\((.*)\)\s*(?:@(.*))?", atom, re.DOTALL)
    return found and (found[1], None if found[2] is None else _literal(found[2].strip(), atom))


def names_in(text: str) -> list[str]:
    """The names in a sum, up to the first error."""
    found: list[str] = []
    with suppress(ValueError):
        for _, atom in terms(text):
            inner = group(atom)
            found += [parts_of_name(atom)[0]] if inner is None else names_in(inner[0])
    return found


def parts_of_name(atom: str) -> tuple[str, Options]:
    """Name and parameters of a metric or objective."""
    found = _NAME.fullmatch(atom)
    if found is None:
        raise unreadable(atom)
    options: Options = {}
    pairs = [one.partition("=") for one in split(found[2], ",")] if found[2] else []
    pairs += [("k", "=", found[3])] if found[3] is not None else []
    for name, sign, value in pairs:
        name = name.strip()
        if name in options:
            raise ValueError(f"{atom!r} gives {name} twice.")
        if not sign or not name.isidentifier():
            raise unreadable(atom)
        options[name] = _literal(value.strip(), atom)
    return found[1], options


def _literal(value: str, atom: str) -> object:
    """A Python literal, or a bare word as a string; a list as a tuple, which has a hash."""
    if value.isidentifier():
        return {"False": False, "None": None, "True": True}.get(value, value)
    try:
        return _frozen(ast.literal_eval(value))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise unreadable(atom) from None


def _frozen(value: object) -> object:
    """A hashable copy: lists become tuples, mappings become tuples of pairs."""
    if isinstance(value, dict):
        return tuple((_frozen(key), _frozen(one)) for key, one in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value
