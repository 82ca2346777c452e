"""Write the pages of metrics from the registry, and the other pages; a test keeps them current.

python docs/build.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from pathlib import Path

from skrank._engine.parameters import format_value
from skrank.metrics import Metric, registered
from skrank.objectives.lambdarank import refusal

HERE = Path(__file__).parent
FOLDER = HERE / "reference"
OTHER_PAGES = ("objective_tables.py", "scikit_learn.py", "peer_names.py")
SHARED = {field.name for field in dataclasses.fields(Metric)}
HEAD = """# Metrics

Five metrics answer most questions:

| name | for users who |
|---|---|
| [`ndcg@10`](metrics_graded.md#ndcg) | look at the first page, and gain more from higher grades |
| [`ap`](metrics_binary.md#ap) | look through the whole list, whose documents are relevant or not |
| [`gap`](metrics_graded.md#gap) | do so, and differ in the lowest grade that is relevant to them |
| [`rr`](metrics_binary.md#rr) | look for one relevant document |
| [`recall@100`](metrics_binary.md#recall) | re-rank the first 100 documents |

A metric has a name, `skrank.metric("ndcg(gain=linear)@10")`, and a class,
`skrank.metrics.NDCG(gain="linear", k=10)`. Both are functions of `(relevance, scores, groups=...)`.
All metrics take `condensed`, `empty`, `ties` and `average`, and all metrics that have a cut-off
take `k`. Metrics of binary labels have a parameter `rel`, the lowest relevant label. Tied documents
count with the exact mean over their orders. Metrics marked with * have no closed form for ties:
they raise an error if their value depends on the order of tied documents.

"Gradient" says whether `LambdaRank` can train on the metric. [Which metric
when](../user_guide/which_metric.md) helps to choose a metric. [Names of other tools](names.md) says
which name computes the values of another tool. `skrank.metrics.eleven_point_curve` computes the
11-point matrix of TREC.
"""
TITLES = {
    "metrics_graded.md": "# Metrics of graded labels\n",
    "metrics_binary.md": "# Metrics of binary labels\n",
}
FAMILIES = {  # modules of skrank.metrics
    "Gains, discounted by rank": ("dcg", "user_models.SDCG"),
    "Average precision": ("ap.AP", "gap", "q", "r_precision"),
    "A user who stops": ("rr", "err", "pfound", "rbp", "user_models", "adaptive_users", "compat"),
    "Sets: the first k documents": ("sets", "accuracy"),
    "Interpolated precision": ("iprec",),
    "Missing judgments": ("bpref", "ap", "sets.Judged"),
    "Counts": ("counts",),
    "Others": (),
}
COLUMNS = "| name | what it is | range | gradient |\n|---|---|---|---|\n"


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
    if refusal(cls()) is None:
        return "yes"
    try:
        return "no" if refusal(cls(k=10)) else "with a cut-off"
    except ValueError:
        return "no"


def value_range(cls: type[Metric]) -> str:
    low, high = (f"{bound:g}" for bound in cls.value_range)
    text = f"{'(' if low == '-inf' else '['}{low}, {high}{')' if high == 'inf' else ']'}"
    return text if cls.greater_is_better else f"{text}, lower is better"


def formula(doc: str) -> str:
    """The first formula of a docstring."""
    found = re.search(r"^\.\. math:: ?(.*?)(?=\n\n)", doc, re.DOTALL | re.MULTILINE)
    return inspect.cleandoc(found[1]) if found else ""


def section(doc: str, title: str) -> str:
    """A section of a docstring, as one paragraph of Markdown."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w+\n-+|\Z)", doc, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].replace("``", "`").split()) if found else ""


def summary(cls: type[Metric]) -> str:
    """The first sentence of its docstring."""
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


def row(cls: type[Metric]) -> str:
    """One line of the table."""
    page = f"{file_of(cls)}#{cls.__name__.lower()}"
    names = ", ".join(f"[`{name}`]({page})" for name in cls.names) + ("*" if cls.strict else "")
    what = summary(cls).partition(": ")
    short = (what[2] or what[0]).rstrip(".")
    return f"| {' | '.join((names, short, value_range(cls), gradient(cls)))} |\n"


def family(cls: type[Metric]) -> str:
    """The family whose entry is the class, or else the module of the class, or else "Others"."""
    module = cls.__module__.rpartition(".")[2]
    for entry in (f"{module}.{cls.__name__}", module):
        for title, entries in FAMILIES.items():
            if entry in entries:
                return title
    return "Others"


def described(cls: type[Metric]) -> str:
    """What the page says of a metric."""
    doc = inspect.getdoc(cls) or ""
    text = f"\n## {cls.__name__}\n\n{summary(cls)}\n\n"
    if formula(doc):
        text += f"```math\n{formula(doc)}\n```\n\n"
    lines = [f"names: {', '.join(f'`{name}`' for name in cls.names)}"]
    if parameters(cls):
        lines.append(f"parameters: `{parameters(cls)}`")
    if cls.strict:
        lines.append("ties: refused where the value depends on them")
    lines.append(f"source: {section(doc, 'References')}")
    return text + "".join(f"* {line}\n" for line in lines)


def pages() -> dict[Path, str]:
    """The texts of the pages."""
    texts = dict(TITLES)
    rows = dict.fromkeys(FAMILIES, "")
    for _, cls in sorted(registered().items()):
        rows[family(cls)] += row(cls)
        texts[file_of(cls)] += described(cls)
    texts["metrics.md"] = HEAD + "".join(
        f"\n## {title}\n\n{COLUMNS}{text}" for title, text in rows.items() if text
    )
    return {FOLDER / name: text for name, text in texts.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    for script in OTHER_PAGES:
        runpy.run_path(str(HERE / script), run_name="__main__")
