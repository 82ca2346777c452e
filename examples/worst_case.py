"""Which conclusions depend on ties, empty queries and the depth of runs?

    python examples/worst_case.py --letor FOLDER
    python examples/worst_case.py --runs QRELS FOLDER

Every pair of systems is tested by the paired bootstrap under each convention. A
conclusion is a significant difference and its sign. The tables count the
conclusions that a convention loses, gains and reverses, relative to the first
convention of the table. "another seed" repeats the first convention with other
resamples, and shows the noise.

With --letor, each feature of a LETOR collection is a system. Many features have
many ties, and some queries have no relevant document. The rows are shuffled,
except for "file order", which breaks ties by the order of rows in the file.
With --runs, runs in the TREC format are truncated at several depths, and their
ties are broken in several ways.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import skrank
from skrank import stats, trec
from skrank.datasets import load_letor

METRICS = ["gap", "ndcg@10", "ap", "bpref", "err@20"]
TIES = ("average", "stable", "worst", "best")
EMPTY = ("skip", 0, 1)
DEPTHS = (1000, 100, 50, 20, 10)


class Conclusions:
    """Significant differences of all pairs of systems under one convention, and
    their signs."""

    def __init__(self, values: pd.DataFrame, seed: int = 0) -> None:
        self.mean = values.mean()
        self.found = stats.discriminative_power(
            values, n_resamples=1000, random_state=seed
        )
        significant = self.found.p_value < 0.05
        self.verdicts = np.where(significant, np.sign(self.found.difference), 0)

    def row(self, first: Conclusions) -> dict[str, object]:
        ours, theirs = self.verdicts, first.verdicts
        return {
            "mean": self.mean.mean(),
            "best system": self.mean.idxmax(),
            "tau_b": stats.tau_b(first.mean, self.mean),
            "power": self.found.power,
            "difference": self.found.required_difference,
            "lost": int(np.sum((theirs != 0) & (ours == 0))),
            "gained": int(np.sum((theirs == 0) & (ours != 0))),
            "reversed": int(np.sum(ours * theirs < 0)),
        }


def show(title: str, tables: dict[str, dict[object, pd.DataFrame]]) -> None:
    """Print a row per metric and convention, compared with the first
    convention."""
    rows = {}
    for name, by_convention in tables.items():
        found = {
            which: Conclusions(values)
            for which, values in by_convention.items()
        }
        first = next(iter(found.values()))
        found["another seed"] = Conclusions(
            next(iter(by_convention.values())), seed=1
        )
        rows |= {
            (name, str(which)): one.row(first) for which, one in found.items()
        }
    table = pd.DataFrame(rows).T
    pairs = len(first.verdicts)
    print(f"\n{title}: {len(first.mean)} systems, {pairs} pairs\n")
    print(table.to_string(float_format="{:.3f}".format), flush=True)


def read_letor(folder: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, labels and queries of the whole collection."""
    parts = [fold.test for fold in load_letor(folder).values()]
    columns = [
        [getattr(part, name) for part in parts]
        for name in ("X", "relevance", "qid")
    ]
    X, relevance, qid = (np.concatenate(column) for column in columns)
    return X[:, np.ptp(X, axis=0) > 0], relevance, qid


def tied_share(scores: np.ndarray, qid: np.ndarray) -> float:
    """Share of the documents that are tied with another document of the
    query."""
    return float(
        pd.DataFrame({"q": qid, "s": scores}).duplicated(keep=False).mean()
    )


def measure(
    systems: Iterable[tuple[str, np.ndarray, np.ndarray, np.ndarray]],
    conventions: dict[str, dict],
) -> dict[str, dict[object, pd.DataFrame]]:
    """Tables of queries x systems, by metric and convention.

    `systems` yields (name, labels, scores, query of each row).
    """
    metrics = {
        (name, which): skrank.metric(name, **how)
        for name in METRICS
        for which, how in conventions.items()
    }
    found = {
        name: skrank.evaluate(
            labels, {name: scores}, groups=qid, metrics=list(metrics.values())
        ).per_query.loc[name]
        for name, labels, scores, qid in systems
    }
    return {
        name: {
            which: pd.DataFrame(
                {system: by[str(one)] for system, by in found.items()}
            )
            for (other, which), one in metrics.items()
            if other == name
        }
        for name in METRICS
    }


