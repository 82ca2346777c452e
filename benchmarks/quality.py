"""Effectiveness of rankers of skrank and of other libraries, on the folds of LETOR collections.

Each ranker is trained on the training part of each fold, with the same parameters of trees and at
most the same number of rounds, stops early on the nDCG@10 of the validation part, and is measured
on the test part. Rows are shuffled for each seed, because their order reveals labels in some
collections. Linear rankers have neither trees nor a seed. "Regularised" is a second setting of the
trees. A star marks a difference only between rankers with the same trees. A control repeats a
ranker with other seeds: its difference from the ranker shows the noise.

    python benchmarks/quality.py FOLDER [FOLDER ...] [--seeds 10] [--jobs 2] [--log quality.jsonl]
        [--only NAME ...] [--report] [--against NAME] [--csv gain.csv] [--markdown]

Rows "mean" are means of two rankers, with different seeds if both are the same ranker. A mean is
compared with means of the same trees. The rows "recommended" are the rankers of
`skrank.recommended_ranker` and their means, which here stop early on the validation part, as all
others, and are not trained again.

A FOLDER holds S1.txt .. S5.txt or Fold1 .. Fold5 (also .gz and .xz), or two other files: each is
once the training file, with a quarter of its queries for validation, and once the test file. Runs
that are in the log are not repeated, so an interrupted benchmark continues. --report only prints
the tables. The tables side by side are those of docs/what_to_train.md; the last table has means
and their members. docs/figures.py draws the file of --csv.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import load_svmlight_files
from sklearn.utils import Bunch

import skrank
from skrank.datasets import load_letor
from skrank.model_selection import query_train_test_split

METRICS = ["ndcg@10", "ap", "precision@10", "err@20", "gap"]
ROUNDS, PATIENCE, RATE = 400, 60, 0.05
SHOWN = {"ndcg@10": "nDCG@10", "ap": "AP"}  # in the tables side by side
MORE = ", regularised"  # suffix of the name of a contestant
BASE = "LightGBM lambdarank"  # default of --against


@dataclass(frozen=True)
class Contestant:
    """A ranker to compare.

    Attributes
    ----------
    make : function (seed, regularised) -> estimator for GroupedRanker
        `linear` stands for LinearRanker.
    options : dict
        Parameters of GroupedRanker or LinearRanker.
    binary : bool
        True to train on labels clipped to 1, for objectives that do not accept grades.
    first_seed : int
    fixed : bool
        True if the trees have one setting only.
    """

    make: Callable[[int, bool], Any]
    options: dict[str, Any] = field(default_factory=dict)
    binary: bool = False
    first_seed: int = 0
    fixed: bool = False

    @property
    def linear(self) -> bool:
        """True for linear rankers, which have neither trees nor a seed."""
        return self.make is linear


def linear(seed: int, regularised: bool) -> None:
    """Placeholder for LinearRanker, which is made from `Contestant.options`."""


def light(**params: Any) -> Callable[[int, bool], Any]:
    """LightGBM with the trees of the benchmark."""

    def make(seed: int, regularised: bool) -> Any:
        import lightgbm

        extra = {"extra_trees": True, "reg_lambda": 10.0} if regularised else {}
        return lightgbm.LGBMRanker(
            n_estimators=ROUNDS, learning_rate=RATE, num_leaves=15, min_child_samples=50,
            colsample_bytree=0.7, subsample=0.8, subsample_freq=1, random_state=seed,
            n_jobs=1, verbosity=-1, **params, **extra,
        )  # fmt: skip

    return make


def extreme(**params: Any) -> Callable[[int, bool], Any]:
    """XGBoost with trees as similar to those of `light` as its parameters allow."""

    def make(seed: int, regularised: bool) -> Any:
        import xgboost

        extra = {"colsample_bynode": 0.3, "reg_lambda": 10.0} if regularised else {}
        return xgboost.XGBRanker(
            n_estimators=ROUNDS, learning_rate=RATE, max_leaves=15, max_depth=0,
            grow_policy="lossguide", colsample_bytree=0.7, subsample=0.8, random_state=seed,
            n_jobs=1, **params, **extra,
        )  # fmt: skip

    return make


def cat(loss: str) -> Callable[[int, bool], Any]:
    """CatBoost with trees of 2**4 = 16 leaves."""

    def make(seed: int, regularised: bool) -> Any:
        import catboost

        extra = {"random_strength": 4.0, "l2_leaf_reg": 10.0} if regularised else {}
        return catboost.CatBoostRanker(
            loss_function=loss, iterations=ROUNDS, learning_rate=RATE, depth=4, rsm=0.7,
            bootstrap_type="Bernoulli", subsample=0.8, random_seed=seed, thread_count=1,
            verbose=False, allow_writing_files=False, **extra,
        )  # fmt: skip

    return make


def recommended(booster: str, member: str) -> Callable[[int, bool], Any]:
    """The booster of one of the rankers of `skrank.recommended_ranker`."""

    def make(seed: int, regularised: bool) -> Any:
        ranker = skrank.recommended_ranker(booster, n_jobs=1, random_state=seed)
        return ranker.get_params()[f"{member}__estimator"]

    return make


GAP, START = {"objective": "gap"}, {"init": "linear"}
CONTESTANTS = {
    BASE: Contestant(light()),
    "LightGBM lambdarank, full lists": Contestant(light(lambdarank_truncation_level=10_000)),
    "LightGBM rank_xendcg": Contestant(light(objective="rank_xendcg")),
    "XGBoost rank:ndcg": Contestant(extreme(objective="rank:ndcg")),
    "XGBoost rank:map": Contestant(extreme(objective="rank:map"), binary=True),
    "CatBoost YetiRank": Contestant(cat("YetiRank")),
    "CatBoost QueryRMSE": Contestant(cat("QueryRMSE")),
    "LightGBM, GAP": Contestant(light(), GAP),
    "LightGBM, nDCG": Contestant(light(), {"objective": "ndcg"}),
    "LightGBM, AP": Contestant(light(), {"objective": "ap"}),
    "LightGBM, 0.5 GAP + 0.5 nDCG@10": Contestant(
        light(), {"objective": 0.5 * skrank.LambdaRank("gap") + 0.5 * skrank.LambdaRank("ndcg@10")}
    ),
    "LightGBM, centred squared error": Contestant(
        light(), {"objective": skrank.SquaredError(centered=True)}
    ),
    "LightGBM, softmax": Contestant(light(), {"objective": skrank.Softmax()}),
    "XGBoost, GAP": Contestant(extreme(), GAP),
    "LinearRanker, GAP": Contestant(linear, GAP),
    "LinearRanker, AP": Contestant(linear, {"objective": "ap"}),
    "LinearRanker, nDCG": Contestant(linear, {"objective": "ndcg"}),
    "LightGBM, GAP from linear": Contestant(light(), GAP | START),
    "XGBoost, GAP from linear": Contestant(extreme(), GAP | START),
    "CatBoost YetiRank from linear": Contestant(cat("YetiRank"), START),
    "LightGBM, GAP from linear, control": Contestant(light(), GAP | START, first_seed=1000),
    **{
        f"recommended: {library}, {member} trees": Contestant(
            recommended(library.lower(), member), GAP | START, fixed=True
        )
        for library in ("LightGBM", "XGBoost")
        for member in ("default", "regularised")
    },
    "recommended: CatBoost": Contestant(recommended("catboost", "catboost"), START, fixed=True),
}
LAMBDARANK, FROM_LINEAR, YETIRANK = (
    BASE + MORE,
    "LightGBM, GAP from linear" + MORE,
    "CatBoost YetiRank",
)
MEANS = {
    "mean: 2 LightGBM lambdarank": (LAMBDARANK, LAMBDARANK),
    "mean: 2 CatBoost YetiRank": (YETIRANK, YETIRANK),
    "mean: LightGBM lambdarank, CatBoost YetiRank": (LAMBDARANK, YETIRANK),
    "mean: 2 LightGBM, GAP from linear": (FROM_LINEAR, FROM_LINEAR),
    "mean: LightGBM, GAP from linear; CatBoost YetiRank": (FROM_LINEAR, YETIRANK),
}  # each library with its better setting: LightGBM with regularised trees, CatBoost without
for _library in ("LightGBM", "XGBoost"):
    MEANS[f"recommended, {_library}"] = tuple(
        f"recommended: {_library}, {member} trees" for member in ("default", "regularised")
    )
MEANS["recommended, CatBoost"] = (*MEANS["recommended, LightGBM"], "recommended: CatBoost")


# running ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One training: a line of the log."""

    collection: str
    fold: int
    name: str
    regularised: bool
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.collection, self.fold, self.name, self.regularised, self.seed)

    @property
    def title(self) -> str:
        return self.name + (MORE if self.regularised else "")


