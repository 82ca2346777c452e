"""Write the score functions from the metric classes: `skrank/metrics/_functions/`, a file a family.

A metric class says all that a function needs: name, parameters with types and defaults, summary.
The functions are checked in because their signatures serve readers and editors; a test keeps them
current.

    python docs/score_functions.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from pathlib import Path

import skrank.metrics
from skrank._engine.sets import CountMetric, SetMetric
from skrank.metrics import Metric, registered

FOLDER = Path(skrank.metrics.__file__).with_name("_functions")
SHARED = [field.name for field in dataclasses.fields(Metric)]
WIDTH = 100
EXAMPLE = ([2, 0, 1], [0.9, 0.5, 0.1])
TYPES = {  # names in the types of parameters, and where they come from
    "Gain": "from skrank._engine.gains import Gain",
    "Discount": "from skrank.metrics.dcg import Discount",
    "Mapping": "from collections.abc import Mapping",
    "Sequence": "from collections.abc import Sequence",
}
FUNCTION = '''def {name}(
{signature}
) -> float:
    """{summary}

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
{names}
        See `{cls}`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import {name}
    >>> {call}
    {value}
    """
    metric = {cls}(
{passed}
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
'''
HEAD = '"""Score functions{what}: written by docs/score_functions.py."""\n\n# fmt: off\n'


def family(cls: type[Metric]) -> str:
    """The engine's module for metrics of this kind."""
    if issubclass(cls, SetMetric):
        return "sets"
    if issubclass(cls, CountMetric):
        return "counts"
    if cls.strict:
        return "strict"
    tables = inspect.signature(cls.tables).return_annotation
    return str(tables).removesuffix("Tables").lower()


def ordered(cls: type[Metric]) -> list[dataclasses.Field]:
    """Fields in the order of the parameters: the cut-off, the metric's own, what all share."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    own = [name for name in fields if name not in SHARED]
    return [fields[name] for name in ("k", *own, *(name for name in SHARED if name != "k"))]


def wrapped(items: list[str], indent: str) -> str:
    """Items on lines of the usual width."""
    lines = textwrap.wrap(", ".join(item.replace(" ", "\0") for item in items), WIDTH - len(indent))
    return "\n".join(indent + line.replace("\0", " ") for line in lines)


def example(cls: type[Metric]) -> tuple[str, float]:
    """A call, and its value."""
    try:
        metric, more = cls(), ""
        if metric.untrainable and "add a cut-off" in metric.untrainable:
            raise ValueError
    except ValueError:
        metric, more = cls(k=2), ", k=2"
    value = metric(*EXAMPLE)
    call = f"{cls.function}({EXAMPLE[0]}, {EXAMPLE[1]}{more})"
    return (call, value) if value == round(value, 4) else (f"round({call}, 4)", round(value, 4))


def function(cls: type[Metric]) -> str:
    """The text of one function."""
    fields = ordered(cls)
    names = [field.name for field in fields]
    typed = [
        f"{field.name}: {field.type} = {field.default!r}".replace("'", '"') for field in fields
    ]
    first = ["relevance: ArrayLike", "scores: ArrayLike", "*", "groups: ArrayLike | None = None"]
    call, value = example(cls)
    what = re.split(r"[.:;,(]", cls.__doc__ or "", maxsplit=1)[0]
    summary = f"{what}: see `{cls.__name__}`."
    return FUNCTION.format(
        name=cls.function,
        cls=cls.__name__,
        summary=summary,
        signature=wrapped([*first, *typed, "sample_weight: ArrayLike | None = None"], "    "),
        names=wrapped(names, "    "),
        call=call,
        value=value,
        passed=wrapped([f"{name}={name}" for name in names], "        "),
    )


def module(classes: list[type[Metric]]) -> str:
    """The text of the file of a family."""
    body = "\n\n".join(function(cls) for cls in classes)
    used = [line for name, line in TYPES.items() if f"{name}[" in body or f": {name} " in body]
    used += [f"from {cls.__module__} import {cls.__name__}" for cls in classes]
    standard = sorted(line for line in used if line.startswith("from collections"))
    ours = sorted(line for line in used if line.startswith("from skrank"))
    blocks = ["from __future__ import annotations", *(["\n".join(standard)] if standard else [])]
    blocks += ["from numpy.typing import ArrayLike", "\n".join(ours)]
    head = HEAD.format(what=f" of the family `{family(classes[0])}`")
    return head + "\n\n".join(blocks) + "\n\n\n" + body


def files() -> dict[Path, str]:
    """The text of each file."""
    families: dict[str, list[type[Metric]]] = {}
    for _, cls in sorted(registered().items()):
        families.setdefault(family(cls), []).append(cls)
    texts = {FOLDER / f"{name}.py": module(classes) for name, classes in families.items()}
    lines = [
        f"from skrank.metrics._functions.{name} import {cls.function}\n"
        for name, classes in sorted(families.items())
        for cls in classes
    ]
    public = [f'    "{name}",\n' for name in sorted(cls.function for cls in registered().values())]
    names = "\n__all__ = [\n" + "".join(public) + "]\n"
    return texts | {FOLDER / "__init__.py": HEAD.format(what="") + "\n" + "".join(lines) + names}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
    print(f"wrote {FOLDER}")
