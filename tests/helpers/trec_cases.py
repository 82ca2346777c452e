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

    The qrels have queries without a relevant document; runs lack one and have two others.
    """
    rng = np.random.default_rng(seed)
    pool = [f"{'dDé'[i % 3]}{i * 7919 % 1000}{'-x' * (i % 5)}" for i in range(300)]
    queries = [f"0{q}" for q in range(n_queries + 2)]
    qrels = {
        q: {d: int(rng.integers(-1, 4)) for d in rng.choice(pool, 60, replace=False).tolist()}
        for q in queries[:n_queries]
    }
    qrels["03"] = dict.fromkeys(qrels["03"], 0)
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
    """The query, the document and the number of each entry of qrels or a run."""
    return [(q, d, number) for q, documents in nested.items() for d, number in documents.items()]


def qrels_text(entries):
    return "".join(f"{q} 0 {d} {label}\n" for q, d, label in entries)


def run_text(entries, tag="run", end="\n"):
    return "".join(f"{q}\tQ0\t{d} 0  {score!r} {tag}{end}" for q, d, score in entries)


def run_of(text):
    return trec.read_run(io.StringIO(text))


def assert_refused(path, content, message):
    """A run with this content raises an error."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        trec.evaluate({"1": {"a": 1}, "2": {"a": 1}}, path, "ap")


QRELS_ERRORS = {
    "1 0 a 1\n1 0 b\n": "file, line 2: 3 columns instead of 4 in '1 0 b'",
    "1 0 a 1\n\n1 0 b 1 9\n": "file, line 3: 5 columns instead of 4",
    "1 0 a 1 1 0 b\n1\n": "file, line 1: 7 columns instead of 4",
    "1 0 a\n1 1 0 b 1": "file, line 1: label 'a'",
    "1 0 a 1\n1 0\nb 1": "file, line 2: 2 columns instead of 4",
    "1 0 a 1\n1 0 b x1\n": "file, line 2: label 'x1'",
    "1 0 a 1\n1 0 b 1_0\n": "file, line 2: label '1_0'",
    "1 0 a 1\n1 0 b nan\n": "file, line 2: label 'nan'",
    "1 0 a L1\n1 0 b LL\n": "file, line 2: label 'LL'",
    "1 0 a 1\n2 0 a 1\n\n1 0 a 0\n": "file, line 4: document 'a' occurs twice .*line 1",
    "": "file is empty: a line of qrels is <query> <iteration> <document> <label>",
    " \n\n": "file is empty",
    "# nothing\n": "file is empty",
    "1 0 a 1\n1 0 b\0c 1\n": "file, line 2: the byte 0x00",
    "1 0 a \uff11\n": "file, line 1: label '\uff11'",
    "1 0 a \u0663\n": "file, line 1: label '\u0663'",
    "1 0 c 1\n1 0 a\u00a0b\n": "file, line 2: 3 columns instead of 4",
    "1 0 a 1\n1 0 b 1e308\n": "file, line 2: label .*1e.308",
    "1 0 a 1\n1 0 b 1e400\n": "file, line 2: label '1e400'",
    "#1 0 a nan\n": "file, line 1: label 'nan'",
    "1 Q0 a 1 2.5 t\n": "6 columns instead of 4 in .* looks like a line of run: qrels come first",
}
RUN_ERRORS = {
    "1 Q0 a 1 2.5\n": "file, line 1: 5 columns instead of 6 .*: a line of run is <query> <Q0> ",
    "1 Q0 a 1 2.5 t\n1 Q0 a 2.5 7\n": "file, line 2: 5 columns instead of 6",
    "1 Q0 a 1 2.5 t\n1  a 1 2.5 t\n": "file, line 2: 5 columns instead of 6",
    "1 Q0 a 1 2.5 t u\n 1 Q0 a 1 2.5\n": "file, line 2: 5 columns instead of 6",
    "1 Q0 a 1 2.5\n t\n": "file, line 1: 5 columns instead of 6",
    "1 Q0 a 1 2.5 \n1 Q0 b 2 2 t\n": "file, line 1: 5 columns instead of 6",
    "1 Q0 a 1 2.5 t\n1 Q0 b 2 7 ": "file, line 2: 5 columns instead of 6",
    "1\tQ0\ta\t2.5\t7\t\n1\tQ0\tb\t2\t2\tt\n": "file, line 1: 5 columns instead of 6",
    "# a\n1 Q0 a 1 2.5 my run\n1 Q0 a 1\n": "file, line 3: 4 columns instead of 6",
    "1 Q0 a 1 2 t\n1 Q0 b 1 -- t\n": "file, line 2: score '--'",
    "1 Q0 a 1 2 t\n1 Q0 b 1 1.2.3 t\n": "file, line 2: score '1.2.3'",
    "1 Q0 a 1 2 t\n1 Q0 b 1 NaN t\n": "file, line 2: score 'NaN'",
    "1 Q0 a 1 inf t\n": "file, line 1: score 'inf'",
    "1 Q0 a 1 1 t\n1 Q0 b 1 1e400 t\n": "file, line 2: score '1e400'",
    "1 Q0 a 1 \uff12 t\n": "file, line 1: score '\uff12'",
    "1 Q0 a 1 1\u0662 t\n": "file, line 1: score '1\u0662'",
    "#1 Q0 a 1 2 t\n#1 Q0 b 1 2 t\n#1 Q0 a 1 2 t\n": "file, line 3: document 'a' .*'#1', .*line 1",
    "1 0 a 1\n": "4 columns instead of 6 in .* looks like a line of qrels: qrels come first",
    "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n\n1 Q0 a 3 0 t\n": "file, line 4: document 'a' .*'1', .*line 1",
}


def zstandard(data):
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard}
