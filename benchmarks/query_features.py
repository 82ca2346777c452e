"""Effect of QueryFeatures on the effectiveness of rankers, and time of its transform.

Each file (LETOR format) is the test part once, with all other files as the training part. LightGBM
is regularised and trained on GAP, from scores of 0 and from the scores of the linear ranker. Values
are means over files, and over seeds of trees.

    python benchmarks/query_features.py FILE FILE [FILE ...] [--seeds 3] [--alpha 0.01]
    python benchmarks/query_features.py --times
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from raw_features import METRICS, seconds, trees  # in this folder
from sklearn.datasets import load_svmlight_file

import skrank

KINDS = ["rank", "zscore", "share", "difference"]
MAPS: dict[str, skrank.QueryFeatures | None] = {"features as they are": None}
MAPS |= {f"{kind} only": skrank.QueryFeatures(kind, keep_original=False) for kind in KINDS}
MAPS |= {f"with {kind}": skrank.QueryFeatures(kind) for kind in ("rank", "zscore")}


def contest(files: list[str], seeds: int, alpha: float) -> None:
    loaded = [load_svmlight_file(file, query_id=True) for file in files]
    width = max(X.shape[1] for X, _, _ in loaded)
    parts = []
    for X, y, qid in loaded:
        X.resize(X.shape[0], width)
        parts.append((X.toarray(), y, qid))
    print(f"{'nDCG@10 / AP':24}{'linear':>16}{'trees':>16}{'from linear':>16}")
    for name, features in MAPS.items():
        found: dict[str, list[list[float]]] = {"linear": [], "trees": [], "from linear": []}
        for test in range(len(parts)):
            train = zip(*parts[:test], *parts[test + 1 :], strict=True)
            X, y, qid = map(np.concatenate, train)
            X_test, y_test, qid_test = parts[test]
            if features is not None:
                X = features.fit_transform(X, groups=qid)
                X_test = features.transform(X_test, groups=qid_test)
            for ranker, fit in models(seeds, alpha):
                scores = fit(X, y, qid).predict(X_test)
                found[ranker].append([one(y_test, scores, groups=qid_test) for one in METRICS])
        means = (np.mean(values, axis=0) for values in found.values())
        print(f"{name:24}" + "".join(f"{ndcg:>9.3f} / {ap:.3f}"[-16:] for ndcg, ap in means))


def models(seeds: int, alpha: float) -> list[tuple[str, Callable[..., skrank.LinearRanker]]]:
    """Pairs (kind of ranker, `fit` of a ranker); one ranker of trees per seed."""
    linear = skrank.LinearRanker("gap", alpha=alpha, features="standard")
    made = [("linear", linear.fit)]
    for seed in range(seeds):
        for name, init in (("trees", None), ("from linear", linear)):
            ranker = skrank.GroupedRanker(trees(seed), objective="gap", init=init)
            made.append((name, ranker.fit))
    return made


def times() -> None:
    rng = np.random.default_rng(0)
    print("ms for the 100 rows of one query, best of 200   array   frame")
    for width in (10, 46, 136):
        X = rng.normal(size=(100, width))
        groups = np.zeros(100, int)
        frame = pd.DataFrame(X, index=pd.Index(groups, name="qid")).add_prefix("f")
        for kinds in (["rank"], KINDS):
            plain = skrank.QueryFeatures(kinds).fit(X)
            named = skrank.QueryFeatures(kinds).set_output(transform="pandas").fit(frame)
            best = [
                1e3 * min(seconds(plain.transform, X, groups) for _ in range(200)),
                1e3 * min(seconds(named.transform, frame) for _ in range(200)),
            ]
            print(f"{width:5} features, {len(kinds)} kinds {best[0]:29.2f} {best[1]:7.2f}")
    groups = np.repeat(np.arange(6000), rng.integers(5, 200, 6000))
    X = rng.normal(size=(len(groups), 30))
    for kind in KINDS:
        features = skrank.QueryFeatures(kind).fit(X)
        took = seconds(features.transform, X, groups)
        print(f"{kind}: {took / len(X) * 1e6:.1f} s per million rows of 30 features")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alpha", type=float, default=0.01, help="of the linear ranker")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    if options.times:
        times()
    elif len(options.files) < 2:
        parser.error("give two files at least, or --times")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            contest(options.files, options.seeds, options.alpha)
