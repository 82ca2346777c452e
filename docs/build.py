"""Write the page of metrics from the registry, and the other pages; a test keeps them current.

python docs/build.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from pathlib import Path

import skrank
from skrank._engine.definition import format_value
from skrank._engine.peer_names import PEERS
from skrank._engine.peer_tables import Here
from skrank.metrics import Metric, registered

HERE = Path(__file__).parent
PAGE = HERE / "reference" / "metrics.md"
OTHER_PAGES = ("objective_tables.py", "scikit_learn.py", "peer_names.py")
SHARED = {field.name for field in dataclasses.fields(Metric)}
HEAD = """# Metrics

Made from the registry by `python docs/build.py`.

A metric is named by a string, `skrank.metric("ndcg(gain=linear)@10")`, made from its class,
`skrank.metrics.NDCG(gain="linear", k=10)`, or called as a function,
`skrank.metrics.ndcg_score(relevance, scores, gain="linear", k=10)`. All take the cut-off `k` (where
there is one), `condensed`, `empty`, `ties` and `average`. All are the exact mean over the orders of
tied documents but those marked "strict", which have no closed form and refuse ties on which their
value depends.

"Gradient" says whether `LambdaRank` trains on a metric. Parameters are described with the classes,
in the reference of `skrank.metrics`. Weighted sums of metrics are metrics:
`skrank.metric("0.7*gap+0.3*ndcg@10")`, see [mixtures](../user_guide/mixtures.md). Which one when:
[a guide](../user_guide/which_metric.md).

The 11-point matrix that ROMIP lists as its own, beside TREC's, is defined in none of its editions.
There is no metric of that name here; `skrank.metrics.eleven_point_curve` is TREC's.

| name | class | range | ties | gradient | also in |
|---|---|---|---|---|---|
"""


def parameters(cls: type[Metric]) -> str:
    """Own parameters with their defaults."""
    own = [field for field in dataclasses.fields(cls) if field.name not in SHARED]
    return ", ".join(f"{field.name}={format_value(field.default)}" for field in own)


def gradient(cls: type[Metric]) -> str:
    """Whether LambdaRank trains on the metric: with or without a cut-off, or not at all."""
    if cls().untrainable is None:
        return "yes"
    try:
        return "no" if cls(k=10).untrainable else "with a cut-off"
    except ValueError:
        return "no"


def value_range(cls: type[Metric]) -> str:
    return cls.value_range + ("" if cls.greater_is_better else ", lower is better")


def formula(doc: str) -> str:
    """The first formula of a docstring."""
    found = re.search(r"^\.\. math:: ?(.*?)(?=\n\n)", doc, re.DOTALL | re.MULTILINE)
    return inspect.cleandoc(found[1]) if found else ""


def section(doc: str, title: str) -> str:
    """A section of a docstring, as one paragraph of Markdown."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w+\n-+|\Z)", doc, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].replace("``", "`").split()) if found else ""


def parity() -> dict[type[Metric], dict[str, list[str]]]:
    """For each class the tools that have it: their name, and what it is here."""
    found: dict[type[Metric], dict[str, list[str]]] = {cls: {} for cls in registered().values()}
    shown = runpy.run_path(str(HERE / "peer_names.py"))["shown"]
    for prefix, peer in PEERS.items():
        for name, one in peer.names.items():
            if isinstance(one, Here) and prefix == peer.name:
                theirs, ours = shown(prefix, name, one)
                lines = found[type(skrank.metric(ours))].setdefault(prefix, [])
                lines.append(f"`{theirs}` is `{ours}`")
    return found


def row(cls: type[Metric], peers: dict[str, list[str]]) -> str:
    """One line of the table."""
    names = ", ".join(f"`{name}`" for name in cls.names)
    link = f"[{cls.__name__}](#{cls.__name__.lower()})"
    ties = "strict" if cls.strict else "exact mean"
    cells = (names, link, value_range(cls), ties, gradient(cls), ", ".join(peers))
    return f"| {' | '.join(cells)} |\n"


def described(cls: type[Metric], peers: dict[str, list[str]]) -> str:
    """What the page says of a metric."""
    doc = inspect.getdoc(cls) or ""
    text = f"\n## {cls.__name__}\n\n{' '.join(doc.partition(chr(10) * 2)[0].split())}\n\n"
    if formula(doc):
        text += f"```math\n{formula(doc)}\n```\n\n"
    own = f"`{parameters(cls)}`" if parameters(cls) else "none of its own"
    lines = [
        f"names: {', '.join(f'`{name}`' for name in cls.names)}; function `{cls.function}`",
        f"parameters: {own}",
        f"range: {value_range(cls)}",
        "ties: " + ("refused where the value depends on them" if cls.strict else "exact mean"),
        f"gradient: {gradient(cls)}",
        f"source: {section(doc, 'References')}",
        *(f"{peer}: {', '.join(names)}" for peer, names in peers.items()),
    ]
    return text + "".join(f"* {line}\n" for line in lines)


def page() -> str:
    """The text of the page."""
    peers = parity()
    classes = [cls for _, cls in sorted(registered().items())]
    rows = [row(cls, peers[cls]) for cls in classes]
    return HEAD + "".join(rows) + "".join(described(cls, peers[cls]) for cls in classes)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
    for script in OTHER_PAGES:
        runpy.run_path(str(HERE / script), run_name="__main__")
