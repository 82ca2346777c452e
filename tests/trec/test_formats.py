"""Judgments and runs in all forms: the values have the same bits."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank import trec
from tests.helpers.trec_cases import PACKED, assert_refused, collection, qrels_text, rows, run_text

QRELS, RUNS = collection(n_queries=6)
RUN = RUNS["run0"]
QRELS_ROWS, RUN_ROWS = rows(QRELS), rows(RUN)


def evaluate(qrels, run, **options):
    metrics = ["ap", "ndcg(gain=linear)@10", "bpref", "infap", "num_ret", "judged@5"]
    return trec.evaluate(qrels, run, metrics, missing="skip", **options)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trec")
    (folder / "qrels").write_text(qrels_text(QRELS_ROWS))
    scattered = sorted(RUN_ROWS, key=lambda row: row[1])  # rows of a query are not neighbours
    (folder / "run").write_text(run_text(scattered))
    return evaluate(folder / "qrels", folder / "run")


def same_bits(report, expected):
    for name in ("per_query", "mean"):
        found, wanted = getattr(report, name), getattr(expected, name)
        pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def frames(make, query="qid", document="docid", label="label"):
    return tuple(
        make(pd.DataFrame(content, columns=[query, document, last]).to_dict("list"))
        for content, last in ((QRELS_ROWS, label), (RUN_ROWS, "score"))
    )


class Capsule:
    """A table that has the PyCapsule interface of Arrow, and nothing else."""

    def __init__(self, columns):
        self._table = pl.DataFrame(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def dictionaries(columns):
    """The second half of a table of Arrow with two chunks and encoded ids."""
    table = pytest.importorskip("pyarrow").table(columns)
    for place, name in enumerate(table.column_names[:2]):
        table = table.set_column(place, name, table[name].dictionary_encode())
    return type(table).from_batches(table.to_batches() * 2)[len(table) :]


MEMORY = {
    "dicts": lambda: (QRELS, RUN),
    "pandas": lambda: frames(pd.DataFrame, "QID", "docno", "Label"),
    "polars": lambda: frames(pl.DataFrame, "query-id", "corpus-id", "score"),
    "lazy polars": lambda: frames(lambda columns: pl.DataFrame(columns).lazy()),
    "arrow capsules": lambda: frames(Capsule),
    "arrow dictionaries": lambda: frames(dictionaries),
    "objects": lambda: (
        trec.Qrels.from_arrays(*zip(*QRELS_ROWS, strict=True)),
        trec.Run.from_arrays(*zip(*RUN_ROWS, strict=True)),
    ),
}


@pytest.mark.parametrize("form", MEMORY)
def test_forms_in_memory(form, expected):
    same_bits(evaluate(*MEMORY[form]()), expected)
    qrels, run = MEMORY[form]()
    same_bits(evaluate(qrels, {"run": run} if form == "lazy polars" else [run]), expected)


def texts(nested, last, **style):
    """Qrels or a run in formats other than that of TREC, by suffix."""
    names = ["query_id", "doc_id", last]
    frame = pd.DataFrame(rows(nested), columns=names)
    return {
        ".json": json.dumps(nested, **style),
        ".jsonl": "".join(json.dumps(row) + "\n" for row in frame.to_dict("records")),
        ".csv": frame.to_csv(index=False).replace(",", ", "),
        ".tsv": frame.to_csv(index=False, sep="\t"),
    }


RUN_TEXTS = {"": run_text(RUN_ROWS), **texts(RUN, "score")}
QRELS_TEXTS = {
    "": qrels_text(QRELS_ROWS),
    **texts(QRELS, "relevance", indent=1, ensure_ascii=False),
}


@pytest.mark.parametrize("packing", ["", *PACKED])
@pytest.mark.parametrize("suffix", RUN_TEXTS)
def test_files(tmp_path, suffix, packing, expected):
    paths = [tmp_path / f"{name}{suffix}{packing}" for name in ("qrels", "run")]
    pack = PACKED.get(packing, bytes)
    for path, of in zip(paths, (QRELS_TEXTS, RUN_TEXTS), strict=True):
        path.write_bytes(pack(b"\xef\xbb\xbf" * bool(packing) + of[suffix].encode()))
    same_bits(evaluate(paths[0], {"run": paths[1]}), expected)


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", " \t ", ", "])
def test_files_without_a_header(tmp_path, separator, expected):
    for name, content in (("qrels", QRELS_ROWS), ("run", RUN_ROWS)):
        lines = (separator.join([d, "x", q, repr(number)]) + "\n" for q, d, number in content)
        (tmp_path / name).write_text("".join(lines))
    qrels = trec.read_qrels(tmp_path / "qrels", columns=["docid", "_", "qid", "label"])
    columns = ["docid", "_", "qid", "score"]
    same_bits(evaluate(qrels, {"run": tmp_path / "run"}, columns=columns), expected)


def test_packages_that_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert_refused(tmp_path / "run.zst", b"\x28\xb5\x2f\xfd" + bytes(20), r"run\.zst .*zstandard")
    monkeypatch.setitem(sys.modules, "polars", None)
    for call in (lambda: trec.read_run(io.StringIO("1 Q0 a 1 1 t")), lambda: trec.fuse([RUN, {}])):
        with pytest.raises(ImportError, match=r"skrank\[trec\]"):
            call()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_forked_process_gets_an_error_instead_of_waiting_for_ever():
    code = """
