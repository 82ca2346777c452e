"""Contents of TREC files: random, wrong with their errors, packed ones."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest

from skrank import trec


def collection(seed=0, n_queries=12, n_runs=1):
    """Qrels and runs as dicts, with ties, labels below 0, and ids that are not ASCII.

    Some queries have no relevant document, or only such; runs lack one and have two others.
    """
    rng = np.random.default_rng(seed)
    pool = [f"{'dDé'[i % 3]}{i * 7919 % 1000}{'-x' * (i % 5)}" for i in range(300)]
    queries = [f"0{q}" for q in range(n_queries + 2)]
    qrels = {
        q: {d: int(rng.integers(-1, 4)) for d in rng.choice(pool, 9 * i + 5, False).tolist()}
        for i, q in enumerate(queries[:n_queries])
    }
    qrels["03"] = dict.fromkeys(qrels["03"], 0)
    qrels["02"] = dict.fromkeys(qrels["02"], 2)
    qrels["04"] = {**dict.fromkeys(qrels["04"], -1), "d0": 0}
    runs = {}
    for r in range(n_runs):
        runs[f"run{r}"] = {
            q: {
                d: float(np.round(rng.normal(), r % 3)) / 7
                for d in rng.choice(pool, rng.integers(1, 200), replace=False).tolist()
            }
            for q in rng.permutation(queries).tolist()
            if q != f"0{5 + r}"
        }
    return qrels, runs


def rows(nested):
    return [(q, d, number) for q, documents in nested.items() for d, number in documents.items()]


def qrels_text(entries):
    return "".join(f"{q} 0 {d} {label}\n" for q, d, label in entries)


def run_text(entries, tag="run"):
    return "".join(f"{q}\tQ0\t{d} 0  {score!r} {tag}\n" for q, d, score in entries)


def run_of(text):
    return trec.read_run(io.StringIO(text))


def assert_refused(path, content, message):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        trec.evaluate({"1": {"a": 1}, "2": {"a": 1}}, path, "ap")


def zstandard(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard}
