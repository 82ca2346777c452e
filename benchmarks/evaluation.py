"""Time to evaluate metrics on arrays, compared with pytrec_eval and scikit-learn.

    python benchmarks/evaluation.py [--queries 30000] [--documents 120] [--repeat 3] [--threads N]

Eight and twenty metrics are compared with nDCG@10, for which only the first ranks are sorted, and
with metrics of whole lists. pytrec_eval (package pytrec-eval-terrier) and scikit-learn are measured
if they are installed; their times include the conversion of the data to their structures. Times are
processor times of all threads.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

import skrank

EIGHT = ["gap", "ap", "ndcg@10", "dcg@20", "err@20", "rr", "precision@10", "ndcg"]

ONE = ["ndcg@10", "ndcg", "ap", "gap"]

TWENTY = [
    *EIGHT, "gap@10", "ap@10", "ndcg@5", "ndcg(gain=linear)@20", "err", "nerr@10", "recall@20",
    "f1@10", "rbp", "q", "r_precision", "success@5",
]  # fmt: skip


def make_data(n_queries: int, n_documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    grades = rng.choice(5, size=n_queries * n_documents, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = grades + 2 * rng.standard_normal(len(grades))
    return grades.astype(np.float64), scores, np.repeat(np.arange(n_queries), n_documents)


def seconds(call: Callable[[], object], repeat: int) -> float:
    """Best time of `repeat` calls."""
    return in_turn([call], repeat)[0]


def in_turn(calls: Sequence[Callable[[], object]], repeat: int) -> list[float]:
    """Best of `repeat` times of each call; the calls alternate."""
    best = [float("inf")] * len(calls)
    for _ in range(repeat):
        for i, call in enumerate(calls):
            start = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - start)
    return best


def with_pytrec_eval(
    relevance: np.ndarray, scores: np.ndarray, qid: np.ndarray
) -> Callable[[], float]:
    import pytrec_eval

    starts = np.flatnonzero(np.diff(qid, prepend=-1))
    bounds = [*starts.tolist(), len(qid)]
    documents = [f"d{i}" for i in range(int(np.diff(bounds).max()))]

    def call() -> float:
        labels, values = relevance.astype(int).tolist(), scores.tolist()
        qrels, run = {}, {}
        for q, (a, b) in enumerate(pairwise(bounds)):
            qrels[str(q)] = dict(zip(documents, labels[a:b], strict=False))
            run[str(q)] = dict(zip(documents, values[a:b], strict=False))
        result = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
        return float(np.mean([query["ndcg_cut_10"] for query in result.values()]))

    return call


def with_sklearn(relevance: np.ndarray, scores: np.ndarray, qid: np.ndarray) -> Callable[[], float]:
    from sklearn.metrics import ndcg_score

    shape = (len(np.unique(qid)), -1)
    return lambda: ndcg_score(relevance.reshape(shape), scores.reshape(shape), k=10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=30_000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["NUMBA_NUM_THREADS"] = str(options.threads)  # numba is not imported yet
    measure(options)


def measure(options: argparse.Namespace) -> None:
    relevance, scores, qid = make_data(options.queries, options.documents)
    metric = skrank.metric("ndcg(gain=linear)@10")

    def one() -> float:
        return metric(relevance, scores, groups=qid)

    def many(metrics: list[str]) -> Callable[[], object]:
        return lambda: skrank.evaluate(relevance, scores, groups=qid, metrics=metrics)

    for call in (one, many(TWENTY)):
        call()  # loads the kernels
    base = seconds(one, 3 * options.repeat)
    print(f"{options.queries} queries x {options.documents} documents, {options.threads} threads")
    print(f"{'skrank nDCG@10':36}{1e3 * base:>9.0f} ms   value {one():.6f}")
    sets = [*([name] for name in ONE), EIGHT, TWENTY]
    *ones, eight, twenty = in_turn([many(metrics) for metrics in sets], 3 * options.repeat)
    for name, taken in zip(ONE, ones, strict=True):
        print(f"{'skrank.evaluate, ' + name:36}{1e3 * taken:>9.0f} ms")
    for n_metrics, taken in ((len(EIGHT), eight), (len(TWENTY), twenty)):
        ratios = ", ".join(
            f"{taken / one:.2f} x {name}" for name, one in zip(ONE, ones, strict=True)
        )
        print(f"{f'skrank.evaluate, {n_metrics} metrics':36}{1e3 * taken:>9.0f} ms   {ratios}")
    peers = {"pytrec_eval": with_pytrec_eval, "scikit-learn, equal lists": with_sklearn}
    for name, make in peers.items():
        try:
            call = make(relevance, scores, qid)
        except ImportError:
            print(f"{name:36}not installed")
            continue
        taken = seconds(call, options.repeat)
        print(
            f"{name:36}{1e3 * taken:>9.0f} ms   {taken / base:.0f} x skrank   value {call():.6f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
