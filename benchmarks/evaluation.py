"""How long does an evaluation take from arrays to numbers, against peers and for more metrics?

    python benchmarks/evaluation.py [--queries 30000] [--documents 120] [--repeat 3]

pytrec_eval (package pytrec-eval-terrier) and scikit-learn are measured where they are installed;
their times include the structures that they need the data in.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

import skrank

EIGHT = ["gap", "ap", "ndcg@10", "dcg@20", "err@20", "rr", "precision@10", "ndcg"]

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
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


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
    options = parser.parse_args()
    relevance, scores, qid = make_data(options.queries, options.documents)
    metric = skrank.metric("ndcg(gain=linear)@10")

    def one() -> float:
        return metric(relevance, scores, groups=qid)

    def many(metrics: list[str]) -> Callable[[], object]:
        return lambda: skrank.evaluate(relevance, scores, groups=qid, metrics=metrics)

    for call in (one, many(TWENTY)):
        call()  # loads the kernels
    base = seconds(one, 3 * options.repeat)
    print(f"{options.queries} queries x {options.documents} documents")
    print(f"{'skrank nDCG@10':36}{1e3 * base:>9.0f} ms   value {one():.6f}")
    first = seconds(many(["ndcg@10"]), 3 * options.repeat)
    print(f"{'skrank.evaluate, 1 metric':36}{1e3 * first:>9.0f} ms")
    for metrics in (EIGHT, TWENTY):
        taken = seconds(many(metrics), 3 * options.repeat)
        name = f"skrank.evaluate, {len(metrics)} metrics"
        print(f"{name:36}{1e3 * taken:>9.0f} ms   {taken / first:.2f} x one")
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
