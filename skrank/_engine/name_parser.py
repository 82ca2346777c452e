"""The grammar of names of metrics: name(parameter=value)@10."""

from __future__ import annotations

import ast
import re

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
        "or 'ndcg(gain=linear)@10'."
    )


def refuse_sum(text: str) -> None:
    """Raise the error for a sum such as "0.7*gap+0.3*ndcg"."""
    if len(split(text, "+")) > 1 or len(split(text, "*")) > 1:
        raise ValueError(
            f"{text!r} is not a name: reports take several metrics, such as ['gap', 'ndcg@10'], "
            "and training takes sums of objectives, such as "
            "0.7 * LambdaRank('gap') + 0.3 * LambdaRank('ndcg@10')."
        )


def split(text: str, sign: str) -> list[str]:
    """The parts of a text between signs outside brackets and quotes."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "([{") - (token in ")]}")
        if token == sign and depth == 0:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def name_in(text: str) -> str | None:
    """The name in a text such as "ndcg(gain=linear)@10"; None if it is not of the grammar."""
    found = _NAME.fullmatch(text.strip())
    return found and found[1]


def parts_of_name(atom: str) -> tuple[str, Options]:
    """Name and parameters of a metric."""
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
