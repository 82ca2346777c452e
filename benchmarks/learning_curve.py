"""nDCG@10 and AP by the number of training queries, on generated data.

Each seed makes a collection for each noise of the labels and each number of training queries, with
300 further queries to test on. The rankers are `skrank.recommended_ranker`, each of its boosters
alone, a linear ranker, and the boosters with their own objectives: LightGBM and XGBoost with their
default parameters, trained on all queries, and CatBoost with the parameters, the early stopping and
the refit that it has in the recommended ranker. Each finished row is added to the CSV file; a
second call continues where the first one ended.

    python benchmarks/learning_curve.py docs/_static/learning_curve.csv [--seeds 10]
        [--queries 100 300 1000 3000] [--only NAME ...]

docs/figures.py draws the file; --report prints differences from LightGBM's and CatBoost's own
objectives, with paired t-tests over seeds.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from sklearn.base import clone
from xgboost import XGBRanker

import skrank
from skrank.datasets import make_ranking

N_TEST = 300
NOISES = (1.5, 0.7)
METRICS = [skrank.metric("ndcg@10"), skrank.metric("ap")]
COLUMNS = ["noise", "queries", "seed", "ranker", "ndcg@10", "ap"]
BASES = ("LightGBM lambdarank", "CatBoost YetiRank")  # for --report


def rankers(seed: int) -> dict[str, object]:
    """Rankers by name."""
    quiet = {"n_jobs": 1, "verbosity": -1, "random_state": seed}
    means = {
        title: skrank.recommended_ranker(title.lower(), n_jobs=1, random_state=seed)
        for title in ("LightGBM", "XGBoost")
    }
    yeti = skrank.recommended_ranker("catboost", n_jobs=1, random_state=seed).get_params()
    return {
        "LightGBM lambdarank": skrank.GroupedRanker(LGBMRanker(**quiet)),
        "XGBoost rank:ndcg": skrank.GroupedRanker(XGBRanker(n_jobs=1, random_state=seed)),
        "CatBoost YetiRank": clone(yeti["catboost"]).set_params(init=None),
        "LinearRanker": skrank.LinearRanker("gap"),
        **{f"recommended, {title}": mean for title, mean in means.items()},
    }


def collection(noise: float, n_queries: int, seed: int, names: set[str]) -> Iterator[list[object]]:
    """Rows of one collection; a mean has a row for each of its boosters, too."""
    data = make_ranking(n_queries + N_TEST, noise=noise, random_state=seed)
    y = skrank.with_groups(data.relevance, data.qid)
    train = data.qid < n_queries
    for name, ranker in rankers(seed).items():
        if name not in names:
            continue
        fitted = {name: ranker.fit(data.X[train], y[train])}
        if isinstance(ranker, skrank.RankerMean):
            title = name.removeprefix("recommended, ")
            members = ranker.named_estimators_.items()
            fitted |= {f"{title}, {member} trees": booster for member, booster in members}
        for row_name, model in fitted.items():
            scores = model.predict(data.X[~train])
            values = [f"{metric(y[~train], scores):.5f}" for metric in METRICS]
            yield [noise, n_queries, seed, row_name, *values]


def report(path: Path) -> None:
    """Print mean differences in points, and p-values over seeds."""
    table = pd.read_csv(path).set_index(["noise", "queries", "ranker", "seed"])
    for (noise, n_queries), part in table.groupby(level=["noise", "queries"]):
        values = part.droplevel(["noise", "queries"])
        names = values.index.unique("ranker")
        for base in [name for name in BASES if name in names]:
            print(f"\nnoise {noise}, {n_queries} queries, against {base}")
            for name in names.drop(base):
                cells = []
                for metric in ("ndcg@10", "ap"):
                    pair = values[metric].unstack("ranker")[[name, base]].dropna().to_numpy()
                    p = float(skrank.stats.paired_t(pair).p_value[0]) if len(pair) > 1 else np.nan
                    cells.append(
                        f"{metric} {100 * (pair[:, 0] - pair[:, 1]).mean():+.2f} ({p:.3f})"
                    )
                print(f"    {name:44}", ", ".join(cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="CSV file, to which rows are added")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--queries", type=int, nargs="+", default=[100, 300, 1000, 3000])
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(rankers(0)))
    parser.add_argument("--report", action="store_true", help="run nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.report:
        report(options.file)
        return
    done = set()
    if options.file.exists():
        with options.file.open(encoding="utf-8") as file:
            done = {tuple(row[:4]) for row in csv.reader(file)}
    else:
        options.file.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for seed, n_queries, noise in product(range(options.seeds), options.queries, NOISES):
        place = (str(noise), str(n_queries), str(seed))
        names = {name for name in options.only if (*place, name) not in done}
        for row in collection(noise, n_queries, seed, names):
            with options.file.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(row)
        print(f"seed {seed}, {n_queries} queries, noise {noise}: done", flush=True)


if __name__ == "__main__":
    main()
