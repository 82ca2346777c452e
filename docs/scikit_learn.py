"""Write the pages on scikit-learn from the recipes that the tests run; a test compares them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from docs.scikit_learn_recipes import (
    BACKENDS,
    BARE,
    CONTAINERS,
    ESTIMATORS,
    IMPORTS,
    MODEL,
    MODES,
    SETUP,
    Estimator,
    Tool,
    Way,
)
from docs.scikit_learn_tools import TOOLS

WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
GUIDE = Path(__file__).parent / "user_guide"
HEAD = f"""# skrank in scikit-learn

The tools of scikit-learn split, train and score rows. A ranker also needs the query of each row.
You can pass the queries to rankers, scorers and splitters in two ways. Both ways give the same
scores. In both, rows may have any order. In scikit-learn, the parameter for queries is `groups`.

* **Groups on `y`** (recommended): `y = skrank.with_groups(relevance, qid)` is a pandas Series whose
  index is the query. scikit-learn slices `y` together with its index. No setting is needed, and `X`
  may have any type. Queries may also be an index level `"qid"` of a DataFrame `X`, unless a step of
  a pipeline converts `X` to an array. [Groups on y](recipes.md) has a recipe for each tool.
* **Metadata routing**: labels and groups are separate, and groups are passed by name. Rankers,
  scorers and splitters of skrank request `groups` by themselves. Routing must be enabled:
  `sklearn.set_config(enable_metadata_routing=True)`. [Metadata routing](recipes_routing.md) has a
  recipe for each tool.

```python
{IMPORTS}
{MODEL}{SETUP}
search = GridSearchCV(model, grid, scoring=scoring, cv=cv).fit(X, y)
print(sorted(search.best_params_))
```

```text
['estimator__learning_rate']
```

If neither `y`, `X` nor `groups=` has the queries, skrank raises an error. If a split such as
`KFold` cuts queries of `with_groups`, skrank issues a `skrank.CutQueryWarning`. With metadata
routing, skrank cannot detect such a cut.

[Tuning](tuning.md) shows a search with several metrics, early stopping inside folds, and which
parameters to tune.
"""
PARALLEL = """
## In parallel

All backends of joblib compute the same numbers, for both ways to pass queries. In a parallel
search, set `n_jobs=1` in the estimator.
"""
CLUSTER = """\
import distributed

cluster = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
"""
VERSIONS = """
## Versions

The tests run the recipes with the newest and with the oldest supported version of scikit-learn
(`.ci/oldest`), and compare each result with a loop over the folds.
"""
RECIPES = {
    "y": f"""# Recipes: groups on y

Each recipe needs the first block only. In the first block, you can use your own data. [skrank in
scikit-learn](scikit-learn.md) explains groups on `y`, and lists the same recipes with metadata
routing.

```python
{IMPORTS}
{MODEL}{SETUP}```
""",
    "routing": f"""# Recipes: metadata routing

Each recipe needs the first block only. In the first block, you can use your own data. [skrank in
scikit-learn](scikit-learn.md) explains metadata routing, and lists the same recipes without it.

```python
import sklearn
{IMPORTS}
{MODEL}{SETUP}
sklearn.set_config(enable_metadata_routing=True)
```
""",
}
SWITCHED_OFF = """
## Afterwards

```python
sklearn.set_config(enable_metadata_routing=False)
```
"""
NEEDS = {  # what recipes need beside scikit-learn
    "Optuna: study": "import optuna\nfrom optuna.samplers import GridSampler\n\n",
    "Optuna: OptunaSearchCV": (
        "from optuna.distributions import CategoricalDistribution\n"
        "from optuna_integration import OptunaSearchCV\n\n"
    ),
}


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def table(*head: str, rows: list[tuple[str, ...]]) -> str:
    return row(*head) + "|---" * len(head) + "|\n" + "".join(row(*cells) for cells in rows)


def answer(way: Way) -> str:
    """What the table says of a way."""
    return ", ".join(filter(None, ["yes" if way.code else "no", way.note]))


FILES = {"y": "recipes.md", "routing": "recipes_routing.md"}


def cell(tool: Tool, mode: str) -> str:
    """What the table says of a tool in a mode, with a link to the recipe."""
    way = getattr(tool, mode)
    text = answer(way)
    return f"[{text}]({FILES[mode]}#{anchor(tool.name)})" if way.code else text


def tools() -> str:
    """Table of the tools."""
    rows = [(f"`{tool.name}`", cell(tool, "y"), cell(tool, "routing")) for tool in TOOLS]
    return "\n## Tools\n\n" + table("tool", *MODES.values(), rows=rows)


def paragraph(text: str, mark: str = "") -> str:
    """Text in lines."""
    indent = " " * len(mark)
    return fill(text, 100, initial_indent=mark, subsequent_indent=indent, **WHOLE_WORDS) + "\n"


def taken(estimator: Estimator, container: str) -> str:
    """What the table says of an estimator and a container."""
    refused = estimator.refused.get(container)
    return f"no, {refused[0]}" if refused else "yes"


def estimators() -> str:
    """Table of the estimators and containers."""
    rows = [
        (f"`{one.code}`", *(taken(one, name) for name in CONTAINERS)) for one in ESTIMATORS.values()
    ]
    remarks = [f"`{one.code}`: {one.remark}" for one in ESTIMATORS.values() if one.remark]
    bare = ", ".join(f"`{name}`" for name in BARE)
    remarks.append(
        f"No tool passes groups to {bare}, so their training fails: wrap them in `GroupedRanker`."
    )
    remarks.append(
        "skrank converts polars frames to pandas for boosters, and does not need pyarrow for this. "
        "Categories must have the type `Enum`, which lists the categories."
    )
    return (
        "\n## Estimators and containers\n\nThe table holds for both ways to pass queries. Labels "
        "and groups may be of NumPy, pandas or polars.\n\n"
        + table("estimator", *CONTAINERS.values(), rows=rows)
        + "\n"
        + "".join(paragraph(remark, "* ") for remark in remarks)
    )


def backends() -> str:
    """Recipes of the backends of joblib."""
    shown = {name: way["y"].code + "\n" for name, way in BACKENDS.items()}
    shown["dask"] = CLUSTER + shown["dask"]
    return PARALLEL + "".join(f"\n```python\n{code}```\n" for code in shown.values())


def recipe(tool: Tool, mode: str) -> str:
    """The code of a recipe, with its imports."""
    way = getattr(tool, mode)
    code = way.code
    if tool.models == ("logistic",):
        code = code.replace("model,", "LogisticRegression(),")
    newer = way.since != Way("").since
    since = f"\nThis needs scikit-learn {way.since} or newer.\n" if newer else ""
    return f"{since}\n```python\n{NEEDS.get(tool.name, '')}{code}\n```\n"


def sections(mode: str) -> str:
    """Recipes and remarks."""
    return "".join(
        f"\n## {tool.name}\n"
        + (f"\n{paragraph(tool.remark)}" if tool.remark else "")
        + recipe(tool, mode)
        for tool in TOOLS
        if getattr(tool, mode).code
    )


def pages() -> dict[Path, str]:
    """The texts of the pages."""
    end = {"y": "", "routing": SWITCHED_OFF}
    texts = {FILES[mode]: head + sections(mode) + end[mode] for mode, head in RECIPES.items()}
    texts["scikit-learn.md"] = HEAD + tools() + estimators() + backends() + VERSIONS
    return {GUIDE / name: text for name, text in texts.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
