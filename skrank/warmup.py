"""``python -m skrank.warmup`` compiles all kernels in advance, for example in a container image.

Otherwise, the first use of each kernel compiles it. Compiled code is cached beside the installed
files, or in the folder that the environment variable ``NUMBA_CACHE_DIR`` names. Later processes
load the cached code.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

GROUPS = np.repeat([0, 1], 8)
LABELS = np.tile([2.0, 0.0, 1.0, 0.0], 4)
SCORES = np.tile([4.0, 3.0, 3.0, 1.0, 0.0, -1.0, -2.0, -2.0], 2)  # with ties
UNTIED = SCORES + np.linspace(0, 0.5, 16)


def main(argv: Sequence[str] | None = None) -> int:
    """Compile what metrics, objectives and readers of run files need.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments. Default: those of the process.

    Returns
    -------
    int
        Exit status, 0.
    """
    parser = argparse.ArgumentParser(prog="python -m skrank.warmup", description=main.__doc__)
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    quiet = parser.parse_args(argv).quiet
    from skrank._engine.threads import compiled

    os.environ["SKRANK_QUIET"] = "1"
    for name, work in steps():
        start = time.perf_counter()
        with compiled():
            work()
        if not quiet:
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    return 0


def steps() -> Iterator[tuple[str, Callable[[], object]]]:
    """Names of parts of skrank, and functions that compile them."""
    yield "metrics", metrics
    yield "objectives", objectives
    yield "run files", run_files


def metrics() -> None:
    """Evaluate every metric with and without ties, unjudged documents and a cut-off."""
    from skrank.metrics import metric, registered

    unjudged = np.where(LABELS == 1.0, np.nan, LABELS)
    for name in sorted(registered()):
        one = metric(name)
        for labels in (LABELS, unjudged):
            for scores in (UNTIED, SCORES):
                _measure(one, labels, scores)
    for ties in ("stable", "worst"):
        _measure(metric("ndcg", ties=ties), LABELS, SCORES)
    _measure(metric("ndcg@1"), LABELS, SCORES)
    _measure(metric("ndcg", condensed=True), unjudged, SCORES)


def _measure(one: Callable[..., float], labels: np.ndarray, scores: np.ndarray) -> None:
    """Evaluate a metric, if it has a value for these lists."""
    try:
        one(labels, scores, groups=GROUPS)
    except ValueError:  # the metric needs other judgments, or refuses ties
        return


def objectives() -> None:
    """Compute gradients in single and double precision, of a first and of a later round."""
    import skrank
    from skrank._engine.judgments import judge
    from skrank.metrics import metric

    judgments = judge(LABELS, GROUPS)
    chosen = [
        *(skrank.LambdaRank(metric(name)) for name in ("gap", "ndcg@10", "err")),
        *(skrank.SoftRank(metric(name)) for name in ("gap", "ndcg")),
        skrank.LambdaLoss(metric("ndcg")),
        skrank.Softmax(),
        skrank.SquaredError(centered=True),
    ]
    for one in chosen:
        bound = one.bind(judgments)
        for dtype in (np.float32, np.float64):
            grad, hess = np.empty(len(SCORES), dtype), np.empty(len(SCORES), dtype)
            for scores in (UNTIED, SCORES):
                bound.gradient(scores, grad, hess)


def run_files() -> None:
    """Evaluate judgments and a run in the TREC format."""
    from skrank import trec

    qrels = io.StringIO("q1 0 d1 1\nq1 0 d2 0\n")
    run = io.StringIO("q1 Q0 d1 1 2.5 name\nq1 Q0 d3 2 1.5 name\n")
    trec.evaluate(qrels, {"name": run}, ["gap"])


if __name__ == "__main__":
    raise SystemExit(main())
