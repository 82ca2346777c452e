"""Draw the picture of the landing page and README, and the learning curve of what_to_train.md.

The first shows the contest of what_to_train.md, the second the values that
benchmarks/learning_curve.py has measured.

    python docs/figures.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

import skrank

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
CURVE = HERE / "_static" / "learning_curve.csv"
CURVE_PICTURE = HERE / "_static" / "learning_curve.svg"
CURVES = {  # lines of the learning curve, by trees and objective, and their colours
    ("own", "GAP from linear"): ("GAP from linear: LightGBM's own parameters", "#8ab3d5"),
    ("default, refit", "GAP from linear"): ("GAP from linear: default trees, refit", "#12436b"),
    ("default", "GAP from linear"): ("GAP from linear: default trees", "#1b6ca8"),
    ("regularised", "GAP from linear"): ("GAP from linear: regularised trees", "#c65d21"),
    ("default", "lambdarank"): ("lambdarank: default trees", "#6a6a6a"),
    ("linear", "GAP"): ("LinearRanker, GAP", "#3a8f5c"),
}


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


def differences() -> pd.DataFrame:
    """nDCG@10 less that of LightGBM's own lambdarank: means over seeds, and 95 % intervals."""
    values = pd.read_csv(CURVE).set_index(["noise", "queries", "seed", "trees", "objective"])
    values = values["ndcg@10"].unstack(["trees", "objective"])
    rows = []
    for (noise, n_queries), part in values.groupby(level=["noise", "queries"]):
        for line in CURVES:
            found = (part[line] - part["own", "lambdarank"]).to_numpy()
            found = found[~pd.isna(found)]
            low, high = found[[0, 0]]  # a single seed has no interval
            if len(found) > 1:
                interval = skrank.stats.t_interval(found)
                low, high = interval.low, interval.high
            rows.append((noise, n_queries, line, found.mean(), low, high))
    return pd.DataFrame(rows, columns=["noise", "queries", "line", "mean", "low", "high"])


def draw_curve() -> None:
    """Write the learning curve."""
    plt = _pyplot()
    table = differences()
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 4.6), layout="constrained")
    sizes = sorted(table["queries"].unique())
    for ax, noise in zip(axes, (1.5, 0.7), strict=True):
        for number, (line, (label, color)) in enumerate(CURVES.items()):
            part = table[(table["noise"] == noise) & (table["line"] == line)]
            ax.errorbar(
                part["queries"] * 1.04 ** (number - 2.5), part["mean"],
                [part["mean"] - part["low"], part["high"] - part["mean"]],
                color=color, label=label, marker="o", markersize=4, linewidth=1.3, capsize=2,
            )  # fmt: skip
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("training queries")
        ax.set_title("noisy labels" if noise > 1 else "clean labels")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("nDCG@10 less that of LightGBM's lambdarank")
    lines = axes[0].get_legend_handles_labels()
    fig.legend(*lines, loc="outside lower center", ncols=2, frameon=False)
    fig.savefig(CURVE_PICTURE, metadata={"Date": None})
    print(f"wrote {CURVE_PICTURE}")


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "skrank"
    import matplotlib.pyplot as plt

    return plt


def draw() -> None:
    """Write the picture; its numbers are also in its description."""
    plt = _pyplot()
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
    draw_curve()
