"""Which ranker ranks best on new queries? A comparison on generated data.

The rankers are the boosters with default parameters, LightGBM with early
stopping, a linear ranker, and the ranker that skrank recommends: the mean of
two boosters that start from the linear ranker. Each is trained on several
collections, whose labels are about as noisy as those of human assessors, and
measured on other queries of the same collections.

    python examples/quickstart.py [--queries 100] [--noise 1.5]
        [--collections 4]

The gain is largest with few queries or noisy labels: see docs/what_to_train.md.
"""

from __future__ import annotations

import argparse
import sys
import time

import lightgbm as lgb
import pandas as pd
import xgboost as xgb

import skrank
from skrank.datasets import make_ranking

N_TEST = 200
METRICS = ["ndcg@10", "ap", "gap"]
RECOMMENDED = "recommended_ranker"
RANKERS = {
    "LightGBM": skrank.GroupedRanker(
        lgb.LGBMRanker(random_state=0, n_jobs=1, verbosity=-1)
    ),
    "XGBoost": skrank.GroupedRanker(xgb.XGBRanker(random_state=0, n_jobs=1)),
    "LightGBM, early stopping": skrank.GroupedRanker(
        lgb.LGBMRanker(
            n_estimators=400,
            learning_rate=0.05,
            random_state=0,
            n_jobs=1,
            verbosity=-1,
        ),
        eval_metric="ndcg@10",
        validation_fraction=0.2,
        random_state=0,
    ),
    "LinearRanker, GAP": skrank.LinearRanker("gap"),
    RECOMMENDED: skrank.recommended_ranker(n_jobs=1, random_state=0),
}


def compare(n_queries: int, noise: float, n_collections: int) -> pd.DataFrame:
    """Values by ranker, collection and query."""
    found = {}
    for seed in range(n_collections):
        data = make_ranking(n_queries + N_TEST, noise=noise, random_state=seed)
        y = skrank.with_groups(data.relevance, data.qid)
        train = data.qid < n_queries
        for name, ranker in RANKERS.items():
            print(
                f"collection {seed + 1} of {n_collections}: {name}",
                file=sys.stderr,
            )
            scores = ranker.fit(data.X[train], y[train]).predict(data.X[~train])
            report = skrank.evaluate(y[~train], scores, metrics=METRICS)
            found[name, seed] = report.per_query.loc["scores"].dropna()
    return pd.concat(found, names=["ranker", "collection", "query"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--queries", type=int, default=100, help="number of training queries"
    )
    parser.add_argument(
        "--noise", type=float, default=1.5, help="noise of the labels"
    )
    parser.add_argument("--collections", type=int, default=4)
    options = parser.parse_args()
    start = time.perf_counter()
    values = compare(options.queries, options.noise, options.collections)
    print(
        f"{options.collections} collections, {options.queries} queries to "
        f"train on, {N_TEST} held "
        f"out: means over held-out queries ({time.perf_counter() - start:.0f} "
        "s)\n"
    )
    means = values.groupby("ranker", sort=False)[METRICS].mean()
    print(means.rename_axis(None).to_string(float_format="{:.3f}".format))

    print(f"\n{RECOMMENDED}, against")
    ours = values.loc[RECOMMENDED]
    for name in list(RANKERS)[:-1]:
        cells = []
        for metric in METRICS:
            pair = pd.concat(
                [ours[metric], values.loc[name][metric]], axis=1
            ).to_numpy()
            p = float(skrank.stats.paired_t(pair).p_value[0])
            ahead = 100 * (pair[:, 0] - pair[:, 1]).mean()
            shown = "p < .001" if p < 0.001 else f"p = {p:.3f}"
            cells.append(f"{metric} {ahead:+.1f} points ({shown})")
        print(f"  {name + ':':26}" + ", ".join(cells))


if __name__ == "__main__":
    main()
