"""Overhead of a grid search of GroupedRanker over the same fits in a hand-written loop.

    python benchmarks/grid_search.py [--rows 1000000] [--features 30] [--rounds 60] [--folds 3]
                                     [--repeat 2] [--jobs 2] [--shuffle] [--strings]

Both arms fit LGBMRanker on the same folds with the same parameters and number of processes,
predict, measure GAP, and refit the better candidate on all rows. The scores must be equal bit for
bit. Each arm runs in a separate process and counts the processor time of all its workers, which
depends little on other load of the machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

LEAVES = (15, 31)


def make_data(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries of 50 to 150 documents; the first five features determine the grade, with noise."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(50, 151, size=options.rows // 100)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(qid), options.features), dtype=np.float32).astype(np.float64)
    worth = X[:, :5].sum(axis=1) + 2 * rng.standard_normal(len(qid))
    relevance = np.searchsorted([1.5, 3, 4.5, 6], worth)
    if options.shuffle:
        rows = rng.permutation(len(qid))
        X, relevance, qid = X[rows], relevance[rows], qid[rows]
    if options.strings:
        qid = np.array([f"q{one:07d}" for one in range(len(sizes))], dtype=object)[qid]
    return X, relevance, qid


def booster(options: argparse.Namespace, leaves: int = 31) -> Any:
    import lightgbm

    return lightgbm.LGBMRanker(
        n_estimators=options.rounds, num_leaves=leaves, n_jobs=1, verbosity=-1
    )


def by_hand(options: argparse.Namespace) -> list[float]:
    """The loop written by hand; rows are sorted by query only if they are shuffled."""
    from joblib import Parallel, delayed

    import skrank

    X, relevance, qid = make_data(options)
    jobs = [
        delayed(fit_and_score)(options, leaves, X, relevance, qid, train, test)
        for leaves in LEAVES
        for train, test in skrank.QueryKFold(options.folds).split(X, groups=qid)
    ]
    scores = np.reshape(Parallel(options.jobs)(jobs), (len(LEAVES), -1))
    best = LEAVES[int(np.argmax(scores.mean(axis=1)))]
    fit_sorted(booster(options, best), X, relevance, qid)
    return scores.ravel().tolist()


def fit_and_score(
    options: argparse.Namespace, leaves: int, X: Any, y: Any, qid: Any, train: Any, test: Any
) -> float:
    import skrank

    model = fit_sorted(booster(options, leaves), X[train], y[train], qid[train])
    gap = skrank.metric("gap", max_grade=4)
    return gap(y[test], model.predict(X[test]), groups=qid[test])


def fit_sorted(model: Any, X: Any, relevance: Any, qid: Any) -> Any:
    """Fit LGBMRanker, which needs contiguous rows of each query; sorts the rows if necessary."""
    starts = np.flatnonzero(np.append(True, qid[1:] != qid[:-1]))
    if len(starts) > len(np.unique(qid)):
        order = np.argsort(qid, kind="stable")
        return fit_sorted(model, X[order], relevance[order], qid[order])
    return model.fit(X, relevance, group=np.diff(np.append(starts, len(qid))))


def by_search(options: argparse.Namespace) -> list[float]:
    from sklearn.model_selection import GridSearchCV

    import skrank

    X, relevance, qid = make_data(options)
    search = GridSearchCV(
        skrank.GroupedRanker(booster(options)),
        {"estimator__num_leaves": list(LEAVES)},
        scoring=skrank.scorer("gap", max_grade=4),
        cv=skrank.QueryKFold(options.folds),
        n_jobs=options.jobs,
    ).fit(X, skrank.with_groups(relevance, qid))
    folds = [search.cv_results_[f"split{fold}_test_score"] for fold in range(options.folds)]
    return np.ravel(folds, order="F").tolist()


ARMS = {"by hand": by_hand, "GridSearchCV": by_search}


def processor_time() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_arm(arm: str, options: argparse.Namespace) -> None:
    """Run an arm in this process, and print times and scores as JSON."""
    from joblib.externals.loky import get_reusable_executor

    make_data(argparse.Namespace(**vars(options) | {"rows": 1000}))  # imports
    start, used = time.perf_counter(), processor_time()
    scores = ARMS[arm](options)
    wall = time.perf_counter() - start
    get_reusable_executor().shutdown(wait=True)  # RUSAGE_CHILDREN counts ended workers only
    print(json.dumps({"wall": wall, "cpu": processor_time() - used, "scores": scores}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shuffle", action="store_true", help="scatter the rows of queries")
    parser.add_argument("--strings", action="store_true", help="query ids that are strings")
    parser.add_argument("--arm", choices=ARMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.arm:
        run_arm(options.arm, options)
        return
    best: dict[str, dict[str, Any]] = {}
    for turn in range(options.repeat):
        for arm in ARMS if turn % 2 == 0 else reversed(ARMS):
            command = [sys.executable, *sys.argv, "--arm", arm]
            found = json.loads(subprocess.check_output(command).splitlines()[-1])
            print(f"{arm:14} {found['cpu']:9.2f} s CPU {found['wall']:9.2f} s wall", flush=True)
            old = best.setdefault(arm, found)
            best[arm] = {name: min(old[name], found[name]) for name in ("cpu", "wall")} | {
                "scores": found["scores"]
            }
    hand, search = best["by hand"], best["GridSearchCV"]
    assert hand["scores"] == search["scores"], (hand["scores"], search["scores"])
    for name in ("cpu", "wall"):
        print(f"GridSearchCV / by hand, {name}: {search[name] / hand[name]:.4f}")


if __name__ == "__main__":
    main()
