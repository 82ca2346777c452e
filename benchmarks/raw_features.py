"""Effect of raw features, missing values and categories on linear rankers and trees.

Takes a folder with the folders mslr-sample (raw features), ohsumed-letor3 and mq2008 (normalised
features). The two files of mslr-sample are training and test part in turn; the others have LETOR's
five folds, whose validation parts are not used. Values are nDCG@10 / AP on test parts: means over
folds, and over seeds of trees. All parameters of the rankers of skrank have their defaults.

    python benchmarks/raw_features.py DATA [--seeds 3] [--tables maps gaps monotone times]
        [--collections mslr-sample ohsumed-letor3 mq2008]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from sklearn.datasets import load_svmlight_files
from sklearn.preprocessing import QuantileTransformer

import skrank

METRICS = [skrank.metric("ndcg@10"), skrank.metric("ap")]
MAPS = {
    "as they are": "standard",
    "logs": "log",
    "auto": "auto",
    "quantiles": QuantileTransformer(n_quantiles=200, output_distribution="normal"),
}
MONOTONE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda x: x,
    "1000 x": lambda x: 1000 * x,
    "x + 1000": lambda x: x + 1000,
    "x ** 3": lambda x: x**3,
    "square root": lambda x: np.copysign(np.sqrt(np.abs(x)), x),
    "log(1 + x)": lambda x: np.copysign(np.log1p(np.abs(x)), x),
    "arctan x": np.arctan,
    "exp z": lambda x: np.exp(_standard(x)),
    "sinh z": lambda x: np.sinh(_standard(x)),
    "tanh z": lambda x: np.tanh(_standard(x)),
    "ranks": lambda x: pd.DataFrame(x).rank(method="dense").to_numpy(),
}
DAMAGES = 12  # sets of missing values and categories per fold
Part = tuple[pd.DataFrame, np.ndarray, np.ndarray]


def _standard(x: np.ndarray) -> np.ndarray:
    deviation = x.std(0)
    return (x - x.mean(0)) / np.where(deviation > 0, deviation, 1)


def folds(folder: Path) -> list[tuple[Part, Part]]:
    """Training and test part of each fold."""
    files = sorted(folder.glob("*.txt.gz"))
    loaded = load_svmlight_files([str(file) for file in files], query_id=True)
    parts = [
        (pd.DataFrame(loaded[at].toarray()).add_prefix("f"), *loaded[at + 1 : at + 3])
        for at in range(0, len(loaded), 3)
    ]
    size = len(parts)
    chosen = [([0], 1), ([1], 0)] if size == 2 else [([f, f + 1, f + 2], f + 4) for f in range(5)]
    return [
        (joined([parts[one % size] for one in train]), parts[test % size]) for train, test in chosen
    ]


def joined(parts: list[Part]) -> Part:
    X, y, qid = zip(*parts, strict=True)
    return pd.concat(X, ignore_index=True), np.concatenate(y), np.concatenate(qid)


def trees(seed: int) -> LGBMRanker:
    return LGBMRanker(
        n_estimators=60, learning_rate=0.05, num_leaves=15, min_child_samples=50, extra_trees=True,
        reg_lambda=10, colsample_bytree=0.7, n_jobs=1, verbosity=-1, random_state=seed,
    )  # fmt: skip


def rankers(kind: str, features: object, seeds: int) -> Iterator[object]:
    linear = skrank.LinearRanker("gap", features=features)
    if kind == "linear":
        yield linear
        return
    for seed in range(seeds):
        init = linear if kind == "from linear" else None
        yield skrank.GroupedRanker(trees(seed), objective="gap", init=init)


def measure(data: list[tuple[Part, Part]], kind: str, features: object, seeds: int) -> np.ndarray:
    """Mean nDCG@10 and AP over folds and seeds."""
    found = []
    for (X, y, qid), (X_test, y_test, qid_test) in data:
        for ranker in rankers(kind, features, seeds):
            scores = ranker.fit(X, y, qid).predict(X_test)
            found.append([one(y_test, scores, groups=qid_test) for one in METRICS])
    return np.mean(found, axis=0)


def shown(values: np.ndarray) -> str:
    return " / ".join(f"{value:.4f}" for value in values)


def maps(collections: dict[str, list[tuple[Part, Part]]], seeds: int) -> None:
    """Print a table of the maps of `features`, for linear rankers and trees."""
    for name, data in collections.items():
        print(f"\n{name:22}{'linear':>18}{'trees':>18}{'from linear':>18}")
        alone = shown(measure(data, "trees", "standard", seeds))
        for title, features in MAPS.items():
            cells = [
                shown(measure(data, kind, features, seeds)) for kind in ("linear", "from linear")
            ]
            print(f"{title:22}{cells[0]:>18}{alone:>18}{cells[1]:>18}", flush=True)


def damaged(fold: tuple[Part, Part], seed: int) -> tuple[Part, Part]:
    """A copy with 10 % of values missing at random, and two columns as 20 unordered categories."""
    rng = np.random.default_rng(seed)
    tables = [part[0].copy() for part in fold]
    varied = [name for name in tables[0] if tables[0][name].nunique() >= 40]
    for name in rng.choice(varied, 2, replace=False):
        edges = np.unique(np.quantile(tables[0][name], np.arange(1, 20) / 20))
        codes = rng.permutation(20)
        for table in tables:
            given = codes[np.searchsorted(edges, table[name])].astype(str)
            table[name] = pd.Categorical(given, categories=codes.astype(str))
    tables = [table.mask(rng.random(table.shape) < 0.1) for table in tables]
    (_, y, qid), (_, y_test, qid_test) = fold
    return (tables[0], y, qid), (tables[1], y_test, qid_test)


def gaps(collections: dict[str, list[tuple[Part, Part]]], seeds: int) -> None:
    """Print the loss due to missing values and categories, with standard errors over damages."""
    kinds = ("linear", "trees", "from linear")
    for name, data in collections.items():
        whole, change = {}, {}
        for kind in kinds:
            whole[kind] = [measure([fold], kind, "auto", seeds) for fold in data]
            change[kind] = [
                measure([damaged(fold, seed)], kind, "auto", seeds) - value
                for fold, value in zip(data, whole[kind], strict=True)
                for seed in range(DAMAGES)
            ]
        print(f"\n{name:22}{'whole':>18}{'change by gaps, categories':>36}", flush=True)
        for kind in kinds:
            value = shown(np.mean(whole[kind], axis=0))
            print(f"{kind:22}{value:>18}{with_errors(change[kind]):>36}")
        apart = np.subtract(change["from linear"], change["trees"])
        print(f"{'from linear - trees':40}{with_errors(apart):>36}", flush=True)


def with_errors(values: Sequence[np.ndarray]) -> str:
    """Means of nDCG@10 and AP with their standard errors."""
    errors = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    pairs = zip(np.mean(values, axis=0), errors, strict=True)
    return " / ".join(f"{mean:+.4f} ± {error:.4f}" for mean, error in pairs)


def monotone(collections: dict[str, list[tuple[Part, Part]]], _: int) -> None:
    """Print values of the linear ranker on monotone functions of all columns; z is standardised."""
    name, data = next(iter(collections.items()))
    print(f"\n{name + ', linear':22}{'as they are':>18}{'auto':>18}")
    for title, function in MONOTONE.items():
        changed = []
        for (X, y, qid), (X_test, y_test, qid_test) in data:
            values = function(np.concatenate([X, X_test]))
            first = (pd.DataFrame(values[: len(X)]), y, qid)
            changed.append((first, (pd.DataFrame(values[len(X) :]), y_test, qid_test)))
        cells = [
            shown(measure(changed, "linear", features, 1)) for features in ("standard", "auto")
        ]
        print(f"{title:22}{cells[0]:>18}{cells[1]:>18}", flush=True)


def times(collections: dict[str, list[tuple[Part, Part]]], _: int) -> None:
    """Print seconds to fit, and milliseconds to score 100 rows."""
    print(f"\n{'fit, s; 100 rows, ms':22}{'as they are':>18}{'auto':>18}")
    for name, data in collections.items():
        (X, y, qid), _ = data[0]
        cells = []
        for features in ("standard", "auto"):
            ranker = skrank.LinearRanker("gap", features=features)
            fit = min(seconds(ranker.fit, X, y, qid) for _ in range(3))
            score = min(seconds(ranker.predict, X.iloc[:100]) for _ in range(20))
            cells.append(f"{fit:.2f}; {1000 * score:.2f}")
        print(f"{name:22}{cells[0]:>18}{cells[1]:>18}", flush=True)


def seconds(call: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


COLLECTIONS = ("mslr-sample", "ohsumed-letor3", "mq2008")
TABLES = {one.__name__: one for one in (maps, gaps, monotone, times)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--collections", nargs="+", choices=COLLECTIONS, default=COLLECTIONS)
    options = parser.parse_args()
    given = {name: folds(options.data / name) for name in options.collections}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in options.tables:
            TABLES[table](given, options.seeds)
