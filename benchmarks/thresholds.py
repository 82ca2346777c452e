"""Thresholds of GAP that are most informative about the lists of a collection, cross-validated.

    python benchmarks/thresholds.py DATA [--collections trec-covid trec-dl ohsumed-letor3 mq2008]

DATA is a folder of collections. TREC collections have ``qrels*.gz`` and ``*runs*.xz``, with one
line per run and topic: run, topic, and the documents in the order of their ranks. LETOR collections
have files of the svmlight format; the seven features of highest nDCG@10 are their runs. Prints one
line per collection and treatment of unjudged documents; errors are means over all lowest relevant
labels.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

import numpy as np
from active_pools import read_features

import skrank
from skrank import informativeness, trec

OTHERS = ["ap", "ndcg", "ndcg(gain=linear)", "q"]
N_FEATURES = 7
LISTS = {
    "trec-covid": [{"condensed": True}, {"condensed": False}],
    "trec-dl": [{"condensed": condensed, "n_steps": 4, "k": 100} for condensed in (True, False)],
    "ohsumed-letor3": [{}],
    "mq2008": [{"min_retrieved": 3}],
}


def submitted(folder: Path) -> tuple[trec.Qrels, list[trec.Run]]:
    """Judgments and submitted runs of a TREC collection."""
    rows: dict[str, list[tuple[str, str, float]]] = {}
    with lzma.open(next(folder.glob("*runs*.xz")), "rt") as stream:
        for run, topic, documents in (line.rstrip("\n").split("\t") for line in stream):
            ranked = enumerate(documents.split())
            rows.setdefault(run, []).extend((topic, doc, -rank) for rank, doc in ranked)
    runs = [trec.Run.from_arrays(*zip(*each, strict=True), name=run) for run, each in rows.items()]
    return trec.read_qrels(next(folder.glob("qrels*.gz"))), runs


def features(folder: Path) -> tuple[trec.Qrels, list[trec.Run]]:
    """Judgments of a LETOR collection, and its best features as runs."""
    X, y, qid = read_features(sorted(folder.glob("*.txt.gz")))
    docid = np.random.default_rng(0).permutation(len(y))  # the order of rows may leak labels
    quality = [skrank.metric("ndcg@10")(y, column, groups=qid) for column in X.T]
    best = np.argsort(quality)[-N_FEATURES:]
    runs = [trec.Run.from_arrays(qid, docid, X[:, i], name=f"feature {i}") for i in best]
    return trec.Qrels.from_arrays(qid, docid, y), runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of collections")
    parser.add_argument("--collections", nargs="+", choices=LISTS, default=list(LISTS))
    options = parser.parse_args()
    heads = ["collection", "lists, queries", "chosen", "error", "cross-validated", "balanced"]
    print("| " + " | ".join(heads + OTHERS) + " | better |")
    print("|---" * (len(heads) + len(OTHERS) + 1) + "|")
    for name in options.collections:
        folder = options.data / name
        qrels, runs = (submitted if name.startswith("trec") else features)(folder)
        for how in LISTS[name]:
            choice = informativeness.select_thresholds(qrels, runs, **how)
            kept = {key: value for key, value in how.items() if key != "n_steps"}
            others = informativeness.study(qrels, runs, OTHERS, **kept).mean.mean(axis=1)
            criterion, lists = choice.table["criterion"], choice.study.lists
            errors = [
                criterion[choice.thresholds], choice.cross_validated, criterion[choice.balanced],
                *others,
            ]  # fmt: skip
            print(
                f"| {name}{', condensed' if how.get('condensed') else ''} "
                f"| {len(lists)}, {lists['qid'].nunique()} | {choice.thresholds} | "
                + " | ".join(f"{error:.4f}" for error in errors)
                + f" | {choice.better_than_balanced} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
