"""Time of the first use of an installation, which compiles, and of later processes.

Each line shows two new processes, with imports: the first has an empty cache of compiled code, the
second uses the cache that the first has filled. Values are medians of processor times. The command
evaluates TREC files.

    python benchmarks/first_use.py [--repeats 3] [--queries 60 3000]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

WORK = """
import sys
import numpy as np
import skrank

kind, name, path = sys.argv[1:]
data = np.load(path)
one = skrank.metric(name) if kind == "value" else skrank.LambdaRank(name)
one(data["labels"], data["scores"], groups=data["groups"])
"""

CASES = [
    *(("value", name) for name in ("gap", "ndcg@10", "err", "bpref")),
    *(("gradient", name) for name in ("gap", "ndcg@10", "err")),
    ("command", "evaluate"),
]


def write_data(folder: Path, queries: int) -> None:
    """Write labels and scores of random queries, as arrays and as TREC files."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(queries), rng.integers(10, 121, queries))
    labels = rng.choice(5, len(groups), p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = (labels + 3 * rng.standard_normal(len(groups))).round(2)  # with ties
    np.savez(folder / "data.npz", groups=groups, labels=labels, scores=scores)
    rows = list(enumerate(zip(groups, labels, scores, strict=True)))
    lines = [f"{group} 0 d{row} {label}\n" for row, (group, label, _) in rows]
    (folder / "qrels").write_text("".join(lines))
    lines = [f"{group} Q0 d{row} 0 {score} name\n" for row, (group, _, score) in rows]
    (folder / "run").write_text("".join(lines))


def seconds(compiled: str, kind: str, name: str, data: Path) -> float:
    """Processor time of a process whose cache of compiled code is the folder `compiled`."""
    environment = os.environ | {"NUMBA_CACHE_DIR": compiled, "SKRANK_QUIET": "1"}
    if kind == "command":
        command = [sys.executable, "-m", "skrank", name, data / "qrels", data / "run"]
    else:
        command = [sys.executable, "-c", WORK, kind, name, data / "data.npz"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--queries", type=int, nargs="+", default=[60, 3000])
    options = parser.parse_args()
    print("queries  first of            an installation  of a process")
    for queries in options.queries:
        with tempfile.TemporaryDirectory() as data:
            write_data(Path(data), queries)
            show(queries, Path(data), options.repeats)


def show(queries: int, data: Path, repeats: int) -> None:
    """Print a line for each case."""
    for kind, name in CASES:
        times: tuple[list[float], list[float]] = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as compiled:
                for some in times:
                    some.append(seconds(compiled, kind, name, data))
        first, second = map(statistics.median, times)
        print(f"{queries:7}  {kind + ' ' + name:20}{first:11.1f} s  {second:12.1f} s", flush=True)


if __name__ == "__main__":
    main()
