"""Which objective trains the best ranker on a LETOR collection?

Each contestant is trained on the training part of each fold, stops early on its
own metric on the validation part, and is measured on the test part. Rows are
shuffled first, because the order of the rows reveals labels in some
collections.

    python examples/letor.py FOLDER [--seeds 3] [--rounds 500] [--only NAME ...]
        [--metric "0.5*gap+0.5*ndcg@10" ...] [--squared-error 0.1 ...]

--metric adds LightGBM trained on a metric, --squared-error LightGBM trained on
GAP with a share of squared error. FOLDER holds S1.txt .. S5.txt or Fold1 ..
Fold5 (also .gz and .xz).
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

import skrank
from skrank.datasets import load_letor

METRICS = ["ndcg@10", "ap", "precision@10", "gap"]
# (booster, objective, metric of early stopping); None is the nDCG objective of
# the booster
Contestant = tuple[str, str | skrank.Objective | None, str]
CONTESTANTS: dict[str, Contestant] = {
    "LightGBM lambdarank (nDCG)": ("lightgbm", None, "ndcg@10"),
    "LightGBM skrank nDCG": ("lightgbm", "ndcg", "ndcg@10"),
    "LightGBM skrank AP": ("lightgbm", "ap", "ap"),
    "LightGBM skrank GAP": ("lightgbm", "gap", "gap"),
    "XGBoost rank:ndcg": ("xgboost", None, "ndcg@10"),
    "XGBoost skrank nDCG": ("xgboost", "ndcg", "ndcg@10"),
    "XGBoost skrank AP": ("xgboost", "ap", "ap"),
    "XGBoost skrank GAP": ("xgboost", "gap", "gap"),
}


def extra(metrics: list[str], shares: list[float]) -> dict[str, Contestant]:
    """Contestants of the options --metric and --squared-error."""
    found: dict[str, Contestant] = {
        f"LightGBM skrank {skrank.metric(name)}": ("lightgbm", name, name)
        for name in metrics
    }
    for share in shares:
        objective = f"{1 - share}*gap+{share}*squared_error"
        found[f"LightGBM skrank GAP, {share:g} error"] = (
            "lightgbm",
            objective,
            "gap",
        )
    return found


def make_ranker(
    booster: str,
    objective: str | skrank.Objective | None,
    stop_on: str,
    rounds: int,
    seed: int,
) -> skrank.GroupedRanker:
    """A ranker with the same settings for every objective."""
    shared = {
        "n_estimators": rounds,
        "learning_rate": 0.05,
        "random_state": seed,
    }
    sampling = {"subsample": 0.8, "colsample_bytree": 0.6}
    if booster == "lightgbm":
        estimator = lgb.LGBMRanker(
            num_leaves=15,
            min_child_samples=20,
            subsample_freq=1,
            verbose=-1,
            **shared,
            **sampling,
        )
    else:
        estimator = xgb.XGBRanker(max_depth=4, **shared, **sampling)
    return skrank.GroupedRanker(
        estimator,
        objective=objective,
        eval_metric=stop_on,
        early_stopping_rounds=50,
        random_state=seed,
    )


def shuffled(part, rng: np.random.Generator) -> tuple[np.ndarray, pd.Series]:
    """Features, and labels indexed by query, in random row order."""
    order = rng.permutation(len(part.relevance))
    return part.X[order], skrank.with_groups(
        part.relevance[order], part.qid[order]
    )


def values(
    folder: str, rounds: int, seeds: int, contestants: dict[str, Contestant]
) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Values of the test queries, by contestant, seed and fold."""
    for number, fold in load_letor(folder).items():
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            (X, y), (X_val, y_val), (X_test, y_test) = (
                shuffled(part, rng) for part in fold
            )
            for name, (booster, objective, stop_on) in contestants.items():
                start = time.perf_counter()
                ranker = make_ranker(booster, objective, stop_on, rounds, seed)
                ranker.fit(X, y, X_val=X_val, y_val=y_val)
                report = skrank.evaluate(
                    y_test,
                    ranker.predict(X_test),
                    metrics=METRICS,
                    max_grade=ranker.max_grade_,
                )
                print(
                    f"fold {number}, seed {seed}: {name}: "
                    f"{ranker.best_iteration_} rounds, "
                    f"{time.perf_counter() - start:.1f} s",
                    flush=True,
                )
                yield name, seed, report.per_query.loc["scores"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--rounds", type=int, default=500, help="largest number of rounds"
    )
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        help="also train LightGBM on it",
    )
    parser.add_argument(
        "--squared-error",
        action="append",
        type=float,
        default=[],
        metavar="SHARE",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="contestants with NAME in name",
    )
    options = parser.parse_args()
    contestants = CONTESTANTS | extra(options.metric, options.squared_error)
    if options.only:
        contestants = {
            name: how
            for name, how in contestants.items()
            if any(part in name for part in options.only)
        }
    found: dict[str, dict[int, list[pd.DataFrame]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for name, seed, per_query in values(
        options.folder, options.rounds, options.seeds, contestants
    ):
        found[name][seed].append(per_query)

    means = {
        name: pd.DataFrame(
            [pd.concat(parts).mean() for parts in seeds.values()]
        )
        for name, seeds in found.items()
    }
    print(
        f"\nMean over the test queries of five folds and {options.seeds} "
        "seeds; in brackets the"
    )
    print(
        "standard deviation over seeds. Queries without a relevant document "
        "are left out.\n"
    )
    width = max(map(len, means))
    print(f"{'':{width}}" + "".join(f"{metric:>18}" for metric in METRICS))
    for name, by_seed in means.items():
        spread = (
            by_seed.std(ddof=1) if len(by_seed) > 1 else by_seed.mean() * np.nan
        )
        cells = [f"{by_seed[m].mean():.4f} ({spread[m]:.4f})" for m in METRICS]
        print(f"{name:{width}}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
