"""Write the page on scikit-learn from the recipes that the tests run; a test keeps it current."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.matrix import (
    BACKENDS,
    BARE,
    CONTAINERS,
    ESTIMATORS,
    IMPORTS,
    MODEL,
    MODES,
    SETUP,
    Estimator,
    Way,
)
from tests.helpers.matrix_tools import TOOLS

WHOLE_WORDS = {"break_long_words": False, "break_on_hyphens": False}
PAGE = Path(__file__).parent / "user_guide" / "scikit-learn.md"
HEAD = f"""# skrank in scikit-learn

Made by `python docs/build.py` from the recipes that `tests/scoring/test_matrix.py` runs: each finds
what a loop by hand over the folds finds, and what is refused here raises an error that says why.

The query of each row reaches estimators, scorers and splitters in one of two ways, with equal
scores. Neither needs sorted rows.

* **Groups on `y`**: `y = skrank.with_groups(relevance, qid)`, a pandas Series whose index is the
  query. scikit-learn slices `y` and hands it on with its index. It needs no setting, `X` may be of
  any kind, and it works with metadata routing, too. An index level `"qid"` of a DataFrame `X` does
  the same where no step turns `X` into an array.
* **Metadata routing**: labels and groups are separate and groups are passed by name. skrank's
  rankers, scorers and splitters ask for `groups` by themselves. It works inside
  `with sklearn.config_context(enable_metadata_routing=True):`, and there only.

Without groups from anywhere, all of them raise. Where `y` has the groups, rankers, scorers and
splitters compare the rows that they get with all rows of the call of `with_groups`, and warn of
queries that a split such as `KFold` has cut with `skrank.CutQueryWarning`. With metadata routing
nothing shows such a cut.

The recipes below start from

```python
{IMPORTS}
{MODEL}{SETUP}```
"""
VERSIONS = """
## Versions

The tests run against the newest scikit-learn, and `.ci/oldest` runs those of this page against the
oldest versions that skrank takes.
"""


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


def recipes(ways: dict[str, Way]) -> str:
    """The code of both modes."""
    shown = [
        f"# {MODES[mode].replace('`', '')}\n{way.code}\n" for mode, way in ways.items() if way.code
    ]
    return "\n```python\n" + "\n".join(shown) + "```\n"


def tools() -> str:
    """Table of the tools."""
    rows = [
        (f"[{tool.name}](#{anchor(tool.name)})", answer(tool.y), answer(tool.routing))
        for tool in TOOLS
    ]
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
    remarks.append(f"{bare} alone get no groups from any tool, and fail: wrap them.")
    remarks.append(
        "Boosters get frames of polars as pandas, without pyarrow. Categories must be of the type "
        "`Enum`, which lists them."
    )
    return (
        "\n## Estimators and containers\n\nIn both ways, whatever holds `X`; labels and groups may "
        "be of NumPy, pandas or polars.\n\n"
        + table("estimator", *CONTAINERS.values(), rows=rows)
        + "\n"
        + "".join(paragraph(remark, "* ") for remark in remarks)
    )


def backends() -> str:
    """Recipes of the backends of joblib."""
    shown = "".join(f"\n{way['y'].code}\n" for way in BACKENDS.values())
    return (
        "\n## In parallel\n\nThe backends of joblib give the numbers of one process, in both ways. "
        "Give the estimator\n`n_jobs=1` inside of a parallel search.\n\n```python" + shown + "```\n"
    )


def sections() -> str:
    """Recipes and remarks."""
    return "\n## Recipes\n" + "".join(
        f"\n### {tool.name}\n"
        + (f"\n{paragraph(tool.remark)}" if tool.remark else "")
        + (recipes({"y": tool.y, "routing": tool.routing}) if tool.routing.code else "")
        for tool in TOOLS
    )


def page() -> str:
    """The text of the page."""
    return HEAD + tools() + estimators() + backends() + sections() + VERSIONS


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
