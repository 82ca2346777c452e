"""Judgments and runs in all formats: the values have the same bits."""

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections import namedtuple

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


Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")


class DataSet:
    """A data set as those of ir_datasets."""

    def qrels_iter(self):
        return (Qrel(*row, "0") for row in QRELS_ROWS)


class Peer:
    """A stand-in for Qrels and Run of ranx."""

    __module__ = "ranx.data_structures.qrels"

    def __init__(self, content):
        self.to_dict = lambda: content


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
    "pandas": lambda: frames(pd.DataFrame, "query_id", "docno", "relevance"),
    "lazy polars": lambda: frames(lambda columns: pl.DataFrame(columns).lazy()),
    "arrow capsules": lambda: frames(Capsule),
    "arrow dictionaries": lambda: frames(dictionaries),
    "tuples": lambda: (QRELS_ROWS, RUN_ROWS),
    "trec tuples": lambda: (
        [(q, "0", d, label) for q, d, label in QRELS_ROWS],
        [(q, "Q0", d, 0, score, "run") for q, d, score in RUN_ROWS],
    ),
    "records": lambda: (
        [{"qid": q, "docid": d, "label": label} for q, d, label in QRELS_ROWS],
        iter([{"QID": q, "DocID": d, "Score": score} for q, d, score in RUN_ROWS]),
    ),
    "ir_datasets": lambda: (DataSet(), (ScoredDoc(*row) for row in RUN_ROWS)),
    "ranx": lambda: (Peer(QRELS), Peer(RUN)),
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
    frame = pd.DataFrame(rows(nested), columns=["query_id", "docno", last])
    return {
        ".json": json.dumps(nested, **style),
        ".jsonl": "".join(json.dumps(row) + "\n" for row in frame.to_dict("records")),
        ".csv": frame.to_csv(index=False),
        ".tsv": frame.to_csv(index=False, sep="\t"),
    }


RUN_TEXTS = {"": run_text(RUN_ROWS), ".three": run_text(RUN_ROWS), **texts(RUN, "score")}
QRELS_TEXTS = {
    "": qrels_text(QRELS_ROWS),
    ".three": qrels_text(QRELS_ROWS).replace(" 0 ", "\t").replace("\n", "\n\n"),
    **texts(QRELS, "relevance", indent=1, ensure_ascii=False),
}


@pytest.mark.parametrize("packing", ["", *PACKED])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("suffix", RUN_TEXTS)
def test_files(tmp_path, suffix, named, packing, expected):
    paths = [tmp_path / f"{name}{(suffix + packing) * named}" for name in ("qrels", "run")]
    pack = PACKED.get(packing, bytes)
    for path, of in zip(paths, (QRELS_TEXTS, RUN_TEXTS), strict=True):
        path.write_bytes(pack(b"\xef\xbb\xbf" * named + of[suffix].encode()))
    same_bits(evaluate(paths[0], {"run": paths[1]}), expected)


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


def test_ids_may_be_whole_numbers():
    frame = pd.DataFrame({"qid": [1, 1], "docid": [2, 3], "score": [0.5, 0.1]})
    for run in (frame, {1: {2: 0.5, 3: 0.1}}):
        assert trec.evaluate({1: {2: 1}}, run, "ap").per_query.to_dict() == {
            "ap": {("run", "1"): 1}
        }


