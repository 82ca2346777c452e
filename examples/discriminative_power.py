"""Sakai's bootstrap sensitivity: the discriminative power of metrics.

    python examples/discriminative_power.py QRELS FOLDER [-m gap -m ndcg@10 ...]
    python examples/discriminative_power.py --scores ndcg.csv err.csv

FOLDER holds runs in the TREC format, one per file (also .gz and .xz). A table
of scores has a row per query, a column per system, and a header of names.
Prints for each metric the share of all pairs of systems that differ at 95 % and
at 99 % confidence, and the difference of means at which every pair differs, by
the paired bootstrap.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd

import skrank
from skrank import stats, trec

METRICS = ["gap", "ndcg", "ap", "q", "bpref", "err"]
LEVELS = (0.95, 0.99)


def matrices_of_runs(
    qrels: str, folder: str, metrics: list[str]
) -> dict[str, pd.DataFrame]:
    """Tables of values of queries x systems, by metric."""
    start = time.perf_counter()
    runs = sorted(path for path in Path(folder).iterdir() if path.is_file())
    report = trec.evaluate(qrels, runs, metrics)
    seconds = time.perf_counter() - start
    print(
        f"{len(runs)} runs measured by {len(metrics)} metrics in {seconds:.1f} "
        "s",
        flush=True,
    )
    return {
        name: report.per_query[name].unstack("system", sort=False)
        for name in report.mean.columns
    }


def best_systems(
    matrices: dict[str, pd.DataFrame], n_best: int
) -> dict[str, pd.DataFrame]:
    """The systems that are among the best by every metric."""
    tops = [
        set(matrix.mean().nlargest(n_best).index)
        for matrix in matrices.values()
    ]
    kept = [
        system
        for system in next(iter(matrices.values()))
        if system in set.intersection(*tops)
    ]
    print(
        f"{len(kept)} systems are among the {n_best} best by every metric",
        flush=True,
    )
    return {name: matrix[kept] for name, matrix in matrices.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("qrels", nargs="?")
    parser.add_argument("folder", nargs="?", help="folder of runs")
    parser.add_argument(
        "--scores",
        nargs="+",
        default=[],
        metavar="CSV",
        help="tables of scores",
    )
    parser.add_argument(
        "-m", "--metric", action="append", help=f"default: {', '.join(METRICS)}"
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="only systems among the N best by all",
    )
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the curves, with matplotlib installed",
    )
    options = parser.parse_args()
    if (options.folder is None) == (not options.scores):
        parser.error(
            "pass a file of judgments and a folder of runs, or --scores."
        )

    matrices = {Path(path).stem: pd.read_csv(path) for path in options.scores}
    if options.folder:
        names = [str(skrank.metric(name)) for name in options.metric or METRICS]
        matrices = matrices_of_runs(options.qrels, options.folder, names)

    if options.top:
        matrices = best_systems(matrices, options.top)
    found = {}
    for name, matrix in matrices.items():
        wall, cpu = time.perf_counter(), time.process_time()
        found[name] = [
            stats.discriminative_power(
                matrix,
                confidence=level,
                n_resamples=options.resamples,
                random_state=options.seed,
            )
            for level in LEVELS
        ]
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"{name}: {matrix.shape[1]} systems, {matrix.shape[0]} queries, "
            f"{len(found[name][0].p_value)} pairs, "
            f"{options.resamples} resamples for each of "
            f"{len(LEVELS)} levels: {wall:.1f} s, {cpu:.1f} s of CPU",
            flush=True,
        )

    heads = "".join(
        f"{f'power at {a:.0%}':>15}{f'difference at {a:.0%}':>20}"
        for a in LEVELS
    )
    print(f"\n{'':24}{'mean':>8}{heads}")
    for name, powers in sorted(
        found.items(), key=lambda item: -item[1][0].power
    ):
        cells = "".join(
            f"{one.power:>15.1%}{one.required_difference:>20.3f}"
            for one in powers
        )
        print(f"{name:24}{matrices[name].mean().mean():>8.3f}{cells}")

    if options.plot:
        from matplotlib import pyplot as plt

        for name, powers in found.items():
            plt.plot(powers[0].asl_curve, label=name)
        plt.yscale("log")
        plt.xlabel("pairs of systems, sorted")
        plt.ylabel("achieved significance level")
        plt.legend()
        plt.savefig(options.plot, dpi=120)
        print(f"\ncurves: {options.plot}")


if __name__ == "__main__":
    main()