def runs_of(collection: str, folds: int, titles: list[str], seeds: int) -> Iterator[Run]:
    """The trainings of a collection, all contestants of a seed before the next seed."""
    for seed in range(seeds):
        for title in titles:
            name, regularised = title.removesuffix(MORE), title.endswith(MORE)
            one = CONTESTANTS.get(name)
            first = one.first_seed if one else 0
            repeated = one is not None and one.linear and (regularised or seed)
            if not (repeated or (one is not None and one.fixed and regularised)):
                for fold in range(folds):
                    yield Run(collection, fold, name, regularised, first + seed)


def folds_of(folder: str) -> list[tuple[Any, Any, Any]]:
    """Training, validation and test part of each fold; two files give two folds."""
    files = sorted(Path(folder).glob("*.txt*"))
    if len(files) != 2:
        return list(load_letor(folder).values())
    loaded = load_svmlight_files(files, query_id=True)
    halves = [loaded[0:3], loaded[3:6]]
    folds = []
    for (X, y, qid), (X_test, y_test, qid_test) in (halves, halves[::-1]):
        arrays = query_train_test_split(X.toarray(), y, qid, groups=qid, random_state=0)
        folds.append(
            tuple(
                Bunch(X=table, relevance=labels, qid=ids)
                for table, labels, ids in (
                    arrays[0::2],
                    arrays[1::2],
                    (X_test.toarray(), y_test, qid_test),
                )
            )
        )
    return folds


