"""Which search finds the best ranker in equal time? On the folds of LETOR collections.

Each searcher gets the training and the validation part of a fold, may divide them as it likes, and
is measured on the test part; all search for nDCG@10. skrank.tune: over the boosters that are
installed, from a linear ranker; the same over LightGBM alone. skrank, GAP from linear: Optuna's
sampler over `search_space` without pruning. Optuna: the same sampler, space of trees and first
trial, on LightGBM's own lambdarank from equal scores. FLAML: its AutoML with task="rank", as it
comes.

Equal is the time of one thread of the processor, so that the load of a machine favours nobody; the
last trial and the final training may overrun it, and what was used is shown.

    pip install flaml optuna
    python benchmarks/search.py FOLDER [FOLDER ...] [--seconds 30] [--seeds 1] [--jobs 2]
        [--log search.jsonl] [--only NAME ...] [--report]

A FOLDER is one of benchmarks/quality.py. What is in the log is not run again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402
from quality import as_markdown, folds_of, read, shuffled  # noqa: E402  # the contest, in this folder
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402

import skrank  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402

METRICS = ["ndcg@10", "ap"]
TREES = {
    "num_leaves": 15, "min_child_samples": 50, "extra_trees": True, "learning_rate": 0.05,
    "colsample_bytree": 0.7, "reg_lambda": 10.0,
}  # fmt: skip
Scores = Callable[[np.ndarray], np.ndarray]
Found = tuple[Scores, int, str]  # the ranker, the number of trials, the best parameters


def tuned(X: Any, y: pd.Series, seconds: float, seed: int, **options: Any) -> Found:
    with processor_clock():
        found = skrank.tune(X, y, time_budget=seconds, random_state=seed, **options)
    return found.ranker.predict, len(found.trials), str(found.params)


def optuna_over(options: dict[str, Any], X: Any, y: pd.Series, seconds: float, seed: int) -> Found:
    """Optuna's sampler over `search_space`, by cross-validation; the contest's trees go first."""
    import lightgbm
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ranker = skrank.GroupedRanker(
        lightgbm.LGBMRanker(
            n_estimators=400, subsample=0.8, subsample_freq=1, random_state=seed, n_jobs=1,
            verbosity=-1,
        ),
        eval_metric="ndcg@10", validation_fraction=0.2, refit=True, random_state=seed, **options,
    )  # fmt: skip
    space, cv = skrank.search_space(ranker), skrank.QueryKFold(3, shuffle=True, random_state=seed)

    def objective(trial: Any) -> float:
        one = clone(ranker).set_params(refit=False, **space.suggest(trial))
        return cross_val_score(one, X, y, cv=cv, scoring=skrank.scorer("ndcg@10")).mean()

    end = time.process_time() + seconds
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True)
    )
    first = {f"estimator__{name}": value for name, value in TREES.items()}
    study.enqueue_trial(first | ({"init_scale": 1.0} if "init" in options else {}))
    while time.process_time() < end:
        study.optimize(objective, n_trials=1)
    best = clone(ranker).set_params(**study.best_params).fit(X, y)
    return best.predict, len(study.trials), str(study.best_params)


@contextmanager
def processor_clock() -> Iterator[None]:
    """Clocks tell the time of the processor: FLAML and `skrank.tune` have no other clock."""
    wall, steady = time.time, time.monotonic
    time.time = time.monotonic = time.process_time
    try:
        yield
    finally:
        time.time, time.monotonic = wall, steady


def flaml(X: Any, y: pd.Series, seconds: float, seed: int) -> Found:
    from flaml import AutoML

    logging.getLogger("flaml").setLevel(logging.ERROR)
    order = np.argsort(y.index.to_numpy(), kind="stable")  # it wants queries whole
    automl = AutoML()
    with processor_clock():
        automl.fit(
            X[order], y.to_numpy()[order], task="rank", groups=y.index.to_numpy()[order],
            metric="ndcg@10", time_budget=seconds, n_jobs=1, seed=seed, verbose=0,
        )  # fmt: skip
    trials = len(automl.config_history)  # those that were better than all before
    return automl.predict, trials, f"{automl.best_estimator} {automl.best_config}"


SEARCHERS: dict[str, Callable[..., Found]] = {
    "skrank.tune": tuned,
    "skrank.tune, LightGBM": partial(tuned, boosters=["lightgbm"]),
    "skrank, GAP from linear": partial(optuna_over, {"objective": "gap", "init": "linear"}),
    "Optuna, LightGBM lambdarank": partial(optuna_over, {}),
    "FLAML AutoML": flaml,
}


def search(run: tuple[Any, ...], fold: Any, seconds: float) -> dict[str, Any]:
    """The line of a search: values of the queries of the test part."""
    _, _, name, seed = run
    rng = np.random.default_rng(seed)
    train, valid, test = (shuffled(part, rng) for part in fold)
    X, y = np.concatenate([train[0], valid[0]]), pd.concat([train[1], valid[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = make_ranking(30, random_state=0)  # imports and compiled loops are no search
        SEARCHERS[name](small.X, skrank.with_groups(small.relevance, small.qid), 0.1, seed)
        begun = time.process_time()
        scores, trials, best = SEARCHERS[name](X, y, seconds, seed)
        used = time.process_time() - begun
        found = skrank.evaluate(test[1], np.asarray(scores(test[0])), metrics=METRICS)
    return {
        "run": run, "seconds": round(used, 1), "trials": trials, "best": best,
        "test": {
            metric: {str(query): round(value, 5) for query, value in column.dropna().items()}
            for metric, column in found.per_query.items()
        },
    }  # fmt: skip


def run_missing(options: argparse.Namespace) -> None:
    """Run what the log does not have yet, and add it."""
    known = {tuple(line["run"]) for line in read(options.log)}
    for folder in options.folders:
        folds, name = folds_of(folder), Path(folder).name
        todo = [
            run
            for seed in range(options.seeds)
            for fold in range(len(folds))
            for searcher in options.only or SEARCHERS
            if (run := (name, fold, searcher, seed)) not in known
        ]
        jobs = (delayed(search)(run, folds[run[1]], options.seconds) for run in todo)
        with open(options.log, "a", encoding="utf-8") as log:
            for line in Parallel(options.jobs, return_as="generator_unordered")(jobs):
                log.write(json.dumps(line) + "\n")
                log.flush()
                print(*line["run"], f"{line['seconds']} s", flush=True)


def report(lines: list[dict[str, Any]]) -> None:
    """Means over the test queries, and paired tests of the first row against each of the others."""
    values = pd.concat(
        [
            pd.DataFrame(line["test"])
            .rename_axis("query")
            .reset_index()
            .assign(collection=line["run"][0], name=line["run"][2])
            for line in lines
        ]
    )
    used = pd.DataFrame([(line["run"][2], line["seconds"]) for line in lines])
    seconds = used.groupby(0)[1].mean()
    by_query = values.groupby(["collection", "name", "query"])[METRICS].mean()  # over seeds
    names = [name for name in SEARCHERS if name in seconds.index]
    others = names[1:]
    cells = pd.DataFrame(index=names)
    for collection in by_query.index.unique("collection"):
        part = by_query.loc[collection]
        for metric in METRICS:
            table = pd.DataFrame({name: part.loc[name][metric] for name in names})
            pairs = np.array([(0, 1 + i) for i in range(len(others))])
            p = skrank.stats.holm(skrank.stats.paired_t(table.to_numpy(), pairs=pairs).p_value)
            shown = table.mean().map("{:.4f}".format)
            for other, value in zip(others, p, strict=True):
                shown[other] += " (p < .001)" if value < 0.001 else f" (p = {value:.3f})"
            cells[f"{collection}, {metric}"] = shown
    both = by_query.groupby(["collection", "name"]).mean().groupby("name").mean()
    for metric in METRICS:
        cells[f"mean, {metric}"] = both[metric].map("{:.4f}".format)
    cells["seconds"] = seconds.round(0).astype(int)
    print("\np: of the difference from the first row, paired t over queries with Holm\n")
    print(as_markdown(cells.rename_axis("search")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=30, help="for each search")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", default="search.jsonl", help="file of results, read and added to")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these rows")
    parser.add_argument("--report", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.report:
        run_missing(options)
    report(read(options.log))


if __name__ == "__main__":
    main()
