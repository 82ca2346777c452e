"""What does the first value or gradient of an installation cost, and that of a process afterwards?

Each line is of fresh processes, imports included: the first finds no compiled loops, the second
those that it left. Processor time; median of some repeats.

    python benchmarks/first_use.py [--repeats 3] [--queries 60 3000]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

WORK = """
import sys, time
import numpy as np
import skrank

kind, name, queries = sys.argv[1:]
rng = np.random.default_rng(0)
groups = np.repeat(np.arange(int(queries)), rng.integers(10, 121, int(queries)))
labels = rng.choice(5, len(groups), p=[0.52, 0.32, 0.13, 0.02, 0.01])
scores = (labels + 3 * rng.standard_normal(len(groups))).round(2)  # some tie
one = skrank.metric(name) if kind == "value" else skrank.LambdaRank(name)
one(labels, scores, groups=groups)
print(time.process_time())
"""

CASES = [
    *(("value", name) for name in ("gap", "ndcg@10", "err", "bpref")),
    *(("gradient", name) for name in ("gap", "ndcg@10", "err")),
]


def seconds(folder: str, kind: str, name: str, queries: int) -> float:
    """Processor time of a process that finds in the folder what is compiled."""
    environment = os.environ | {"NUMBA_CACHE_DIR": folder, "SKRANK_QUIET": "1"}
    command = [sys.executable, "-c", WORK, kind, name, str(queries)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 3000])
    options = parser.parse_args()
    print("queries  first of            an installation  of a process")
    for queries in options.queries:
        for kind, name in CASES:
            times: tuple[list[float], list[float]] = [], []
            for _ in range(options.repeats):
                with tempfile.TemporaryDirectory() as folder:
                    for some in times:
                        some.append(seconds(folder, kind, name, queries))
            first, second = map(statistics.median, times)
            print(
                f"{queries:7}  {kind + ' ' + name:20}{first:11.1f} s  {second:12.1f} s", flush=True
            )


if __name__ == "__main__":
    main()
