"""Time to evaluate TREC runs, compared with pytrec_eval.

Usage: python benchmarks/trec_evaluation.py QRELS RUN...

Both evaluate the same ten metrics on the same files, from files and from memory. Then whole
processes evaluate the first run: the command of skrank, with compiled code in its cache, and a
script that uses pytrec_eval.

Values are compared by trec_eval's names, under which skrank compares scores in single precision,
as pytrec_eval does. Names of skrank, which are timed, have double precision: means differ where
scores of a run are equal in single precision only.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytrec_eval

from skrank import trec
from skrank._engine.threads import thread_count

METRICS = {
    "map": "ap",
    "map_cut_10": "ap@10",
    "ndcg": "ndcg(gain=linear)",
    "ndcg_cut_10": "ndcg(gain=linear)@10",
    "ndcg_cut_20": "ndcg(gain=linear)@20",
    "P_5": "precision@5",
    "P_10": "precision@10",
    "recip_rank": "rr",
    "bpref": "bpref",
    "Rprec": "r_precision",
}
ASKED = {"map", "map_cut.10", "ndcg", "ndcg_cut.10,20", "P.5,10", "recip_rank", "bpref", "Rprec"}
REPEATS = 5


def main(qrels: str, *runs: str) -> None:
    skrank_evaluates(qrels, runs)  # compiles
    in_memory = [trec.read_run(run) for run in runs]
    theirs, seconds = in_a_process(repeat, pytrec_eval_evaluates, qrels, runs)
    found = {"pytrec_eval": seconds}
    names = [f"trec_eval:{name}" for name in METRICS]
    ours = trec.evaluate(qrels, runs, names, missing="skip").mean.to_numpy()
    for n_threads in dict.fromkeys((1, thread_count())):
        for library in ("POLARS_MAX", "NUMBA_NUM"):  # of the process that starts now
            os.environ[f"{library}_THREADS"] = str(n_threads)
        _, found[f"skrank, {n_threads} threads"] = in_a_process(
            repeat, skrank_evaluates_both, qrels, runs
        )
    n_rows = sum(len(run.scores) for run in in_memory)
    print(f"{len(runs)} runs, {n_rows} rows, {len(METRICS)} metrics; best of {REPEATS}, seconds")
    print(f"largest difference of a mean: {np.abs(ours - theirs).max():.1e}")
    show(found)
    show_processes(qrels, runs[0])


def in_a_process(call: Callable[..., Any], *arguments: Any) -> Any:
    """Result of a call in a new process, so that memory of earlier calls has no effect."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def repeat(call: Callable[..., Any], *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
    """The means, and the best times: in total, and without parsing."""
    call(*arguments)  # imports, and loads compiled code
    results = [call(*arguments) for _ in range(REPEATS)]
    times = np.array([(parsing + rest, rest) for _, parsing, rest in results])
    return results[0][0], times.min(axis=0)


def skrank_evaluates(qrels: Any, runs: Any) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    report = trec.evaluate(qrels, runs, list(METRICS.values()), missing="skip", empty=0)
    return report.mean.to_numpy(), time.perf_counter() - start


def skrank_evaluates_both(qrels: str, runs: tuple[str, ...]) -> tuple[np.ndarray, float, float]:
    """Means of each run, the time of parsing, and the time of evaluation."""
    in_memory = trec.read_qrels(qrels), [trec.read_run(run) for run in runs]
    means, total = skrank_evaluates(qrels, runs)
    _, evaluating = skrank_evaluates(*in_memory)
    return means, total - evaluating, evaluating


def pytrec_eval_evaluates(qrels: str, runs: tuple[str, ...]) -> tuple[np.ndarray, float, float]:
    """Means of each run, the time of parsing, and that of evaluation; keeps one run in memory."""
    start = time.perf_counter()
    with open(qrels) as file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), ASKED)
    parsing, evaluating = time.perf_counter() - start, 0.0
    means = []
    for path in runs:
        start = time.perf_counter()
        with open(path) as file:
            run = pytrec_eval.parse_run(file)
        middle = time.perf_counter()
        values = list(evaluator.evaluate(run).values())
        evaluating += time.perf_counter() - middle
        parsing += middle - start
        means.append([np.mean([value[name] for value in values]) for name in METRICS])
    return np.array(means), parsing, evaluating


def show(seconds: dict[str, np.ndarray]) -> None:
    print(f"{'':<20}{'from files':>12}{'ratio':>8}{'from memory':>14}{'ratio':>8}")
    for name, (total, evaluating) in seconds.items():
        ratio = seconds["pytrec_eval"] / (total, evaluating)
        print(f"{name:<20}{total:>12.3f}{ratio[0]:>8.1f}{evaluating:>14.3f}{ratio[1]:>8.1f}")


SCRIPT = f"""
import sys
import pytrec_eval
with open(sys.argv[1]) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {ASKED})
with open(sys.argv[2]) as file:
    values = list(evaluator.evaluate(pytrec_eval.parse_run(file)).values())
for name in {list(METRICS)}:
    print(name, sum(value[name] for value in values) / len(values))
"""


def show_processes(qrels: str, run: str) -> None:
    """Print the processor time of whole processes, which alternate."""
    asked = [part for name in METRICS.values() for part in ("-m", name)]
    commands = {
        "pytrec_eval": [sys.executable, "-c", SCRIPT, qrels, run],
        "skrank evaluate": [sys.executable, "-m", "skrank", "evaluate", qrels, run, *asked],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(2 * REPEATS):
        for name, command in commands.items():
            taken[name].append(processor_seconds(command))
    print("whole processes on one run, processor time")
    for name, times in taken.items():
        ratio = min(times) / min(taken["pytrec_eval"])
        print(f"{name:<20}{min(times):>12.3f}{ratio:>8.1f} x pytrec_eval")


def processor_seconds(command: list[str]) -> float:
    # an installed package has bytecode
    compiled = {name: os.environ[name] for name in os.environ if "BYTECODE" not in name}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=True, env=compiled, **silent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(*sys.argv[1:])
