"""Compare systems with fewer judgments (Sakai, SIGIR 2007).

    python examples/incompleteness.py QRELS FOLDER [-m gap -m bpref ...]
        [--repeats 5]

FOLDER holds runs in the TREC format, one per file (also .gz and .xz). Judgments
are removed at random, the same share of the relevant and of the other documents
of each query, and all runs are measured again. The tables show the correlation
of the ranking of the systems with that by all judgments, and the share of pairs
of systems that still differ significantly.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from skrank.incompleteness import ROBUSTNESS_METRICS, Robustness, robustness

TABLES = {
    "tau_b": "tau_b with the ranking by all judgments",
    "tau_ap": "AP correlation with the ranking by all judgments",
    "power": "discriminative power",
    "required_difference": "difference of means at which a pair is significant",
    "mean": "mean over systems",
}


def plot(found: Robustness, path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(18, 6), layout="constrained")
    for ax, column in zip(axes, ("mean", "tau_b", "power"), strict=True):
        lines = found.pivot(column).T
        lines.plot(ax=ax, marker="o", ylabel=column).invert_xaxis()
    figure.savefig(path, dpi=120)
    print(f"\nfigures: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("qrels")
    parser.add_argument("folder", help="folder of runs")
    parser.add_argument(
        "-m",
        "--metric",
        action="append",
        help=f"default: {', '.join(ROBUSTNESS_METRICS)}",
    )
    parser.add_argument(
        "--percents", type=int, nargs="+", default=[100, 80, 60, 40, 20]
    )
    parser.add_argument(
        "--repeats", type=int, default=1, help="random reductions of each level"
    )
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the study, with matplotlib installed",
    )
    options = parser.parse_args()

    wall, cpu = time.perf_counter(), time.process_time()

    runs = sorted(
        path for path in Path(options.folder).iterdir() if path.is_file()
    )
    found = robustness(
        options.qrels,
        runs,
        options.metric or ROBUSTNESS_METRICS,
        options.percents,
        random_state=options.seed,
        n_repeats=options.repeats,
        confidence=options.confidence,
        n_resamples=options.resamples,
    )
    print(
        f"{time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} "
        "s of CPU\n"
    )
    print(
        f"{len(runs)} runs, {found.n_queries} queries, judged documents (mean "
        "over repeats):"
    )
    counts = found.judgments.groupby("percent", sort=False)[
        ["relevant", "other"]
    ].mean()
    print(counts.to_string(float_format="{:.0f}".format))
    for column, title in TABLES.items():
        at = (
            f" at {100 * options.confidence:g} % confidence"
            if column in ("power", "required_difference")
            else ""
        )
        print(f"\n{title}{at}, by percent of the judgments")
        print(found.pivot(column).to_string(float_format="{:.3f}".format))
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