def members_of(run: Run) -> list[tuple[str, int]]:
    """Titles and seeds of the rankers of a row; the members of a mean have different seeds."""
    titles = MEANS.get(run.title, (run.title,))
    return [(title, run.seed + 1000 * i) for i, title in enumerate(titles)]


def ranker_of(title: str, seed: int) -> Any:
    """The ranker of a title that is no mean."""
    one = CONTESTANTS[title.removesuffix(MORE)]
    if one.linear:
        return skrank.LinearRanker(**one.options)
    estimator = one.make(seed, title.endswith(MORE))
    return skrank.GroupedRanker(
        estimator, eval_metric="ndcg@10", early_stopping_rounds=PATIENCE, **one.options
    )


def shuffled(part: Any, rng: np.random.Generator) -> tuple[np.ndarray, pd.Series]:
    order = rng.permutation(len(part.relevance))
    return part.X[order], skrank.with_groups(part.relevance[order], part.qid[order])


def spread(scores: np.ndarray, y: pd.Series) -> float:
    """Standard deviation inside queries, by which `skrank.RankerMean` divides scores."""
    inside = pd.Series(scores, index=y.index).groupby(level="qid")
    return float((scores - inside.transform("mean")).std(ddof=0))


def train(run: Run, fold: Any) -> dict[str, Any]:
    """The line of a run: means on the validation part, values of the queries of the test part."""
    begun = time.process_time()
    rng = np.random.default_rng(run.seed)
    (X, y), (X_val, y_val), (X_test, y_test) = (shuffled(part, rng) for part in fold)
    top = int(max(part.relevance.max() for part in fold))
    one = CONTESTANTS.get(run.name)
    labels = y.clip(upper=1) if one and one.binary else y
    rankers = [ranker_of(*member) for member in members_of(run)]
    scores = [0.0, 0.0]
    for ranker in rankers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(ranker, skrank.LinearRanker):
                ranker.fit(X, y)
            else:
                ranker.fit(X, labels, X_val=X_val, y_val=y_val)
        factor = 1.0 / spread(ranker.predict(X), y) if len(rankers) > 1 else 1.0
        for i, table in enumerate((X_val, X_test)):
            scores[i] = scores[i] + factor * ranker.predict(table)
    valid, test = (
        skrank.evaluate(relevance, found, metrics=METRICS, max_grade=top)
        for relevance, found in zip((y_val, y_test), scores, strict=True)
    )
    return {
        "run": run.key,
        "rounds": getattr(rankers[0], "best_iteration_", None),
        "seconds": round(time.process_time() - begun, 2),
        "valid": valid.per_query.mean().round(5).to_dict(),
        "test": {
            name: {str(query): round(value, 5) for query, value in column.dropna().items()}
            for name, column in test.per_query.loc["scores"].items()
        },
    }