def test_a_table_of_several_runs():
    frame = pd.DataFrame(RUN_ROWS, columns=["qid", "docid", "score"])
    both = pd.concat([frame.assign(run="a"), frame.assign(run="b", score=-frame.score)])
    report = evaluate(QRELS, both)
    assert report.mean.index.tolist() == ["a", "b"]
    alone = evaluate(QRELS, {"b": frame.assign(score=-frame.score)})
    assert report.mean.loc["b", "ap"] == alone.mean.loc["b", "ap"]
    with pytest.raises(ValueError, match="2 runs"):
        trec.read_run(io.StringIO(both.to_csv(index=False)))


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (pd.DataFrame({"qid": ["1"], "label": [1]}), RUN, "the qrels has no column 'docno'"),
        (QRELS, pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]}), "no column 'score'"),
        ({"1": {1.5: 1}}, RUN, r"row 0 of the qrels: .* 1\.5"),
        ([("1", "a", 1), ("1", "b")], RUN, r"row 1 of the qrels: .*\('1', 'b'\)"),
        ([("1", "a", 1), ("2", "a", 1), ("1", "a", 0)], RUN, "row 2 of the qrels: document 'a'"),
        ({"1": {"d\ud800": 1}}, RUN, r"row 0 .*'d\\ud800'"),
        (QRELS, {"01": {"a": np.nan}}, "score of document 'a' of query '01' is nan"),
        (QRELS, {"qid": ["1", "1"], "docid": ["a", "b"], "score": [1.0, None]}, "'b' .* is nan"),
        (QRELS, pl.LazyFrame({"topic": [1], "passage": [2], "sim": [3]}), "topic, passage, sim"),
        (QRELS, io.StringIO("topic,passage,sim\n1,a,2\n"), "topic, passage, sim"),
        (QRELS, {"qid": ["1", "1"], "docid": ["a"], "score": [1, 2]}, "differ in length"),
        (QRELS, {"qid": [1.5, 2], "docid": ["a", "b"], "score": [1, 2]}, "row 0 .*query is 1.5"),
        (QRELS, {"1": {"a", "b"}}, "no order"),
        (QRELS, pd.Series([1.0], ["a"]), "a Series without"),
        (trec.Run.from_arrays(["1"], ["a"], [1.0], name="bm25"), RUN, "qrels is the run 'bm25'"),
        ([("1", "a", 1)], trec.Qrels.from_arrays(["1"], ["a"], [1]), "runs holds judgments"),
    ],
)
def test_mistakes_in_memory(qrels, run, message):
    with pytest.raises(ValueError, match=message):
        trec.evaluate(qrels, run, "ap")


SCORES = {q: {f"d{i}": int(q) * (3.7 - i / 7) for i in range(9)} for q in "12"}
GRADES = {q: {f"d{i}": i % 3 for i in range(9)} for q in "12"}


@pytest.mark.filterwarnings("ignore:no retrieved document is judged")
def test_qrels_and_runs_that_are_swapped(tmp_path):
    (tmp_path / "grades.json").write_text(json.dumps(GRADES))
    assert trec.evaluate(GRADES, SCORES, "ap").mean.iloc[0, 0] > 0
    for run in (GRADES, {"a": tmp_path / "grades.json"}):
        with pytest.warns(UserWarning, match="qrels"):
            trec.evaluate(SCORES, run, "rr(rel=0.1)")


SERIES = pd.Series([2.0, 1.0], pd.MultiIndex.from_tuples([("1", "a"), ("1", "b")]))


@pytest.mark.parametrize(
    "run",
    [
        {"1": ["a", "b"]},
        [{"1": np.array(["a", "b"])}],
        {"qid": ["1", "1"], "docid": ["b", "a"], "score": [1, 2]},
        {"query": np.array(["1", "1"]), "docno": ["b", "a"], "rank": pd.Series([1, 0])},
        {"bm25": SERIES},
        SERIES.rename_axis(["qid", "docid"]).swaplevel(),
        [("1", "a", 1), ("1", "b", 2)],
        pd.DataFrame({"qid": ["1", "1"], "docid": ["b", "a"], "rank": [2, 1]}),
    ],
)
def test_shapes_of_runs(run):
    qrels = {"1": {"a": 1, "b": 0}}
    assert trec.evaluate(qrels, run, "rr").mean.iloc[0, 0] == 1
    (loaded,) = trec.read_runs(run).values()
    assert loaded.documents.to_list() == ["a", "b"]


@pytest.mark.parametrize(
    "qrels",
    [
        {"1": ["a"], "2": ["b", "c"]},
        {"1": {"a"}, "2": frozenset("bc")},
        {"query": ["1", "2", "2"], "docid": ["a", "b", "c"], "rel": [1, 1, 1]},
        pd.Series([1, 1, 1], pd.MultiIndex.from_arrays([["1", "2", "2"], list("abc")])),
    ],
)
def test_shapes_of_qrels(qrels):
    report = trec.evaluate(qrels, {"1": {"a": 1.0}, "2": {"b": 2.0, "x": 1.0}}, "recall")
    assert report.per_query["recall"].tolist() == [1, 0.5]


SPECIFIC = {"query_id": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0]}


@pytest.mark.parametrize(
    "more",
    [
        {"docid": [17, 4]},
        {"document": ["the text of a", "the text of b"]},
        {"topic": ["a query", "a query"], "did": ["x", "y"]},
        {"name": ["Blue shoe", "Red shoe"]},
        {"rank": [5, 9]},
    ],
)
def test_the_more_specific_column_has_the_ids(more):
    run = pd.DataFrame(SPECIFIC | more)
    report = trec.evaluate({"1": {"a": 1, "b": 0}}, run, ["rr", "num_ret"])
    assert report.mean.to_numpy().tolist() == [[1, 2]]
