"""Write the page of objectives from their classes; a test keeps it current.

python docs/objective_tables.py
"""

from __future__ import annotations

import dataclasses
import inspect
import runpy
from pathlib import Path

from skrank import objectives
from skrank.metrics import registered
from skrank.objectives import LambdaRank, Objective

HERE = Path(__file__).parent
PAGE = HERE / "reference" / "objectives.md"
BASES = {"Objective", "ObjectiveMixture"}
PEERS = {  # what the tests reproduce, or what is the same by its definition
    "LambdaRank": (
        'LightGBM `lambdarank`: `LambdaRank("ndcg", truncation_level=30, tie_order="stable")`, to '
        '1e-5; XGBoost `rank:ndcg`: `LambdaRank("ndcg", truncation_level=32, tie_order="stable")`, '
        "up to a constant"
    ),
    "LambdaLoss": 'allRank `lambdaLoss`, `ndcgLoss2PP_scheme`: `LambdaLoss("ndcg")`',
    "SoftRank": "none that is maintained",
    "Softmax": "LightGBM `rank_xendcg`: `Softmax(random_gains=True)`; CatBoost `QuerySoftMax`",
    "SquaredError": "CatBoost `QueryRMSE`: `SquaredError(centered=True)`",
}
HEAD = """# Objectives

[The guide](../user_guide/objectives.md) says which objective to use when, with examples.

| objective | as a string | metrics |
|---|---|---|
"""


def classes() -> list[type[Objective]]:
    """The public objectives, by name."""
    return [
        thing
        for name, thing in sorted(vars(objectives).items())
        if inspect.isclass(thing) and issubclass(thing, Objective) and name not in BASES
    ]


def trainable(cls: type[Objective]) -> str:
    """The metrics that an objective takes, found by making it of each."""
    parameters = inspect.signature(cls).parameters
    if "metric" not in parameters:
        return "none: it depends on the gains of labels"
    taken = {name for name in registered() if takes(cls, name)}
    if taken == {name for name in registered() if takes(LambdaRank, name)}:
        return "all with a gradient"
    return ", ".join(f"`{name}`" for name in sorted(taken))


def takes(cls: type[Objective], name: str) -> bool:
    """Whether an objective can be made of a metric, with or without a cut-off."""
    for text in (name, f"{name}@10"):
        try:
            cls(text)  # type: ignore[call-arg]
        except ValueError:
            continue
        return True
    return False


def page() -> str:
    """The text of the page."""
    tools = runpy.run_path(str(HERE / "build.py"))
    text = HEAD
    for cls in classes():
        name = cls.__name__
        link = f"[{name}](#{name.lower()})"
        inner = ":ndcg" if dataclasses.fields(cls)[0].name == "metric" else ""
        written = f"`{cls.name}{inner}`"
        text += f"| {link} | {written} | {trainable(cls)} |\n"
    for cls in classes():
        doc = inspect.getdoc(cls) or ""
        text += f"\n## {cls.__name__}\n\n{' '.join(doc.partition(chr(10) * 2)[0].split())}\n\n"
        if tools["formula"](doc):
            text += f"```math\n{tools['formula'](doc)}\n```\n\n"
        text += f"* call: `{cls.__name__}{_signature(cls)}`\n"
        text += f"* source: {tools['section'](doc, 'References')}\n"
        text += f"* the same in: {PEERS.get(cls.__name__, 'none')}\n"
    return text


def _signature(cls: type[Objective]) -> str:
    """Parameters with their defaults, without types."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(cls).parameters.values()
    ]
    return str(inspect.Signature(parameters))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
