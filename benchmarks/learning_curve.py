"""nDCG@10 and AP by the number of training queries, on generated data.

Each seed makes a collection for each noise of the labels and each number of training queries, with
300 further queries to test on. "own" are LightGBM's own parameters: 100 rounds, a learning rate of
.1, no queries held out. "default" and "regularised" trees have at most 400 rounds, a learning rate
of .05, and early stopping on a fifth of the queries; "refit" trains on all queries afterwards. Each
finished collection is added to the CSV file; a second call continues where the first one ended.

    python benchmarks/learning_curve.py docs/_static/learning_curve.csv [--seeds 10]
        [--queries 100 300 1000 3000]

docs/figures.py draws the file. It takes half an hour of processor time.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from lightgbm import LGBMRanker

import skrank
from skrank.datasets import make_ranking

N_TEST = 300
NOISES = (1.5, 0.7)
METRICS = [skrank.metric("ndcg@10"), skrank.metric("ap")]
COLUMNS = ["noise", "queries", "seed", "trees", "objective", "ndcg@10", "ap"]
SLOW = {"n_estimators": 400, "learning_rate": 0.05}
TREES = {
    "own": {},
    "default": SLOW,
    "regularised": SLOW
    | {"num_leaves": 15, "min_child_samples": 50, "colsample_bytree": 0.7, "subsample": 0.8}
    | {"subsample_freq": 1, "extra_trees": True, "reg_lambda": 10},
}
FROM_LINEAR = {"objective": "gap", "init": "linear"}
STOP = {"eval_metric": "ndcg@10", "validation_fraction": 0.2, "random_state": 0}


def rankers(seed: int) -> Iterator[tuple[str, str, object]]:
    """Trees, objective and ranker of each contestant."""
    for trees, parameters in TREES.items():
        booster = LGBMRanker(**parameters, n_jobs=1, verbosity=-1, random_state=seed)
        stop = {} if trees == "own" else STOP
        for name, objective in (("lambdarank", {}), ("GAP from linear", FROM_LINEAR)):
            yield trees, name, skrank.GroupedRanker(booster, **objective, **stop)
            if trees == "default":
                again = skrank.GroupedRanker(booster, options={"refit": True}, **objective, **stop)
                yield "default, refit", name, again
    yield "linear", "GAP", skrank.LinearRanker("gap")


def collection(noise: float, n_queries: int, seed: int) -> Iterator[list[object]]:
    """Rows of one collection."""
    data = make_ranking(n_queries + N_TEST, noise=noise, random_state=seed)
    y = skrank.with_groups(data.relevance, data.qid)
    train = data.qid < n_queries
    for trees, objective, ranker in rankers(seed):
        scores = ranker.fit(data.X[train], y[train]).predict(data.X[~train])
        values = [f"{metric(y[~train], scores):.5f}" for metric in METRICS]
        yield [noise, n_queries, seed, trees, objective, *values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="CSV file, to which rows are added")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--queries", type=int, nargs="+", default=[100, 300, 1000, 3000])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.file.exists():
        with options.file.open(encoding="utf-8") as file:
            done = {tuple(row[:3]) for row in csv.reader(file)}
    for seed, n_queries, noise in product(range(options.seeds), options.queries, NOISES):
        if (str(noise), str(n_queries), str(seed)) in done:
            continue
        rows = list(collection(noise, n_queries, seed))
        with options.file.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows if done else [COLUMNS, *rows])
        done.add((str(noise), str(n_queries), str(seed)))
        print(f"seed {seed}, {n_queries} queries, noise {noise}: done", flush=True)


if __name__ == "__main__":
    main()
