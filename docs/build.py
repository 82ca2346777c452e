"""Write the pages of metrics from the registry, and the other pages; a test keeps them current.

python docs/build.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from pathlib import Path

import skrank
from skrank._engine.parameters import format_value
from skrank._engine.peer_names import tables
from skrank.metrics import Metric, registered

HERE = Path(__file__).parent
FOLDER = HERE / "reference"
OTHER_PAGES = ("objective_tables.py", "scikit_learn.py", "peer_names.py")
SHARED = {field.name for field in dataclasses.fields(Metric)}
HEAD = """# Metrics

`python docs/build.py` makes this page from the registered metrics.

A metric has a name, `skrank.metric("ndcg(gain=linear)@10")`, and a class,
`skrank.metrics.NDCG(gain="linear", k=10)`. Both are functions of `(relevance, scores, groups=...)`.
All metrics take `condensed`, `empty`, `ties` and `average`, and all
metrics that have a cut-off take `k`. Tied documents count with the exact mean over their orders.
Metrics marked "strict" have no closed form for ties. They raise an error if their value depends on
the order of tied documents.

"Gradient" says whether `LambdaRank` can train on the metric. Weighted sums of metrics are metrics,
such as `skrank.metric("0.7*gap+0.3*ndcg@10")`: see [mixtures](../user_guide/mixtures.md). [Which
metric when](../user_guide/which_metric.md) helps to choose a metric.

Two pages have the formulas, parameters, sources and names in other tools: [metrics of graded
labels](metrics_graded.md) and [metrics of binary labels](metrics_binary.md). Metrics of binary
labels have a parameter `rel`, the lowest relevant label.

ROMIP names two 11-point matrices, its own and that of TREC, but no edition of ROMIP defines its
own. `skrank.metrics.eleven_point_curve` computes that of TREC.

| name | class | range | ties | gradient | also in |
|---|---|---|---|---|---|
"""


MADE = "`python docs/build.py` makes this page from the registered metrics."
HEADS = {
    "metrics_graded.md": f"# Metrics of graded labels\n\n{MADE}\n",
    "metrics_binary.md": f"# Metrics of binary labels\n\n{MADE}\n",
}


def file_of(cls: type[Metric]) -> str:
    """The page that describes a metric."""
    binary = any(field.name == "rel" for field in dataclasses.fields(cls))
    return "metrics_binary.md" if binary else "metrics_graded.md"


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
    for tool, entries in tables().items():
        for name, entry in entries.items():
            if entry.ours:
                theirs, ours = shown(tool, name, entry)
                lines = found[type(skrank.metric(ours))].setdefault(tool, [])
                lines.append(f"`{theirs}` is `{ours}`")
    return found


def row(cls: type[Metric], peers: dict[str, list[str]]) -> str:
    """One line of the table."""
    names = ", ".join(f"`{name}`" for name in cls.names)
    link = f"[{cls.__name__}]({file_of(cls)}#{cls.__name__.lower()})"
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
        f"names: {', '.join(f'`{name}`' for name in cls.names)}",
        f"parameters: {own}",
        f"range: {value_range(cls)}",
        "ties: " + ("refused where the value depends on them" if cls.strict else "exact mean"),
        f"gradient: {gradient(cls)}",
        f"source: {section(doc, 'References')}",
        *(f"{peer}: {', '.join(names)}" for peer, names in peers.items()),
    ]
    return text + "".join(f"* {line}\n" for line in lines)


def pages() -> dict[Path, str]:
    """The texts of the pages."""
    peers = parity()
    texts = {"metrics.md": HEAD} | HEADS
    for _, cls in sorted(registered().items()):
        texts["metrics.md"] += row(cls, peers[cls])
        texts[file_of(cls)] += described(cls, peers[cls])
    return {FOLDER / name: text for name, text in texts.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    for script in OTHER_PAGES:
        runpy.run_path(str(HERE / script), run_name="__main__")