def contest(folders: list[str], options: argparse.Namespace) -> None:
    """Run all trainings that are not in the log, and append them."""
    known = {tuple(line["run"]) for line in read(options.log)}
    for folder in folders:
        folds = folds_of(folder)
        collection = Path(folder).name
        todo = [
            run
            for run in runs_of(collection, len(folds), options.names, options.seeds)
            if run.key not in known
        ]
        jobs, begun = (delayed(train)(run, folds[run.fold]) for run in todo), time.monotonic()
        with open(options.log, "a", encoding="utf-8") as log:
            lines = Parallel(options.jobs, return_as="generator_unordered")(jobs)
            for count, line in enumerate(lines, start=1):
                log.write(json.dumps(line) + "\n")
                log.flush()
                if count % 20 == 0 or count == len(todo):
                    left = (time.monotonic() - begun) / count * (len(todo) - count) / 60
                    done = f"{collection}: {count} of {len(todo)} trainings"
                    print(f"{done}, about {left:.0f} minutes left", flush=True)


def read(path: str) -> list[dict[str, Any]]:
    """Lines of a log; empty if the file does not exist. A truncated line is left out."""
    lines = []
    if Path(path).exists():
        for text in Path(path).read_text(encoding="utf-8").splitlines():
            try:
                lines.append(json.loads(text))
            except json.JSONDecodeError:
                print("a line of the log is cut: it is run again")
    return lines


# reporting ----------------------------------------------------------------------------------------


