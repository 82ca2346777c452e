"""Parse texts such as ``0.7*gap+0.3*ndcg@10`` as Python expressions, which are never evaluated."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from skrank._typing import Options

_CONSTANTS = ("False", "None", "True")
_KEYWORD = re.compile(rf"=\s*({'|'.join(set(keyword.kwlist) - set(_CONSTANTS))})\s*(?=[,)])")

M = TypeVar("M", bound="Summand")


class Summand(Protocol):
    """A metric, or another object that can be multiplied, added and cut at a rank."""

    @property
    def terms(self) -> Sequence[tuple[float, Any]]: ...

    def __add__(self: M, other: M) -> M: ...

    def __mul__(self: M, weight: float) -> M: ...

    def __matmul__(self: M, k: int) -> M: ...


def read(text: str, named: Callable[[str, Options], M]) -> M:
    """The metric of a text, which is parsed as a Python expression and never evaluated.

    Parameters
    ----------
    text : str
        ``name``, ``name@k``, ``name(parameter=value)@k``, or a sum of ``weight*metric``.
    named : function of a name and its parameters
        Returns the metric with this name.

    Returns
    -------
    Metric
    """
    wrong = ValueError(
        f"unknown metric {text!r}: write name, name@k or name(parameter=value)@k, "
        "such as 'gap@10' or 'ndcg(gain=linear)@10', or a sum such as '0.7*gap+0.3*ndcg@10'."
    )
    try:
        if "\0" in text:  # `ast.parse` of Python 3.11.3 and older raises ValueError
            raise wrong
        return _Reader(text, named, wrong).metric(_parsed(text.strip()))
    except (SyntaxError, RecursionError, UnicodeEncodeError):  # the last for lone surrogates
        raise wrong from None


def _parsed(text: str) -> ast.expr:
    """The expression of a text. A value may be a keyword of Python, as in ap(empty=raise)."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return ast.parse(_KEYWORD.sub(r"='\1'", text), mode="eval").body


@dataclass(frozen=True)
class _Reader(Generic[M]):
    """Builds the metric of an expression; raises `wrong` if the text is not of the grammar."""

    text: str
    named: Callable[[str, Options], M]
    wrong: ValueError

    def metric(self, node: ast.expr) -> M:
        """The metric of a sum, of a product with a number, or of a name."""
        if not isinstance(node, ast.BinOp) or _is_cut_name(node):
            return self.named(*self.parts_of_name(node))
        if isinstance(node.op, ast.Add):
            return self.metric(node.left) + self.metric(node.right)
        if isinstance(node.op, ast.Mult):
            first = _is_number(node.left)
            weight, rest = (node.left, node.right) if first else (node.right, node.left)
            if _is_number(weight):
                return self.metric(rest) * ast.literal_eval(weight)
        if isinstance(node.op, ast.MatMult):  # Python parses 0.7*gap@10 as (0.7*gap)@10
            return self.cut(self.metric(node.left), self.literal(node.right))
        raise self.wrong

    def cut(self, mixture: M, k: Any) -> M:
        """A mixture with the cut-off `k` for all metrics, which must not have one yet."""
        if any(part.k is not None for _, part in mixture.terms):
            raise ValueError(f"{self.text!r} gives k twice.")
        return mixture @ k

    def parts_of_name(self, node: ast.expr) -> tuple[str, Options]:
        """Name and parameters of one metric."""
        parameters: Options = {}
        if isinstance(node, ast.BinOp):
            parameters["k"] = self.literal(node.right)
            node = node.left
        if isinstance(node, ast.Call):
            if node.args or any(keyword.arg is None for keyword in node.keywords):
                raise self.wrong
            for keyword in node.keywords:
                if keyword.arg in parameters:
                    raise ValueError(f"{self.text!r} gives {keyword.arg} twice.")
                parameters[str(keyword.arg)] = self.literal(keyword.value)
            node = node.func
        if not isinstance(node, ast.Name):
            raise self.wrong
        return node.id, parameters

    def literal(self, node: ast.expr) -> object:
        """A Python literal, or a bare word as a string; a list as a tuple, which has a hash."""
        if isinstance(node, ast.Name):
            return node.id
        try:
            return _frozen(ast.literal_eval(node))
        except (ValueError, TypeError):
            raise self.wrong from None


def _frozen(value: object) -> object:
    """A hashable copy: lists become tuples, mappings become tuples of pairs."""
    if isinstance(value, dict):
        return tuple((_frozen(key), _frozen(one)) for key, one in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _is_cut_name(node: ast.BinOp) -> bool:
    """Whether this is name@k, and not @ behind a sum or a product."""
    left = node.left
    inner = isinstance(left, ast.BinOp) and isinstance(left.op, (ast.Add, ast.Mult))
    return isinstance(node.op, ast.MatMult) and not inner


def _is_number(node: ast.expr) -> bool:
    """Whether this is a number, with or without a sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
