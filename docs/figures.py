"""Draw the picture of the landing page and README, from the contest in what_to_train.md.

python docs/figures.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
CONTEST = HERE / "what_to_train.md"
PICTURE = HERE / "_static" / "gain.png"
SHOWN = {  # row of the table, whether its regularised columns, and how it is called in the picture
    "skrank: LightGBM on GAP, from a linear ranker": ("LightGBM, GAP from linear", True),
    "skrank: LinearRanker on GAP": ("LinearRanker, GAP", False),
    "CatBoost, YetiRank": ("CatBoost YetiRank", False),
    "XGBoost, rank:ndcg": ("XGBoost rank:ndcg", False),
    "LightGBM, lambdarank": ("LightGBM lambdarank", False),
}


def table() -> dict[str, list[float]]:
    """Rows of the contest: nDCG@10 and AP, then both of regularised trees."""
    text = CONTEST.read_text(encoding="utf-8")
    head = re.search(r"^\| ranker \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert head, f"{CONTEST.name} has no table of the contest"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in head[1].splitlines()]
    return {name: [float(cell) for cell in cells if cell] for name, *cells in rows}


def shown() -> dict[str, tuple[float, float]]:
    """What the picture shows: nDCG@10 and AP by name."""
    found = table()
    return {
        name: (found[row][2 * regular], found[row][2 * regular + 1])
        for name, (row, regular) in SHOWN.items()
    }


def draw() -> None:
    """Write the picture; its numbers are also in its description."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    values = shown()
    names = list(values)
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 2.7), layout="constrained")
    for ax, metric, place in zip(axes, ("nDCG@10", "AP"), (0, 1), strict=True):
        for rank, name in enumerate(reversed(names)):
            ours = name.startswith("skrank")
            ax.plot(values[name][place], rank, "o", color="#1b6ca8" if ours else "#8a8a8a", ms=9)
            ax.annotate(
                f"{values[name][place]:.3f}", (values[name][place], rank), (8, -4),
                textcoords="offset points", fontweight="bold" if ours else "normal",
            )  # fmt: skip
        ax.set_title(metric)
        ax.grid(axis="x", alpha=0.3)
        ax.margins(x=0.18, y=0.15)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)
    axes[0].set_yticks(range(len(names)), list(reversed(names)))
    fig.savefig(PICTURE, dpi=130, metadata={"Description": str(values), "Software": None})
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    draw()
