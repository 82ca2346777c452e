"""Write the page of metrics from the registry, and the other pages; a test keeps them current."""

from __future__ import annotations

import dataclasses
import inspect
import runpy
from pathlib import Path

from skrank._engine.metric import format_value
from skrank.metrics import Metric, registered

PAGE = Path(__file__).parent / "reference" / "metrics.md"
SHARED = {field.name for field in dataclasses.fields(Metric)}
HEAD = """# Metrics

Made from the registry by `python docs/build.py`.

A metric is named by a string, `skrank.metric("ndcg(gain=linear)@10")`, made from its class,
`skrank.metrics.NDCG(gain="linear", k=10)`, or called as a function,
`skrank.metrics.ndcg_score(relevance, scores, gain="linear", k=10)`. All take the cut-off `k` (where
there is one), `condensed`, `empty`, `ties` and `average`. All are the exact mean over the orders of
tied documents but those marked "strict", which have no closed form and refuse ties on which their
value depends.

Weighted sums of metrics are metrics: `skrank.metric("0.7*gap+0.3*ndcg@10")`, see
[mixtures.md](../user_guide/mixtures.md).

The 11-point matrix that ROMIP lists as its own, beside TREC's, is defined in none of its editions.
There is no metric of that name here; `skrank.metrics.eleven_point_curve` is TREC's.

| name | class | function | parameters | range | gradient |
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


def row(cls: type[Metric]) -> str:
    """One line of the table."""
    names = ", ".join(f"`{name}`" for name in cls.names) + (" (strict)" if cls.strict else "")
    direction = "" if cls.greater_is_better else ", lower is better"
    shown = f"`{parameters(cls)}`" if parameters(cls) else ""
    cells = (names, cls.__name__, f"`{cls.function}`", shown, cls.value_range + direction)
    return f"| {' | '.join(cells)} | {gradient(cls)} |\n"


def page() -> str:
    """The text of the page."""
    rows = [row(cls) for _, cls in sorted(registered().items())]
    pages = [
        f"\n## {cls.__name__}\n\n```text\n{inspect.getdoc(cls)}\n```\n"
        for _, cls in sorted(registered().items())
    ]
    return HEAD + "".join(rows) + "".join(pages)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
    runpy.run_path(str(Path(__file__).with_name("scikit_learn.py")), run_name="__main__")
    runpy.run_path(str(Path(__file__).with_name("peer_names.py")), run_name="__main__")