import os
from skrank import trec
run = {"1": {"a": 1.0}}
trec.evaluate({"1": {"a": 1}}, run)
child = os.fork()
if not child:
    try:
        trec.evaluate({"1": {"a": 1}}, run)
    except RuntimeError as error:
        os._exit(7 if "spawn" in str(error) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_a_pipe_is_read_once(tmp_path, packing):
    """Such as ``<(zcat run.gz)`` in a shell."""
    os.mkfifo(tmp_path / "run")
    data = packing(run_text(RUN_ROWS).encode())
    writer = threading.Thread(target=(tmp_path / "run").write_bytes, args=[data])
    writer.start()
    run = trec.read_run(tmp_path / "run")
    writer.join()
    assert run.to_dict() == RUN


def test_a_table_of_several_runs(tmp_path):
    frame = pd.DataFrame(RUN_ROWS, columns=["qid", "docid", "score"])
    both = pd.concat([frame.assign(run="a"), frame.assign(run="b", score=-frame.score)])
    both.to_csv(tmp_path / "both.csv", index=False)
    alone = evaluate(QRELS, {"b": frame.assign(score=-frame.score)})
    for runs in (both, [both], tmp_path / "both.csv"):
        report = evaluate(QRELS, runs)
        assert report.mean.index.tolist() == ["a", "b"]
        assert report.mean.loc["b", "ap"] == alone.mean.loc["b", "ap"]
    for call in (lambda: trec.read_run(both), lambda: evaluate(QRELS, {"x": both})):
        with pytest.raises(ValueError, match="2 runs"):
            call()


def test_matrices_of_a_vector_index():
    indices, scores = np.array([[3, 1, 7], [2, 0, -1]]), [[0.9, 0.8, 0.7], [0.5, 0.4, np.nan]]
    run = trec.Run.from_top_k([0, 1], indices, scores, name="knn")
    assert run.to_dict() == {"0": {"3": 0.9, "1": 0.8, "7": 0.7}, "1": {"2": 0.5, "0": 0.4}}
    pages = [f"page{place // 4}" for place in range(8)]
    best = trec.Run.from_top_k([0, 1], indices, scores, docids=pages, duplicates="max")
    assert best.to_dict() == {"0": {"page0": 0.9, "page1": 0.7}, "1": {"page0": 0.5}}
    for wrong, named in (
        ({"scores": -np.array(scores)}, "distances"), ({"docids": pages[:7]}, "docids"),
        ({"docids": pages}, "page0"), ({"scores": [[1, 2, 3]]}, "shape"),
        ({"indices": [[3, 1, 7]]}, "qids"), ({"indices": indices + 0.0}, "indices are float64"),
        ({"scores": [["x", "y", None]] * 2}, "scores must be numbers"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=named):
            trec.Run.from_top_k([0, 1], **{"indices": indices, "scores": scores} | wrong)
