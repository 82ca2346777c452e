"""Objectives from what users write: names of metrics and objectives, metrics, and objectives."""

from __future__ import annotations

import dataclasses
import re
from contextlib import suppress
from inspect import signature
from typing import Any

from skrank import _validation as check
from skrank._engine.metric import registry
from skrank._engine.name_parser import read
from skrank._typing import Options
from skrank.metrics import Metric, metric
from skrank.objectives.base import WRAPPED, Objective
from skrank.objectives.lambdarank import LambdaRank


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a text, a Metric or an Objective; a metric stands for LambdaRank on it.

    Parameters
    ----------
    objective : str, Metric or Objective
        The name of a metric; the name of an objective, behind a colon its metric, as in "softmax",
        "lambdarank:gap" or "lambdaloss(mu=5):ndcg@10"; or a sum of weights times such names, as in
        "0.9*lambdarank:gap+0.1*squared_error".
    **options
        Options of LambdaRank, when `objective` is a metric.

    Returns
    -------
    Objective
        ``str(objective)`` gives a text that reads back.

    Raises
    ------
    ValueError
        If there is no such metric or objective; if an option is unknown, or given together with an
        Objective.

    Notes
    -----
    "0.7*gap+0.3*ndcg@10" is LambdaRank on a mixture of metrics, as "lambdarank:(0.7*gap+0.3*
    ndcg@10)" is; "0.7*lambdarank:gap+0.3*lambdarank:ndcg@10" is a mixture of objectives. Where a
    sum names an objective, each name of a metric in it is LambdaRank on that metric.

    Examples
    --------
    >>> from skrank.objectives import as_objective
    >>> as_objective("ndcg@10", truncation_level=30).truncation_level
    30
    >>> str(as_objective("0.9*gap+0.1*softmax(gain=linear)"))
    '0.9*lambdarank:gap+0.1*softmax(gain=linear)'
    """
    chosen = metric_or_objective(objective)
    if isinstance(chosen, Objective):
        if options:
            raise ValueError(
                f"options {sorted(options)} belong to the objective: write "
                f"dataclasses.replace(objective, {next(iter(options))}=...)."
            )
        return chosen
    _check_options(LambdaRank, options)
    return LambdaRank(chosen, **options)


def metric_or_objective(x: str | Metric | Objective) -> Metric | Objective:
    """What a text stands for; Metrics and Objectives as they are.

    Raises
    ------
    ValueError
        If there is no such metric or objective: the message tells how objectives are written.
    """
    if isinstance(x, Objective):
        return x
    if not isinstance(x, (str, Metric)):
        raise check.not_an_objective(x)
    with suppress(RecursionError):  # of brackets in brackets, which the reader of metrics refuses
        if isinstance(x, str) and _names_objective(x):
            return _objective(x)
    try:
        return metric(x)
    except ValueError:
        text = str(x)
        unknown = [text]
        if not check.is_name_of_objective(text):
            unknown = [one for one, _ in _named_in(text) if one.lower() not in registry]
        if not unknown:
            raise
        raise check.unknown_objective(unknown[0], Objective.named, registry) from None


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; of a mixture, that of the first part which has one."""
    return next((one.metric for _, one in objective.terms if hasattr(one, "metric")), None)


def _named_in(text: str) -> list[tuple[str, Options]]:
    """Names in a text with their options, as far as it can be read."""
    named = []

    def note(name: str, options: Options) -> Metric:
        named.append((name, options))
        return metric("gap")

    with suppress(ValueError):
        read(text, note)
    return named


# Texts of objectives: a sum of weights times atoms, which are names or sums in brackets
# ------------------------------------------------------------------------------------------------

_GROUP = re.compile(r"\((.*)\)", re.DOTALL)  # an atom that is a sum in brackets


def _objective(text: str) -> Objective:
    """The objective of a text that names one."""
    parts = [(weight, _of_atom(atom)) for weight, atom in _terms(text)]
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    return Objective.mixture(tuple(parts))


def _of_atom(text: str) -> Objective:
    """The objective of an atom; LambdaRank on it if it names metrics only."""
    if not _names_objective(text):
        return as_objective(text)
    group = _GROUP.fullmatch(text)
    if group is not None:
        return _objective(group[1])
    cls = Objective.named[_name(text)]
    head, *rest = _split(text, ":", 1)
    options = _options(head)
    wraps = dataclasses.fields(cls)[0].name in WRAPPED
    if wraps != bool(rest and rest[0]):
        raise ValueError(
            f"{text!r} is no objective: write {cls.name}:ndcg, with what to train on."
            if wraps
            else f"{text!r} is no objective: {cls.name} has no metric, write {cls.name}."
        )
    _check_options(cls, options)
    return cls(*rest, **options)


def _options(head: str) -> Options:
    """The options in the brackets of a name."""
    named = _named_in(head) if re.fullmatch(r"\w+\s*(\(.*\))?", head, re.DOTALL) else []
    if not named:
        raise ValueError(
            f"{head!r} is no objective: write name or name(option=value), with its metric behind a "
            "colon where it has one, such as 'softmax(gain=linear)' or 'lambdarank:gap'."
        )
    return named[0][1]


def _check_options(cls: type[Objective], options: Options) -> None:
    known = signature(cls).parameters.keys() - WRAPPED
    for name in options:
        if name not in known:
            raise check.unknown_name(f"option of {cls.__name__}", name, known)


def _names_objective(text: str) -> bool:
    """True if an atom of a text is the name of an objective, and not that of a metric."""
    for _, atom in _terms(text):
        group = _GROUP.fullmatch(atom)
        if _names_objective(group[1]) if group is not None else _name(atom) in Objective.named:
            return True
    return False


def _name(atom: str) -> str:
    """The name that an atom begins with, as classes have it; "" if it is that of a metric."""
    name = re.split(r"\W", atom, maxsplit=1)[0].lower()
    if name in registry:
        return ""
    return next(
        (one for one in Objective.named if one.replace("_", "") == name.replace("_", "")), ""
    )


def _terms(text: str) -> list[tuple[float, str]]:
    """The weights and atoms of a sum."""
    terms = []
    for term in _split(text, "+"):
        weight, atoms = 1.0, []
        for factor in _split(term, "*"):
            try:
                weight *= float(factor)
            except ValueError:
                atoms.append(factor)
        terms.append((weight, "*".join(atoms)))
    return terms


def _split(text: str, sign: str, most: int = -1) -> list[str]:
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
