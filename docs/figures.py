"""Draw the difference from LightGBM's lambdarank on collections, and by the number of queries.

The first figure, of the landing page, README and what_to_train.md, shows the values that
benchmarks/quality.py --csv docs/_static/gain.csv has measured; the second, of what_to_train.md,
those of benchmarks/learning_curve.py.

    python docs/figures.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

import skrank

FOLDER = Path(__file__).parent / "_static"
GAIN = FOLDER / "gain.csv"
GAIN_PICTURE = FOLDER / "gain.svg"
COLLECTIONS = {"ohsumed-letor3": "OHSUMED", "mq2008": "MQ2008"}
ROWS = [  # of the first figure
    "recommended, LightGBM", "recommended, XGBoost", "recommended, CatBoost", "LinearRanker, GAP",
    "LightGBM, GAP", "XGBoost rank:ndcg", "CatBoost YetiRank", "LightGBM rank_xendcg",
]  # fmt: skip
CURVE = FOLDER / "learning_curve.csv"
CURVE_PICTURE = FOLDER / "learning_curve.svg"
CURVES = {  # lines of the learning curve, and their colours
    "recommended, LightGBM": "#12436b",
    "LightGBM, default trees": "#1b6ca8",
    "LightGBM, regularised trees": "#8ab3d5",
    "CatBoost YetiRank": "#c65d21",
    "XGBoost rank:ndcg": "#6a6a6a",
    "LinearRanker": "#3a8f5c",
}
BASE = "LightGBM lambdarank"


def differences() -> pd.DataFrame:
    """Points of nDCG@10 from LightGBM's lambdarank: means over seeds, and 95 % intervals."""
    values = pd.read_csv(CURVE).set_index(["noise", "queries", "seed", "ranker"])["ndcg@10"]
    values = values.unstack("ranker")
    rows = []
    for (noise, n_queries), part in values.groupby(level=["noise", "queries"]):
        for line in [name for name in CURVES if name in part]:
            found = 100 * (part[line] - part[BASE]).dropna().to_numpy()
            if not len(found):
                continue
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
        for number, (line, color) in enumerate(CURVES.items()):
            part = table[(table["noise"] == noise) & (table["line"] == line)]
            ax.errorbar(
                part["queries"] * 1.04 ** (number - 2.5), part["mean"],
                [part["mean"] - part["low"], part["high"] - part["mean"]],
                color=color, label=line, marker="o", markersize=4, linewidth=1.3, capsize=2,
            )  # fmt: skip
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("training queries")
        ax.set_title("noisy labels" if noise > 1 else "clean labels")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("points of nDCG@10 from LightGBM's lambdarank")
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


def gains() -> dict[str, pd.DataFrame]:
    """Rows of the first figure by collection: mean difference and its interval, in points."""
    table = pd.read_csv(GAIN)
    table = table[(table["metric"] == "ndcg@10") & table["name"].isin(ROWS)]
    columns = ["ahead", "low", "high"]
    return {
        collection: (100 * part.set_index("name")[columns]).reindex(ROWS).dropna().round(2)
        for collection, part in table.groupby("collection")
    }


def draw() -> None:
    """Write the first figure; its numbers are also in its description.

    It is as narrow as a screen of 390 pixels, so that its text is not scaled down there.
    """
    plt = _pyplot()
    found = gains()
    names = [name for name in ROWS if any(name in part.index for part in found.values())]
    fig, axes = plt.subplots(
        1, len(found), sharey=True, sharex=True, squeeze=False,
        figsize=(5.2, 0.3 * len(names) + 1.1), layout="constrained",
    )  # fmt: skip
    for ax, (collection, part) in zip(axes[0], found.items(), strict=True):
        for row, name in enumerate(names):
            mean, low, high = part.loc[name]
            color = "#1b6ca8" if name.startswith("recommended") else "#6a6a6a"
            ax.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", color=color)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(COLLECTIONS.get(collection, collection))
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)
    axes[0, 0].set_yticks(range(len(names)), names)
    axes[0, 0].invert_yaxis()
    fig.supxlabel("points of nDCG@10 from LightGBM's lambdarank", fontsize=10)
    description = {name: part.to_dict("index") for name, part in found.items()}
    fig.savefig(GAIN_PICTURE, metadata={"Description": str(description), "Date": None})
    print(f"wrote {GAIN_PICTURE}")


if __name__ == "__main__":
    draw()
    draw_curve()
