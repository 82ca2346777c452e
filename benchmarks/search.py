"""Effectiveness of rankers found by hyperparameter searches with equal processor time.

Each search maximises nDCG@10 on the training and validation parts of a fold, which it may split in
any way, and its ranker is measured on the test part. skrank.tune searches all installed boosters,
or LightGBM only, starting from a linear ranker. Optuna uses its sampler over `search_space` for
LightGBM's lambdarank, starting from equal scores, without pruning; its first trial has the trees of
skrank.tune. FLAML uses AutoML with task="rank" and defaults.

The budget is processor time, so that other load of the machine does not matter. The last trial and
the final training may exceed the budget; the tables show the time used.

    pip install flaml optuna
    python benchmarks/search.py FOLDER [FOLDER ...] [--seconds 30] [--seeds 1] [--jobs 2]
        [--log search.jsonl] [--only NAME ...] [--report]

FOLDER is as in benchmarks/quality.py. Runs that are in the log are not repeated. The first row of
each table is compared with every other row, by paired tests over queries.
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
from quality import SHOWN, as_markdown, folds_of, read, shuffled  # noqa: E402  # in this folder
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


def lambdarank(X: Any, y: pd.Series, seconds: float, seed: int) -> Found:
    """Optuna's sampler over `search_space`, by cross-validation; the first trial is `TREES`."""
    import lightgbm
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ranker = skrank.GroupedRanker(
        lightgbm.LGBMRanker(
            n_estimators=400, subsample=0.8, subsample_freq=1, random_state=seed, n_jobs=1,
            verbosity=-1,
        ),
        eval_metric="ndcg@10", validation_fraction=0.2, options={"refit": True}, random_state=seed,
    )  # fmt: skip
    space, cv = skrank.search_space(ranker), skrank.QueryKFold(3, shuffle=True, random_state=seed)

    def objective(trial: Any) -> float:
        one = clone(ranker).set_params(options=None, **space.suggest(trial))
        return cross_val_score(one, X, y, cv=cv, scoring=skrank.scorer("ndcg@10")).mean()

    end = time.process_time() + seconds
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=True)
    )
    study.enqueue_trial({f"estimator__{name}": value for name, value in TREES.items()})
    while time.process_time() < end:
        study.optimize(objective, n_trials=1)
    best = clone(ranker).set_params(**study.best_params).fit(X, y)
    return best.predict, len(study.trials), str(study.best_params)


@contextmanager
def processor_clock() -> Iterator[None]:
    """Replace wall clocks by processor time, because FLAML and `skrank.tune` use wall clocks."""
    wall, steady = time.time, time.monotonic
    time.time = time.monotonic = time.process_time
    try:
        yield
    finally:
        time.time, time.monotonic = wall, steady


def flaml(X: Any, y: pd.Series, seconds: float, seed: int) -> Found:
    from flaml import AutoML

    logging.getLogger("flaml").setLevel(logging.ERROR)
    order = np.argsort(y.index.to_numpy(), kind="stable")  # FLAML needs contiguous queries
    automl = AutoML()
    with processor_clock():
        automl.fit(
            X[order], y.to_numpy()[order], task="rank", groups=y.index.to_numpy()[order],
            metric="ndcg@10", time_budget=seconds, n_jobs=1, seed=seed, verbose=0,
        )  # fmt: skip
    trials = len(automl.config_history)  # FLAML records only trials that improve
    return automl.predict, trials, f"{automl.best_estimator} {automl.best_config}"


SEARCHERS: dict[str, Callable[..., Found]] = {
    "skrank.tune": tuned,
    "skrank.tune, LightGBM": partial(tuned, boosters=["lightgbm"]),
    "Optuna, LightGBM lambdarank": lambdarank,
    "FLAML AutoML": flaml,
}


def on_one_processor() -> None:
    """Bind the process to one processor; LightGBM and CatBoost start a thread per processor."""
    if hasattr(os, "sched_setaffinity"):  # not on macOS and Windows
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[os.getpid() % len(allowed)]})


def search(run: tuple[Any, ...], fold: Any, seconds: float) -> dict[str, Any]:
    """The line of a search: values of the queries of the test part."""
    _, _, name, seed = run
    on_one_processor()
    rng = np.random.default_rng(seed)
    train, valid, test = (shuffled(part, rng) for part in fold)
    X, y = np.concatenate([train[0], valid[0]]), pd.concat([train[1], valid[1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = make_ranking(30, random_state=0)  # imports and compilation are not measured
        SEARCHERS[name](small.X, skrank.with_groups(small.relevance, small.qid), 0.1, seed)
        begun = time.process_time()
        scores, trials, best = SEARCHERS[name](X, y, seconds, seed)
        used = time.process_time() - begun
        found = skrank.evaluate(test[1], np.asarray(scores(test[0])), metrics=METRICS)
    return {
        "run": run, "seconds": round(used, 1), "trials": trials, "best": best,
        "test": {
            metric: {str(query): round(value, 5) for query, value in column.dropna().items()}
            for metric, column in found.per_query.loc["scores"].items()
        },
    }  # fmt: skip


def run_missing(options: argparse.Namespace) -> None:
    """Run all searches that are not in the log, and append them."""
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
    """Print a table per collection: means over test queries, and differences from the first row."""
    values = pd.concat(
        [
            pd.DataFrame(line["test"])
            .rename_axis("query")
            .reset_index()
            .assign(collection=line["run"][0], name=line["run"][2])
            for line in lines
        ]
    )
    used = pd.DataFrame([(line["run"][0], line["run"][2], line["seconds"]) for line in lines])
    seconds = used.groupby([0, 1])[2].mean().round(0).astype(int)
    for collection, part in values.groupby("collection"):
        by_query = part.groupby(["name", "query"])[METRICS].mean()  # over seeds
        found = by_query.index.unique("name")
        names = [name for name in SEARCHERS if name in found]
        cells = pd.DataFrame(index=pd.Index(names, name="search"))
        for metric in METRICS:
            table = pd.DataFrame({name: by_query.loc[name][metric] for name in names})
            cells[SHOWN[metric]] = table.mean().map("{:.4f}".format)
            cells[f"behind by, {SHOWN[metric]}"] = behind(table)
        cells["seconds"] = seconds[collection]
        print(f"\n{collection}\n\n{as_markdown(cells)}")


def behind(table: pd.DataFrame) -> list[str]:
    """First column minus each column, in points, with 95 % t interval and Holm's p-value."""
    interval = skrank.stats.t_interval(100 * (table.iloc[:, [0]].to_numpy() - table.iloc[:, 1:]))
    p_values = skrank.stats.holm(skrank.stats.paired_t(table.to_numpy(), pairs=0).p_value)
    return [
        "",
        *(
            f"{mean:.1f} ({low:.1f} to {high:.1f}), p = {p:.3f}"
            for mean, low, high, p in zip(
                interval.mean, interval.low, interval.high, p_values, strict=True
            )
        ),
    ]


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