def study_letor(folder: str) -> None:
    X, relevance, qid = read_letor(folder)
    judged = ~np.isnan(relevance)
    X, relevance, qid = X[judged], relevance[judged], qid[judged]
    order = np.random.default_rng(0).permutation(len(qid))

    def features(rows: np.ndarray | slice) -> Iterator[tuple]:
        for number, scores in enumerate(X.T, start=1):
            yield f"feature {number}", relevance[rows], scores[rows], qid[rows]

    n_queries = len(np.unique(qid))
    n_empty = n_queries - len(np.unique(qid[relevance > 0]))
    shares = [tied_share(scores, qid) for scores in X.T]
    print(
        f"{folder}: {n_queries} queries, {n_empty} without a relevant "
        "document; of the documents "
        f"{np.median(shares):.0%} are tied under the median feature, "
        f"{max(shares):.0%} at most"
    )
    ties = measure(features(order), {which: {"ties": which} for which in TIES})
    for name, found in measure(
        features(slice(None)), {"file order": {"ties": "stable"}}
    ).items():
        ties[name] |= found
    show("ties", ties)
    empty = measure(
        features(order), {f"empty={which}": {"empty": which} for which in EMPTY}
    )
    show("queries without a relevant document", empty)


def cut(run: trec.Run, depth: int) -> trec.Run:
    """The first ranks of each query."""
    rows = run.to_frame().groupby("qid").head(depth)
    return trec.Run.from_arrays(
        rows["qid"], rows["docid"], rows["score"], name=run.name
    )


def join(
    qrels: pd.DataFrame, run: trec.Run
) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    """Name, labels, scores and queries of all documents that are judged or
    retrieved."""
    rows = run.to_frame().merge(qrels, how="outer", on=["qid", "docid"])
    rows = rows[rows["qid"].isin(qrels["qid"].unique())].sample(
        frac=1, random_state=0
    )
    scores = rows["score"].fillna(-np.inf)
    return (
        run.name,
        rows["label"].to_numpy(),
        scores.to_numpy(),
        rows["qid"].to_numpy(),
    )


def study_ties(
    qrels: trec.Qrels, runs: list[trec.Run], report: skrank.Report
) -> None:
    shares = [tied_share(run.scores, run.to_frame()["qid"]) for run in runs]
    print(
        f"of the documents {np.median(shares):.0%} are tied in the median run",
        end=", ",
    )
    print(f"{max(shares):.0%} at most")
    if max(shares) == 0:
        return
    frame = qrels.to_frame()
    tables = measure(
        (join(frame, run) for run in runs),
        {which: {"ties": which} for which in TIES},
    )
    for name in METRICS:
        tables[name]["names, as trec_eval"] = report.per_query[name].unstack(
            "system", sort=False
        )
    show("ties", tables)


def study_runs(qrels_path: str, folder: str) -> None:
    start = time.perf_counter()
    qrels = trec.read_qrels(qrels_path)
    paths = sorted(path for path in Path(folder).iterdir() if path.is_file())
    runs = [trec.read_run(path) for path in paths]
    study_ties(qrels, runs, trec.evaluate(qrels, runs, METRICS))
    tables: dict[str, dict[object, pd.DataFrame]] = {
        name: {} for name in METRICS
    }
    for depth in DEPTHS:
        runs = [cut(run, depth) for run in runs]
        report = trec.evaluate(qrels, runs, METRICS)
        for name in METRICS:
            tables[name][f"depth {depth}"] = report.per_query[name].unstack(
                "system", sort=False
            )
        share = np.mean(report.counts["judged"])
        seconds = time.perf_counter() - start
        print(
            f"depth {depth}: {share:.0%} of the documents judged, "
            f"{seconds:.0f} s",
            flush=True,
        )
    show("depth of the runs", tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--letor",
        metavar="FOLDER",
        help="a LETOR collection: ties, empty queries",
    )
    parser.add_argument(
        "--runs", nargs=2, metavar=("QRELS", "FOLDER"), help="runs: depth"
    )
    options = parser.parse_args()
    if not options.letor and not options.runs:
        parser.error("pass --letor or --runs.")
    if options.letor:
        study_letor(options.letor)
    if options.runs:
        study_runs(*options.runs)


if __name__ == "__main__":
    main()
