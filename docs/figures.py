"""Draw the picture of the landing page and README, from the contest in what_to_train.md.

python docs/figures.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
CONTEST = HERE / "what_to_train.md"
PICTURE = HERE / "_static" / "gain.png"
SHOWN = {  # how a row of the contest is called in the picture
    "skrank: LightGBM on GAP, from a linear ranker": "LightGBM, GAP from linear",
    "skrank: LinearRanker on GAP": "LinearRanker, GAP",
    "CatBoost, YetiRank": "CatBoost YetiRank",
    "XGBoost, rank:ndcg": "XGBoost rank:ndcg",
    "LightGBM, lambdarank": "LightGBM lambdarank",
}
TREES = ("default trees", "regularised trees")


def table() -> dict[str, list[float]]:
    """Rows of the contest: nDCG@10 and AP, then both of regularised trees."""
    text = CONTEST.read_text(encoding="utf-8")
    head = re.search(r"^\| ranker \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert head, f"{CONTEST.name} has no table of the contest"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in head[1].splitlines()]
    return {name: [float(cell) for cell in cells if cell] for name, *cells in rows}


def shown() -> dict[str, list[float]]:
    """What the picture shows: the cells of a row by name."""
    found = table()
    return {name: found[row] for name, row in SHOWN.items()}


def draw() -> None:
    """Write the picture; its numbers are also in its description."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    values = shown()
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.6), layout="constrained")
    for column, (ax, metric) in enumerate(zip(axes, ("nDCG@10", "AP"), strict=True)):
        for row, (name, cells) in enumerate(values.items()):
            color = "#1b6ca8" if name.startswith("skrank") else "#6a6a6a"
            both = cells[column::2]  # of default trees, of regularised trees; or one value
            for regularised, value in enumerate(both):
                place = row + (0.2 if len(both) > 1 else 0) * (2 * regularised - 1)
                ax.barh(
                    place,
                    value,
                    0.36,
                    color=color,
                    alpha=1 if regularised or len(both) == 1 else 0.5,
                )
                ax.annotate(
                    f"{value:.4f}".lstrip("0"), (value, place), (4, 0), color=color, fontsize=9,
                    textcoords="offset points", va="center",
                )  # fmt: skip
        ax.set_title(metric)
        ax.set_xlim(0, 0.68)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(left=False)
    axes[0].set_yticks(range(len(values)), list(values))
    axes[0].invert_yaxis()
    for label, alpha in zip(TREES, (0.5, 1), strict=True):
        axes[0].barh(0, 0, color="#6a6a6a", alpha=alpha, label=label)
    fig.legend(loc="outside lower center", ncols=2, frameon=False)
    fig.savefig(PICTURE, dpi=130, metadata={"Description": str(values), "Software": None})
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    draw()
