"""Effectiveness of learned fusion, compared with reciprocal rank fusion and the best run.

Usage: python benchmarks/fusion.py FOLDER [RUN ...]

FOLDER holds the qrels and the runs of TREC-COVID round 1: qrels.round1.txt.gz, and
round1.runs.tsv.xz with one line per run and topic: run, topic, and documents in the order of their
ranks. The runs have no scores, so ranks are fused. Default: three hybrids, and every seventh run.

The weights of "linear" are cross-fitted: each query is scored with weights trained on other
queries. The best run is chosen on the test queries. All intervals are simultaneous intervals of the
difference from reciprocal rank fusion.
"""

import lzma
import sys
from pathlib import Path

import numpy as np

from skrank import LinearRanker, trec

SETS = {
    "BM25 and word embeddings": ["smith.bm25", "CBOWexp.0"],
    "BM25 and a neural reranker": ["smith.bm25", "dmis-rnd1-run1"],
    "two lexical, document and word embeddings": [
        "smith.bm25", "ixa-ir-filter-query", "RUIR-doc2vec", "CBOWexp.0",
    ],
}  # fmt: skip
METRICS = ["ndcg@10", "ap"]


def main(folder: str, *names: str) -> None:
    qrels = trec.read_qrels(Path(folder) / "qrels.round1.txt.gz")
    runs = runs_of(Path(folder) / "round1.runs.tsv.xz")
    sets = {"given": list(names)} if names else {**SETS, "every seventh run": sorted(runs)[::7]}
    for title, chosen in sets.items():
        print(f"\n{title}: {', '.join(chosen)}")
        show(qrels, {name: runs[name] for name in chosen})


def runs_of(path: Path) -> dict[str, trec.Run]:
    """The runs of a file; the score of a document is minus its rank."""
    rows: dict[str, list[tuple[str, list[str]]]] = {}
    with lzma.open(path, "rt") as file:
        for line in file:
            name, topic, documents = line.rstrip("\n").split("\t")
            rows.setdefault(name, []).append((topic, documents.split()))
    return {
        name: trec.Run.from_arrays(
            np.repeat([topic for topic, _ in lists], [len(of) for _, of in lists]),
            [one for _, of in lists for one in of],
            np.concatenate([-np.arange(len(of)) for _, of in lists]),
            name=name,
        )
        for name, lists in rows.items()
    }


def show(qrels: trec.Qrels, runs: dict[str, trec.Run]) -> None:
    means = trec.evaluate(qrels, runs, METRICS, missing="zero").mean
    best = str(means["ndcg@10"].idxmax())
    systems = {"rrf": trec.fuse(runs, name="rrf"), f"best run ({best})": runs[best]}
    for metric in METRICS:
        fused = trec.fuse(
            runs, "weighted_sum", weights=LinearRanker(metric, positive=True), qrels=qrels
        )
        systems[f"linear for {metric}"] = fused
        weights = sorted((fused.weights or {}).items(), key=lambda one: -one[1])
        print(f"  {metric}:", ", ".join(f"{name} {weight:.2f}" for name, weight in weights[:5]))
    for method in ("combsum", "combmnz"):
        systems[method] = trec.fuse(runs, method, name=method)
    report = trec.evaluate(qrels, systems, METRICS, missing="zero")
    compared = report.compare(baseline="rrf", random_state=0).to_frame()
    columns = ["metric", "system", "difference", "low", "high", "p_corrected"]
    print(report.mean.round(4).to_string())
    print(compared.reset_index()[columns].round(4).to_string(index=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
