"""A history of speed: times of skrank relative to a sort by NumPy, one line per run.

    python benchmarks/history.py run [--note "what changed"] [--repeat 15]
    python benchmarks/history.py compare [--slower 1.15]

`run` appends a line of JSON to benchmarks/history.jsonl: date, version, commit, machine and ratios.
`compare` compares the last line with the previous line of the same machine, and fails if a ratio
has grown by more than the factor. A ratio divides the best processor time of the work by that of
the sort; both alternate in one thread, so other load of the machine matters little.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import skrank
from skrank.objectives import Objective, as_objective

FILE = Path(__file__).with_name("history.jsonl")
N_QUERIES, N_DOCUMENTS = 2000, 100
Work = Callable[[], object]


def works() -> tuple[Work, dict[str, Work]]:
    """The sort that is the unit of time, and the work to measure by name."""
    rng = np.random.default_rng(0)
    n = N_QUERIES * N_DOCUMENTS
    labels = rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float)
    scores, groups = (
        labels + 2 * rng.standard_normal(n),
        np.repeat(np.arange(N_QUERIES), N_DOCUMENTS),
    )
    tied = np.round(scores)

    def measure(metrics: list[str], values: np.ndarray = scores) -> Work:
        return lambda: skrank.evaluate(labels, values, groups=groups, metrics=metrics)

    return lambda: np.lexsort((-scores, groups)), {
        "evaluate ndcg@10": measure(["ndcg@10"]),
        "evaluate gap, ap, err, rr, q, bpref": measure(["gap", "ap", "err", "rr", "q", "bpref"]),
        "evaluate gap, err with ties": measure(["gap", "err"], tied),
        "gradient of gap": _round("gap", labels, scores, groups),
        "gradient of ndcg, truncation 30": _round(
            skrank.LambdaRank("ndcg", truncation_level=30), labels, scores, groups
        ),
        "gradient of err": _round("err", labels, scores, groups),
        "gradient of SoftRank gap": _round(skrank.SoftRank("gap"), labels, scores, groups),
        "gradient of Softmax": _round(skrank.Softmax(), labels, scores, groups),
    }


def _round(
    objective: str | Objective, labels: np.ndarray, scores: np.ndarray, groups: np.ndarray
) -> Work:
    queries = skrank.extending.Queries.from_groups(groups)
    bound = as_objective(objective).bind(skrank.extending.Judgments(labels, queries))
    grad, hess = np.empty(len(labels), np.float32), np.empty(len(labels), np.float32)
    return lambda: bound.gradient(scores, grad, hess)


def seconds(work: Work) -> float:
    """Processor time of one call, in this thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def measure(repeat: int) -> dict[str, float]:
    """Time of each work, in units of the sort."""
    os.environ["NUMBA_NUM_THREADS"] = "1"  # numba is not imported yet
    yardstick, jobs = works()
    ratios = {}
    for name, work in jobs.items():
        work()  # compiles, or loads compiled code
        rounds = [(seconds(work), seconds(yardstick)) for _ in range(repeat)]
        mine, yardsticks = map(min, zip(*rounds, strict=True))
        ratios[name] = round(mine / yardsticks, 4)
        print(f"{ratios[name]:10.3f}  {name}", flush=True)
    return ratios


def machine() -> str:
    """Processor architecture, system and versions; only ratios of equal machines are compared."""
    import numba

    parts = (platform.machine(), platform.system(), f"Python {platform.python_version()}")
    return ", ".join((*parts, f"numpy {np.__version__}", f"numba {numba.__version__}"))


def commit() -> str:
    """Short name of the commit; empty outside a repository."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FILE.parent)
    return done.stdout.strip()


def read(path: Path) -> list[dict]:
    """The lines of the history."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def compare(path: Path, slower: float) -> int:
    """Compare the last line with the previous line of its machine; 1 if a work is slower."""
    *lines, last = read(path)
    before = [line for line in lines if line["machine"] == last["machine"]]
    if not before:
        print(f"nothing to compare with: this is the first line of {last['machine']}")
        return 0
    first = before[-1]
    print(f"{first['commit'] or first['version']} -> {last['commit'] or last['version']}")
    worst = 0.0
    for name in sorted(set(first["ratios"]) & set(last["ratios"])):
        change = last["ratios"][name] / first["ratios"][name]
        worst = max(worst, change)
        mark = "  slower" if change > slower else ""
        print(
            f"{first['ratios'][name]:10.3f}{last['ratios'][name]:10.3f}{change:8.2f}  {name}{mark}"
        )
    return int(worst > slower)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", type=Path, default=FILE)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, and add a line")
    run.add_argument("--note", default="")
    run.add_argument("--repeat", type=int, default=15)
    against = commands.add_parser("compare", help="the last line against the one before")
    against.add_argument("--slower", type=float, default=1.15)
    options = parser.parse_args(arguments)
    if options.command == "compare":
        return compare(options.file, options.slower)
    line = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": skrank.__version__,
        "commit": commit(),
        "machine": machine(),
        "note": options.note,
        "ratios": measure(options.repeat),
    }
    with options.file.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
