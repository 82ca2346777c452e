"""Write the page on scikit-learn from the recipes that the tests run; a test compares it."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill, indent

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

PAGE = Path(__file__).parent / "user_guide" / "scikit-learn.md"
HEAD = f"""# Every tool of scikit-learn

The tools of scikit-learn split, train and score rows. A ranker also needs the query of each row.
Pass the queries in one of two ways, which give the same scores:

* **Groups on `y`** (recommended): `y = skrank.with_groups(relevance, qid)` puts the query on the
  index of `y`, and scikit-learn slices `y` together with its index.
* **Metadata routing**: after `sklearn.set_config(enable_metadata_routing=True)`, write
  `fit(X, relevance, groups=qid)` for tools with `fit`, and `params={{"groups": qid}}` for functions
  such as `cross_validate`. Rankers, scorers and splitters of skrank request `groups` by themselves.

```python
{IMPORTS}
{MODEL}{SETUP}
search = GridSearchCV(model, grid, scoring=scoring, cv=cv).fit(X, y)
found = pd.DataFrame(search.cv_results_)
found["GAP"] = found["mean_test_score"].round(2)
print(found[["param_estimator__learning_rate", "GAP"]].to_string())
```

```text
   param_estimator__learning_rate   GAP
0                            0.05  0.84
1                            0.50  0.86
```

Without queries, skrank raises an error. If a split such as `KFold` cuts queries of `with_groups`,
skrank issues a `skrank.CutQueryWarning`; with metadata routing, it cannot detect the cut.
[Tuning](tuning.md) shows searches in detail.
"""
CLIENTS = """
## Other libraries

Curves of yellowbrick read the `scoring` of the ranker: give it `scoring=scoring`. feature-engine
and category_encoders compare the indexes of `X` and `y`: pass `X.set_axis(y.index)`. yellowbrick's
`RFECV` and feature-engine's `SelectByShuffling` drop the groups.
"""
PARALLEL = """
## In parallel

All backends of joblib compute the same numbers. Set `n_jobs=1` in the estimator.
"""
CLUSTER = """\
import distributed

cluster = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
"""
NEEDS = {  # what recipes need beside scikit-learn
    "Optuna: study": "import optuna\nfrom optuna.samplers import GridSampler\n\n",
    "Optuna: OptunaSearchCV": (
        "from optuna.distributions import CategoricalDistribution\n"
        "from optuna_integration import OptunaSearchCV\n\n"
    ),
}
PLAIN = ("cross_validate", "TransformedTargetRegressor")  # not shown
ROUTED = "import sklearn\n\nwith sklearn.config_context(enable_metadata_routing=True):\n"


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def table(*head: str, rows: list[tuple[str, ...]]) -> str:
    return row(*head) + "|---" * len(head) + "|\n" + "".join(row(*cells) for cells in rows)


def answer(way: Way) -> str:
    """What the table says of a way."""
    return ", ".join(filter(None, ["yes" if way.code else "no", way.note]))


def tools() -> str:
    """The tools that need nothing further, and a table of the others."""
    answers = {tool.name: (answer(tool.y), answer(tool.routing)) for tool in TOOLS}
    plain = [f"`{name}`" for name, both in answers.items() if both == ("yes", "yes")]
    rows = [(f"`{name}`", *both) for name, both in answers.items() if both != ("yes", "yes")]
    text = f"These tools work in both ways: {', '.join(plain)}. The others:"
    return f"\n## Tools\n\n{paragraph(text)}\n" + table("tool", *MODES.values(), rows=rows)


def paragraph(text: str, mark: str = "") -> str:
    """Text in lines."""
    hanging = " " * len(mark)
    lines = fill(
        text, 100, initial_indent=mark, subsequent_indent=hanging,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return lines + "\n"


def refusals(estimator: Estimator) -> str:
    """The containers that an estimator does not take."""
    return "; ".join(f"{CONTAINERS[name]}: {why}" for name, (why, _) in estimator.refused.items())


def estimators() -> str:
    """The estimators, with what each does not take and what to know about it."""
    rows = [
        (f"`{one.code}`", refusals(one) or "-", one.remark.replace("`skrank.", "`"))
        for one in ESTIMATORS.values()
        if one.refused or one.remark
    ]
    others = [f"`{one.code}`" for one in ESTIMATORS.values() if not (one.refused or one.remark)]
    bare = ", ".join(f"`{name}`" for name in BARE)
    return (
        "\n## Estimators and containers\n\n"
        + paragraph(
            f"`X` may be of NumPy, pandas (also with the queries on an index level), polars or "
            f"SciPy (sparse); labels and groups of NumPy, pandas or polars. {', '.join(others)} "
            f"take all of them. No tool passes groups to {bare}: wrap them in `GroupedRanker`. "
            "Categories of polars must have the type `Enum`."
        )
        + "\n"
        + table("estimator", "does not take", "to know", rows=rows)
    )


def backends() -> str:
    """Recipes of the backends of joblib."""
    shown = {name: way["y"].code + "\n" for name, way in BACKENDS.items() if name != "threading"}
    shown["dask"] = CLUSTER + shown["dask"]
    return PARALLEL + "".join(f"\n```python\n{code}```\n" for code in shown.values())


def recipe(tool: Tool) -> str:
    """The code of a recipe with its imports: with groups on `y`, if it works so."""
    way = tool.y if tool.y.code else tool.routing
    code = way.code
    if tool.models == ("logistic",):
        code = code.replace("model,", "LogisticRegression(),")
    if not tool.y.code:
        code = ROUTED + indent(code, "    ")
    return f"\n```python\n{NEEDS.get(tool.name, '')}{code}\n```\n"


def sections() -> str:
    """Recipes of the tools that have a remark, or that need further imports."""
    shown = [
        tool for tool in TOOLS if (tool.remark or tool.name in NEEDS) and tool.name not in PLAIN
    ]
    return "".join(
        f"\n### {tool.name}\n"
        + (f"\n{paragraph(tool.remark)}" if tool.remark else "")
        + recipe(tool)
        for tool in shown
    )


def pages() -> dict[Path, str]:
    """The text of the page."""
    text = HEAD + tools() + estimators() + CLIENTS + "\n## Recipes\n" + sections() + backends()
    return {PAGE: text}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
