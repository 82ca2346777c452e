"""Time of LightGBM training with a skrank objective, compared with LightGBM's lambdarank.

python benchmarks/training.py [--queries 2000] [--documents 120] [--features 100] [--rounds 20]
"""

from __future__ import annotations

import argparse
import os
import time


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 255])
    parser.add_argument("--metrics", nargs="+", default=["gap", "ndcg"])
    return parser.parse_args()


options = parse()
os.environ["NUMBA_NUM_THREADS"] = str(options.threads)

import lightgbm as lgb  # noqa: E402
import numpy as np  # noqa: E402

import skrank  # noqa: E402
import skrank.lightgbm  # noqa: E402


def make_data(rng: np.random.Generator) -> lgb.Dataset:
    n_rows = options.queries * options.documents
    X = rng.standard_normal((n_rows, options.features), dtype=np.float32)
    utility = X[:, :10].sum(1) + 3 * rng.standard_normal(n_rows, dtype=np.float32)
    relevance = np.digitize(utility, np.quantile(utility, [0.52, 0.84, 0.97, 0.99]))
    sizes = np.full(options.queries, options.documents)
    return lgb.Dataset(X, relevance, group=sizes, params={"verbose": -1}).construct()


def seconds(data: lgb.Dataset, objective: object, leaves: int, level: int) -> float:
    parameters = {
        "objective": objective,
        "lambdarank_truncation_level": level,
        "num_leaves": leaves,
        "num_threads": options.threads,
        "metric": "None",
        "verbose": -1,
    }
    start = time.perf_counter()
    lgb.train(parameters, data, options.rounds)
    return time.perf_counter() - start


def main() -> None:
    data = make_data(np.random.default_rng(0))
    print(
        f"{options.queries} queries x {options.documents} documents x {options.features} features, "
        f"{options.rounds} rounds, {options.threads} threads, best of {options.repeats}"
    )
    for leaves in options.leaves:
        for level, name in ((10_000, "full lists"), (30, "truncation 30")):
            rivals: dict[str, object] = {"lambdarank": "lambdarank"}
            for metric in options.metrics:
                chosen = skrank.LambdaRank(metric, truncation_level=level)
                rivals[metric] = skrank.lightgbm.objective(chosen)
            best = dict.fromkeys(rivals, np.inf)
            seconds(data, rivals[options.metrics[0]], leaves, level)  # compiles
            for _ in range(options.repeats):
                for rival, objective in rivals.items():
                    best[rival] = min(best[rival], seconds(data, objective, leaves, level))
            line = f"{leaves:4} leaves, {name:14} lambdarank {best['lambdarank']:6.2f} s"
            for metric in options.metrics:
                ratio = best[metric] / best["lambdarank"]
                line += f"   skrank {metric} {best[metric]:6.2f} s ({ratio:.2f} x)"
            print(line, flush=True)


if __name__ == "__main__":
    main()
