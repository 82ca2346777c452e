"""`as_objective`: an Objective from a text, a Metric or an Objective."""

from __future__ import annotations

import dataclasses
import re
from contextlib import suppress
from typing import Any

from skrank import _validation as check
from skrank._engine.name_parser import read
from skrank._engine.names import known
from skrank._typing import Options
from skrank.metrics import Metric, metric
from skrank.objectives.base import WRAPPED, Objective
from skrank.objectives.lambdarank import LambdaRank


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a text, a Metric or an Objective; for a metric, LambdaRank on the metric.

    Parameters
    ----------
    objective : str, Metric or Objective
        The name of a metric; the name of an objective, with a colon and its metric if it has one,
        such as "softmax", "lambdarank:gap" or "lambdaloss(mu=5):ndcg@10"; or a sum of weights times
        such names, such as "0.9*lambdarank:gap+0.1*squared_error".
    **options
        Options of LambdaRank, if `objective` is a metric.

    Returns
    -------
    Objective
        ``as_objective(str(objective))`` equals the objective.

    Raises
    ------
    ValueError
        If there is no such metric or objective; if an option is unknown, or given together with an
        Objective.

    Notes
    -----
    "0.7*gap+0.3*ndcg@10" is LambdaRank on a mixture of metrics, as "lambdarank:(0.7*gap+0.3*
    ndcg@10)" is; "0.7*lambdarank:gap+0.3*lambdarank:ndcg@10" is a mixture of objectives. If a sum
    contains the name of an objective, each metric in the sum stands for LambdaRank on it.

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
    """The metric or objective of a text; a Metric or an Objective is returned unchanged."""
    if isinstance(x, Objective):
        return x
    with suppress(RecursionError):  # for many nested brackets, which `metric_to_train_on` refuses
        if isinstance(x, str) and _names_objective(x):
            return _objective(x)
    return metric_to_train_on(x)


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; for a mixture, of the first part that has a metric."""
    return next((one.metric for _, one in objective.terms if hasattr(one, "metric")), None)


def metric_to_train_on(name: str | Metric) -> Metric:
    """The metric of a name, for parameters that also accept names of objectives.

    Raises
    ------
    ValueError
        If there is no such metric: the message shows how to write objectives.
    """
    if not isinstance(name, (str, Metric)):
        raise check.not_an_objective(name)
    try:
        return metric(name)
    except ValueError:
        text = str(name)
        if check.is_name_of_objective(text):
            raise _unknown(text) from None
        unknown = [one for one, _ in _named_in(text) if one.lower() not in known()]
        if unknown:
            raise _unknown(unknown[0]) from None
        raise


def _named_in(text: str) -> list[tuple[str, Options]]:
    """Names in a text with their options, up to the first error."""
    named = []

    def note(name: str, options: Options) -> Metric:
        named.append((name, options))
        return metric("gap")

    with suppress(ValueError):
        read(text, note)
    return named


def _unknown(name: str) -> ValueError:
    return check.unknown_objective(name, Objective.named, known())


# Texts of objectives: a sum of weights times atoms, which are names or sums in brackets
# ------------------------------------------------------------------------------------------------


def _objective(text: str) -> Objective:
    """The objective of a text that contains the name of an objective."""
    parts = [(weight, _of_atom(atom)) for weight, atom in _terms(text)]
    if len(parts) == 1 and parts[0][0] == 1:
        return parts[0][1]
    return Objective.mixture(tuple(parts))


def _of_atom(text: str) -> Objective:
    """The objective of an atom; for a metric, LambdaRank on the metric."""
    if not _names_objective(text):
        return LambdaRank(metric_to_train_on(text))
    if _is_group(text):
        return _objective(text[1:-1])
    cls = Objective.named[_name(text)]
    head, *rest = _split(text, ":", 1)
    options = _options(head)
    wraps = dataclasses.fields(cls)[0].name in WRAPPED
    if wraps != bool(rest and rest[0]):
        raise ValueError(
            f"{text!r} is not an objective: its metric is missing, write {cls.name}:ndcg."
            if wraps
            else f"{text!r} is not an objective: {cls.name} has no metric, write {cls.name}."
        )
    _check_options(cls, options)
    return cls(*rest, **options)


def _options(head: str) -> Options:
    """The options in the brackets of ``name(option=value)``."""
    named = _named_in(head) if re.fullmatch(r"\w+\s*(\(.*\))?", head, re.DOTALL) else []
    if not named:
        raise ValueError(
            f"{head!r} is not an objective: write name or name(option=value), with its metric "
            "behind a colon if it has one, such as 'softmax(gain=linear)' or 'lambdarank:gap'."
        )
    return named[0][1]


def _check_options(cls: type[Objective], options: Options) -> None:
    known = [field.name for field in dataclasses.fields(cls) if field.name not in WRAPPED]
    for name in options:
        if name not in known:
            raise check.unknown_name(f"option of {cls.__name__}", name, known)


def _names_objective(text: str) -> bool:
    """True if an atom of a text is the name of an objective, and not the name of a metric."""
    return any(
        _names_objective(atom[1:-1]) if _is_group(atom) else _name(atom) in Objective.named
        for _, atom in _terms(text)
    )


def _name(atom: str) -> str:
    """``cls.name`` of the objective whose name begins an atom; "" if there is none."""
    name = re.split(r"\W", atom, maxsplit=1)[0].lower()
    if name in known():
        return ""
    return next(
        (one for one in Objective.named if one.replace("_", "") == name.replace("_", "")), ""
    )


def _is_group(atom: str) -> bool:
    return atom.startswith("(") and atom.endswith(")")


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