def tables(lines: list[dict[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values by query (a row each), and means of validation parts by training."""
    tests, valids = [], []
    for line in lines:
        collection, fold, _, _, seed = line["run"]
        title = Run(*line["run"]).title
        where = {"collection": collection, "name": title, "seed": seed, "fold": fold}
        valids.append(where | line["valid"])
        frame = pd.DataFrame(line["test"]).rename_axis("query").reset_index()
        tests.append(frame.assign(**where))
    return pd.concat(tests, ignore_index=True), pd.DataFrame(valids)


def same_trees(name: str, other: str) -> bool:
    """True if two rows of the tables differ in objective and start only."""
    return None in (trees(name), trees(other)) or trees(name) == trees(other)


def trees(title: str) -> list[bool] | None:
    """For each model of a row, True if its trees are regularised.

    None for linear and recommended rankers, which are compared with all.
    """
    if title.startswith("recommended"):
        return None
    if title in MEANS:
        return sorted(one.endswith(MORE) for one in MEANS[title])
    if CONTESTANTS[title.removesuffix(MORE)].linear:
        return None
    return [title.endswith(MORE)]


def summary(tests: pd.DataFrame, against: str) -> pd.DataFrame:
    """Mean of each contestant and its difference from `against`, by collection and metric."""
    rows = []
    for collection, part in tests.groupby("collection"):
        by_query = part.groupby(["name", "query"])[METRICS].mean()  # over seeds
        base = by_query.loc[against]
        names = list(by_query.index.unique("name"))
        for metric in METRICS:
            table = pd.DataFrame({name: by_query.loc[name][metric] for name in names})
            others = [name for name in names if name != against]
            pairs = np.array([(names.index(name), names.index(against)) for name in others])
            test = skrank.stats.paired_t(table.to_numpy(), pairs=pairs)
            adjusted = dict(zip(others, skrank.stats.holm(test.p_value), strict=True))
            seeds = part.groupby(["name", "seed"])[metric].mean()
            rows += [
                {
                    "collection": collection, "metric": metric, "name": name,
                    "mean": table[name].mean(), "ahead": (table[name] - base[metric]).mean(),
                    **_interval((table[name] - base[metric]).to_numpy()),
                    "p": adjusted.get(name, np.nan), "sd": seeds.loc[name].std(),
                    "seeds": len(seeds.loc[name]),
                }
                for name in names
            ]  # fmt: skip
    return pd.DataFrame(rows)


def _interval(differences: np.ndarray) -> dict[str, float]:
    """Ends of the 95 % interval of a mean difference over queries."""
    if not differences.any():  # the contestant that others are compared with
        return {"low": 0.0, "high": 0.0}
    interval = skrank.stats.t_interval(differences)
    return {"low": interval.low, "high": interval.high}


def report(lines: list[dict[str, Any]], against: str, markdown: bool) -> pd.DataFrame:
    """Print all metrics by collection, then nDCG@10 and AP with both settings of trees."""
    tests, _ = tables(lines)
    if against not in set(tests.name):
        raise SystemExit(f"the log has no {against!r}: run it, or say what to test --against.")
    found = summary(tests, against)
    star = (found.p < 0.05) & found["name"].map(lambda name: same_trees(name, against))
    found["cell"] = found["mean"].map("{:.4f}".format) + np.where(star, "*", "")
    show = as_markdown if markdown else pd.DataFrame.to_string
    order = [*(name + more for more in ("", MORE) for name in CONTESTANTS), *MEANS]
    for collection, part in found.groupby("collection"):
        cells = part.pivot(index="name", columns="metric", values="cell")[METRICS]
        cells.insert(0, "seeds", part.groupby("name")["seeds"].first())
        cells["sd of nDCG@10"] = part[part.metric == "ndcg@10"].set_index("name")["sd"].round(4)
        print(
            f"\n{collection}; * differs from {against} with the same trees, p < .05, paired t over "
            "queries with Holm\n"
        )
        print(show(cells.reindex([name for name in order if name in cells.index])))
    shown = found[found.metric.isin(SHOWN)]
    means = shown.groupby(["name", "metric"], as_index=False)["mean"].mean()
    means["cell"] = means["mean"].map("{:.4f}".format)
    parts = {"mean of the collections": means, **dict(list(shown.groupby("collection")))}
    for title, part in parts.items():
        print(f"\n{title}\n\n{show(side_by_side(part))}")
    if set(MEANS) & set(shown["name"]):
        print(f"\nmeans of two and their members: nDCG@10 / AP\n\n{show(of_means(shown, lines))}")
    hours = sum(line["seconds"] for line in lines) / 3600
    print(f"\n{len(lines)} trainings took {hours:.2f} hours of one processor")
    return found


def side_by_side(part: pd.DataFrame) -> pd.DataFrame:
    """Cells of nDCG@10 and AP; columns of regularised trees are on the right."""
    cells = part.pivot(index="name", columns="metric", values="cell")
    names = [one for one in (*CONTESTANTS, *MEANS) if {one, one + MORE} & {*cells.index}]
    columns = {
        SHOWN[metric] + more: cells[metric].reindex([name + more for name in names]).to_numpy()
        for more in ("", MORE)
        for metric in SHOWN
    }
    return pd.DataFrame(columns, index=names).fillna("")


def of_means(shown: pd.DataFrame, lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Both metrics by collection, and the median processor seconds of a training."""
    values = shown.pivot(index="name", columns=["collection", "metric"], values="mean")
    names = [*dict.fromkeys(one for members in MEANS.values() for one in members), *MEANS]
    cells = values.reindex([name for name in names if name in values.index]).map("{:.4f}".format)
    table = pd.DataFrame(
        {
            collection: cells[collection, "ndcg@10"] + " / " + cells[collection, "ap"]
            for collection in cells.columns.unique("collection")
        }
    )
    used = pd.Series([line["seconds"] for line in lines])
    medians = used.groupby([Run(*line["run"]).title for line in lines]).median()
    return table.assign(seconds=medians.reindex(table.index).round(1))


def as_markdown(frame: pd.DataFrame) -> str:
    head = "| ranker | " + " | ".join(map(str, frame.columns)) + " |\n"
    rows = [
        f"| {name} | " + " | ".join(map(str, row)) + " |"
        for name, row in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    return head + "|---" * (1 + len(frame.columns)) + "|\n" + "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", default="quality.jsonl", help="file of results, read and added to")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these rows")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--against", default=BASE, metavar="NAME", help="what tests compare with")
    parser.add_argument("--csv", metavar="FILE", help="write differences and their intervals")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    both = [name + more for name in CONTESTANTS for more in ("", MORE)]
    options.names = options.only or [*both, *MEANS]
    if not options.report:
        contest(options.folders, options)
    found = report(read(options.log), options.against, options.markdown)
    if options.csv:
        columns = ["collection", "metric", "name", "mean", "ahead", "low", "high", "p"]
        found[columns].round(5).to_csv(options.csv, index=False)


if __name__ == "__main__":
    main()
