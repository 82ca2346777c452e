"""Informativeness about runs: GAP with several thresholds, nDCG, AP.

    python examples/informativeness.py QRELS FOLDER [--condensed] [-k 1000]
        [--plot FILE]

FOLDER holds runs in the TREC format, one per file (also .gz and .xz). For each
run and query, the maximum entropy method infers a precision-recall curve from
the value of a metric and the number of documents of each grade in the list. The
table shows the root mean square difference from the true curve, averaged over
lists with enough documents of each grade. Smaller is more informative. Without
arguments, the study runs on generated data.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd

import skrank
from skrank import informativeness, trec
from skrank.datasets import make_ranking
from skrank.stats import t_interval

OTHERS = ["ap", "ndcg", "ndcg(gain=linear)", "q", "rbp", "precision@10"]


def made_runs() -> tuple[list[trec.Run], trec.Qrels]:
    """Ten systems of different quality on grades 0..2."""
    data = make_ranking(40, n_docs=(80, 120), random_state=0)
    random = np.random.default_rng(0)
    grades = np.minimum(data.relevance, 2)
    docid = np.arange(len(grades))
    runs = [
        trec.Run.from_arrays(
            data.qid,
            docid,
            grades + noise * random.normal(size=len(grades)),
            name=f"noise {noise}",
        )
        for noise in np.round(np.geomspace(0.3, 5, 10), 2)
    ]
    return runs, trec.Qrels.from_arrays(data.qid, docid, grades)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("qrels", nargs="?")
    parser.add_argument("folder", nargs="?", help="folder of runs")
    parser.add_argument("--runs", type=int, help="use only the first RUNS runs")
    parser.add_argument(
        "--steps",
        type=int,
        default=10,
        help="thresholds are multiples of 1 / steps",
    )
    parser.add_argument(
        "-m", "--metric", action="append", help=f"default: {', '.join(OTHERS)}"
    )
    parser.add_argument("-k", type=int, default=1000, help="ranks of each list")
    parser.add_argument(
        "--condensed", action="store_true", help="remove unjudged documents"
    )
    parser.add_argument(
        "--min-retrieved", type=int, default=5, help="documents of each grade"
    )
    parser.add_argument(
        "--baseline", default="ndcg", help="metric to compare with"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the errors, with matplotlib installed",
    )
    options = parser.parse_args()
    if (options.qrels is None) != (options.folder is None):
        parser.error(
            "pass a file of judgments and a folder of runs, or neither."
        )
    if options.qrels is None:
        runs, qrels = made_runs()
    else:
        runs = sorted(
            path for path in Path(options.folder).iterdir() if path.is_file()
        )
        qrels = trec.read_qrels(options.qrels)
    runs = runs[: options.runs]
    top = int(np.nanmax(qrels.labels))

    others = [str(skrank.metric(name)) for name in options.metric or OTHERS]
    baseline = str(skrank.metric(options.baseline))
    others += [baseline] * (baseline not in others)
    candidates = informativeness.threshold_grid(top, options.steps)
    gaps = [skrank.metric("gap", thresholds=g) for g in candidates]
    wall, cpu = time.perf_counter(), time.process_time()
    study = informativeness.study(
        qrels, runs, [*gaps, *others], k=options.k, condensed=options.condensed,
        min_retrieved=options.min_retrieved,
    )  # fmt: skip
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{wall:.1f} s, {cpu:.1f} s of processor time\n\n{study}")

    criterion = study.mean.mean(axis=1)
    names = [str(one) for one in gaps]
    best = criterion[names].idxmin()
    balanced = str(skrank.metric("gap", thresholds=[1 / top] * top))
    print(
        f"\nsmallest mean over labels among GAP: {best}, {criterion[best]:.4f}"
    )
    print(f"smallest of all: {criterion.idxmin()}, {criterion.min():.4f}")
    print(f"\ndifferences to {baseline}, 95 % intervals over queries")
    shown = [
        name
        for name in dict.fromkeys([best, balanced, *others])
        if name in study.metrics
    ]
    errors, rows = study.by("qid"), {}
    for name, rel in itertools.product(
        [one for one in shown if one != baseline], study.rel
    ):
        found = t_interval(errors[name, rel] - errors[baseline, rel])
        rows[name, rel] = found.mean, found.low, found.high
    table = pd.DataFrame(rows, ["difference", "low", "high"]).T
    print(table.to_string(float_format="{:+.4f}".format))
    if options.plot:
        import matplotlib

        matplotlib.use("Agg")
        errors = study.mean.loc[[*names, baseline]]
        axes = errors.plot(marker="o", ylabel="mean error", rot=90)
        axes.figure.savefig(options.plot, dpi=120, bbox_inches="tight")
        print(f"\nplot: {options.plot}")


if __name__ == "__main__":
    main()
