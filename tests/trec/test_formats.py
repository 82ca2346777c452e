"""Judgments and runs in all formats: the values have the same bits."""

import gzip
import io
import json
import os
import sys
import threading
import warnings
from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

from skrank import trec
from tests.helpers.trec_cases import PACKED

METRICS = ["ap", "ndcg(gain=linear)@10", "bpref", "infap", "num_ret", "judged@5"]


def collection(seed=0):
    """Qrels and a run as dicts, with ties, labels below 0, and ids that are not ASCII."""
    rng = np.random.default_rng(seed)
    pool = [f"{'dé '[i % 2]}{i:03d}" for i in range(60)]
    qrels = {
        f"0{q}": {d: int(rng.integers(-1, 4)) for d in rng.choice(pool, 30, replace=False).tolist()}
        for q in range(5)
    }
    run = {
        f"0{q}": {d: float(rng.integers(0, 9)) / 7 for d in rng.choice(pool, 20, False).tolist()}
        for q in reversed(range(5))
    }
    return qrels, run


QRELS, RUN = collection()
QRELS_ROWS = [(q, d, label) for q, docs in QRELS.items() for d, label in docs.items()]
RUN_ROWS = [(q, d, score) for q, docs in RUN.items() for d, score in docs.items()]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trec")
    (folder / "qrels").write_text(QRELS_TREC)
    (folder / "run").write_text(RUN_TREC)
    return trec.evaluate(folder / "qrels", folder / "run", METRICS)


QRELS_TREC = "".join(f"{q} 0 {d} {label}\n" for q, d, label in QRELS_ROWS)
RUN_TREC = "".join(f"{q} Q0 {d} 0 {score!r} run\n" for q, d, score in RUN_ROWS)


def same_bits(report, expected):
    assert list(report.per_query.index) == list(expected.per_query.index)
    np.testing.assert_array_equal(report.per_query.to_numpy(), expected.per_query.to_numpy())
    np.testing.assert_array_equal(report.mean.to_numpy(), expected.mean.to_numpy())
    pd.testing.assert_frame_equal(report.runs, expected.runs)


def frames(make, rename=("qid", "docid", "label", "score")):
    query, document, label, score = rename
    first = dict(zip((query, document, label), zip(*QRELS_ROWS, strict=True), strict=True))
    second = dict(zip((query, document, score), zip(*RUN_ROWS, strict=True), strict=True))
    return tuple(make({name: list(v) for name, v in one.items()}) for one in (first, second))


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow(columns):
    return pytest.importorskip("pyarrow").table(columns)


Qrel = namedtuple("Qrel", "query_id doc_id relevance iteration")
ScoredDoc = namedtuple("ScoredDoc", "query_id doc_id score")


class DataSet:
    """A data set as those of ir_datasets."""

    def qrels_iter(self):
        return (Qrel(*row, "0") for row in QRELS_ROWS)


MEMORY = {
    "dicts": lambda: (QRELS, RUN),
    "named dicts": lambda: (QRELS, {"run": RUN}),
    "a list of runs": lambda: (QRELS, [RUN]),
    "pandas": lambda: frames(pd.DataFrame),
    "pyterrier": lambda: frames(pd.DataFrame, ("qid", "docno", "label", "score")),
    "ir_measures": lambda: frames(pd.DataFrame, ("query_id", "doc_id", "relevance", "score")),
    "polars": lambda: frames(polars),
    "arrow": lambda: frames(arrow),
    "tuples": lambda: (QRELS_ROWS, RUN_ROWS),
    "trec tuples": lambda: (
        [(q, "0", d, label) for q, d, label in QRELS_ROWS],
        [(q, "Q0", d, 0, score, "run") for q, d, score in RUN_ROWS],
    ),
    "namedtuples": lambda: (
        [Qrel(*row, "0") for row in QRELS_ROWS],
        (ScoredDoc(*row) for row in RUN_ROWS),
    ),
    "records": lambda: (
        [{"qid": q, "docid": d, "label": label} for q, d, label in QRELS_ROWS],
        iter([{"qid": q, "docid": d, "score": score} for q, d, score in RUN_ROWS]),
    ),
    "ir_datasets": lambda: (DataSet(), RUN),
    "objects": lambda: (
        trec.Qrels.from_arrays(*zip(*QRELS_ROWS, strict=True)),
        trec.Run.from_arrays(*zip(*RUN_ROWS, strict=True)),
    ),
}


@pytest.mark.parametrize("form", MEMORY)
def test_forms_in_memory(form, expected):
    same_bits(trec.evaluate(*MEMORY[form](), METRICS), expected)


class Capsule:
    """A table that has the PyCapsule interface of Arrow, and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def dictionaries(table):
    for place, name in enumerate(table.column_names[:2]):
        table = table.set_column(place, name, table[name].dictionary_encode())
    return table


ARROW = {
    "capsule": Capsule,
    "chunks": lambda table: type(table).from_batches(table.to_batches(max_chunksize=7)),
    "dictionaries": dictionaries,
    "batch": lambda table: table.to_batches()[0],
    "slice": lambda table: type(table).from_batches([table.to_batches()[0]] * 2)[len(table) :],
}


@pytest.mark.parametrize("form", ARROW)
def test_tables_of_arrow(form, expected):
    qrels, run = (ARROW[form](table) for table in frames(arrow))
    same_bits(trec.evaluate(qrels, run, METRICS), expected)
    same_bits(trec.evaluate(qrels, {"run": run}, METRICS), expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"docid": ["a", None]}, "the id of the document of row 1 is missing"),
        ({"qid": [1.5, 2.5]}, "query ids of the run is of type double: ids are texts or whole"),
        ({"score": ["1", "x"]}, "score must be numbers, and that of row 1 is 'x'"),
        ({"score": [1.0, None]}, "score of document 'b' of query '1' is nan"),
        ({"docid": ["a", "a"]}, "document 'a' occurs twice in query '1'"),
    ],
)
def test_mistakes_in_tables_of_arrow(changed, message):
    columns = {"qid": ["1", "1"], "docid": ["a", "b"], "score": [2.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        trec.evaluate({"1": {"a": 1}}, arrow(columns | changed), "ap")


def csv(rows, names, mark):
    return "\n".join(mark.join(map(str, row)) for row in [names, *rows]) + "\n"


def lines(rows, names):
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def pretty(content):
    return json.dumps(content, indent=1, ensure_ascii=False)


NAMES = {"qrels": ("query_id", "docno", "relevance"), "run": ("query_id", "docno", "score")}
TEXTS = {
    "": (QRELS_TREC, RUN_TREC),
    ".three": ("".join(f"{q}\t{d} {label}\n\n" for q, d, label in QRELS_ROWS), RUN_TREC),
    ".json": (pretty(QRELS), json.dumps(RUN)),
    ".jsonl": (lines(QRELS_ROWS, NAMES["qrels"]), lines(RUN_ROWS, NAMES["run"])),
    ".csv": (csv(QRELS_ROWS, NAMES["qrels"], ","), csv(RUN_ROWS, NAMES["run"], ",")),
    ".tsv": (csv(QRELS_ROWS, NAMES["qrels"], "\t"), csv(RUN_ROWS, NAMES["run"], "\t")),
}


def assert_read(suffix, qrels, run, expected):
    """Files or streams of a format, which the functions give, are read whole and in pieces."""
    for chunksize in (None, 1, 50, 10**6)[: 1 if suffix == ".json" else 4]:
        report = trec.evaluate(qrels(), {"run": run()}, METRICS, chunksize=chunksize)
        same_bits(report, expected)


@pytest.mark.parametrize("packing", ["", *PACKED])
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("suffix", TEXTS)
def test_files(tmp_path, suffix, named, packing, expected):
    """The format is recognised by the suffix, or else by the content."""
    paths = [tmp_path / f"{name}{(suffix + packing) * named}" for name in ("qrels", "run")]
    pack = PACKED.get(packing, bytes)
    for path, text in zip(paths, TEXTS[suffix], strict=True):
        path.write_bytes(pack(b"\xef\xbb\xbf" * named + text.encode()))
    assert_read(suffix, lambda: paths[0], lambda: paths[1], expected)


@pytest.mark.parametrize("make", [io.StringIO, lambda text: io.BytesIO(text.encode())])
@pytest.mark.parametrize("suffix", TEXTS)
def test_streams(suffix, make, expected):
    qrels, run = TEXTS[suffix]
    assert_read(suffix, lambda: make(qrels), lambda: make(run), expected)


PARQUET = {
    "text": lambda column: column,
    "large text": lambda column: column.cast("large_string"),
    "categories": lambda column: column.dictionary_encode(),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_parquet(tmp_path, kind, expected):
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = [tmp_path / "qrels.parquet", tmp_path / "run"]
    for path, table in zip(paths, frames(arrow), strict=True):
        for place, name in enumerate(table.column_names[:2]):
            table = table.set_column(place, name, PARQUET[kind](table[name]))
        with parquet.ParquetWriter(path, table.schema) as writer:
            for part in (table[:0], table[:70], table[:0], table[70:]):
                writer.write_table(part, row_group_size=30)
    assert_read("", lambda: paths[0], lambda: paths[1], expected)


def test_damaged_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"qid": ["1", "1"], "docid": ["a", None], "score": [1.0, 2.0]}).to_parquet(
        tmp_path / "lacks"
    )
    (tmp_path / "cut").write_bytes(b"PAR1 and no more")
    for name, message in (("cut", ""), ("lacks", "the id of the document of row 1 is missing")):
        for options in ({}, {"chunksize": 2}):
            with pytest.raises(ValueError, match=f"{name}: .*{message}"):
                trec.evaluate(QRELS, tmp_path / name, "ap", **options)


def test_parquet_in_pieces_is_a_plain_file(tmp_path):
    pytest.importorskip("pyarrow")
    content = io.BytesIO()
    pd.DataFrame(RUN_ROWS, columns=["qid", "docid", "score"]).to_parquet(content)
    (tmp_path / "run.gz").write_bytes(gzip.compress(content.getvalue()))
    for source in (io.BytesIO(content.getvalue()), tmp_path / "run.gz"):
        with pytest.raises(ValueError, match="in pieces from an uncompressed file on disk only"):
            trec.evaluate(QRELS, source, "ap", chunksize=2)
    assert trec.read_run(tmp_path / "run.gz").to_dict() == RUN


@pytest.mark.parametrize("options", [{}, {"chunksize": 2}], ids=str)
def test_packages_that_are_not_installed(tmp_path, monkeypatch, options):
    for name in ("compression.zstd", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "run.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    (tmp_path / "run").write_bytes(b"PAR1" + bytes(20))
    for name, message in (
        ("run.zst", r"run\.zst cannot be decompressed.*install zstandard or"),
        ("run", r"pip install skrank\[parquet\]"),
    ):
        with pytest.raises(ValueError, match=message):
            trec.evaluate(QRELS, tmp_path / name, "ap", **options)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_a_pipe_is_read_once(tmp_path, packing):
    """Such as ``<(zcat run.gz)`` in a shell."""
    os.mkfifo(tmp_path / "run")
    data = packing(RUN_TREC.encode())
    writer = threading.Thread(target=(tmp_path / "run").write_bytes, args=[data])
    writer.start()
    run = trec.read_run(tmp_path / "run")
    writer.join()
    assert run.to_dict() == RUN


def test_ids_may_be_whole_numbers():
    report = trec.evaluate({1: {2: 1}}, {1: {2: 0.5, 3: 0.1}}, "ap")
    assert report.per_query.index.tolist() == [("run", "1")]
    frame = pd.DataFrame({"qid": [1, 1], "docid": [2, 3], "score": [0.5, 0.1]})
    assert trec.evaluate([("1", "2", 1)], frame, "ap").mean.iloc[0, 0] == 1


@pytest.mark.parametrize("make", [pd.DataFrame, lambda frame: arrow(frame.to_dict("list"))])
def test_a_table_of_several_runs(make):
    frame = pd.DataFrame(RUN_ROWS, columns=["qid", "docid", "score"])
    both = pd.concat([frame.assign(run="a"), frame.assign(run="b", score=-frame.score)])
    report = trec.evaluate(QRELS, make(both), "ap")
    assert report.mean.index.tolist() == ["a", "b"]
    alone = trec.evaluate(QRELS, {"b": frame.assign(score=-frame.score)}, "ap")
    assert report.mean.loc["b", "ap"] == alone.mean.loc["b", "ap"]
    with pytest.raises(ValueError, match=r"holds 2 runs \(a, b, ...\): select the rows of one"):
        trec.read_run(io.StringIO(both.to_csv(index=False)))


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (
            pd.DataFrame({"qid": ["1"], "label": [1]}),
            RUN,
            "no column has the documents of .*: rename .*qid",
        ),
        (
            QRELS,
            pd.DataFrame({"qid": ["1"], "docno": ["a"]}),
            "no column has the scores of the run",
        ),
        (
            RUN,
            pd.DataFrame({"qid": ["1"], "docno": ["a"], "label": [1]}),
            "They look like qrels: qrels come first, then runs",
        ),
        ({"1": {1.5: 1}}, RUN, r"id of the document of row 0 of the qrels is 1.5: ids are texts"),
        ([("1", "a", 1), ("1", "b")], RUN, r"record 1 of the qrels is \('1', 'b'\)"),
        ([("1", "a", 1), ("1", "a", 0)], RUN, "document 'a' occurs twice in query '1'"),
        ({"1": {"a": "x"}}, RUN, "label must be numbers"),
        ({"1": {}}, RUN, "qrels hold no document"),
        (QRELS, {"01": {"a": np.nan}}, "score of document 'a' of query '01' is nan"),
        (
            [namedtuple("Pair", "query_id doc_id")("1", "a")],
            RUN,
            "qrels have no label or relevance",
        ),
        (trec.Run.from_arrays(["1"], ["a"], [1.0], name="bm25"), RUN, "qrels is the run 'bm25'"),
        ([("1", "a", 1)], trec.Qrels.from_arrays(["1"], ["a"], [1]), "runs holds judgments"),
    ],
)
def test_mistakes_in_memory(qrels, run, message):
    with pytest.raises(ValueError, match=message):
        trec.evaluate(qrels, run, "ap")


SCORES = {q: {f"d{i}": int(q) * (3.7 - i / 7) for i in range(9)} for q in "12"}
GRADES = {q: {f"d{i}": i % 3 for i in range(9)} for q in "12"}


@pytest.mark.parametrize("options", [{}, {"chunksize": 5}], ids=str)
def test_qrels_and_runs_that_are_swapped(tmp_path, options):
    (tmp_path / "grades.json").write_text(json.dumps(GRADES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = trec.evaluate(GRADES, SCORES, "ap", **options)
    assert expected.mean.iloc[0, 0] > 0
    swapped = [(SCORES, GRADES)]
    if not options:
        swapped.append((SCORES, {"a": tmp_path / "grades.json"}))
    for qrels, run in swapped:
        with pytest.warns(UserWarning, match="as if they were swapped: qrels come first, then"):
            trec.evaluate(qrels, run, "rr(rel=0.1)", **options)
    below = {q: {d: x - 9 for d, x in docs.items()} for q, docs in SCORES.items()}
    with pytest.warns(UserWarning, match="as if they were scores: qrels come first, then runs"):
        trec.evaluate(below, GRADES, "num_ret", **options)


def test_lazy_frames_of_polars(expected):
    pl = pytest.importorskip("polars")
    qrels, run = (pl.LazyFrame(columns) for columns in frames(dict))
    same_bits(trec.evaluate(qrels, run, METRICS), expected)
    same_bits(trec.evaluate(qrels, {"run": run}, METRICS), expected)
    same_bits(trec.evaluate(qrels, [run], METRICS), expected)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.json", '{"1": {"a": 1}', "q.json: line 1: no JSON"),
        ("q.json", "[1, 2]", "q.json: the file holds no qrels: expected queries that map to"),
        ("q.jsonl", '{"qid": "1", "docid": "a", "label": 1}\n{', "q.jsonl: line 2: no JSON"),
        ("q.json", '{"1": {"a": 1, "b": 0, "a": 2}}', "q.json: key 'a' occurs 2 times"),
        ("q.jsonl", '{"qid": 1, "label": 1, "label": 2}', "line 1: key 'label' occurs 2 times"),
        ("q.csv", "qid,docid,label,Label\n1,a,1,0\n", "q.csv: 2 columns are called 'label'"),
        ("q.csv", "qid,docid,label\n1,a\n", "q.csv: line 2: 2 columns instead of 3"),
        ("q.csv", "qid,docid,label\n1,a,1\n1,a,2\n", "q.csv: document 'a' occurs twice"),
        ("q.csv", b"qid,docid,label\n\xe9,a,1\n", "q.csv: it is not text in UTF-8"),
        ("q.jsonl", '"ab1"\n"ab2"\n', "line 1: no record with"),
        ("q.csv", "qid,docid,label\n", "q.csv: the qrels hold no document"),
        ("q.csv", 'qid,docid,label\n1,a,"1' + 200_000 * "\n", "q.csv: line .*field larger than"),
        ("q.csv", "", "q.csv: no column has the queries of the qrels"),
        ("q.parquet", "PAR1", "q.parquet: "),
        ("q", "1 a 1\n1 c 0\n1 b\n", "q, line 3: 2 columns instead of 3"),
    ],
)
def test_mistakes_in_files(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        trec.read_qrels(tmp_path / name)


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("options", [{}, {"chunksize": 50}], ids=str)
def test_damaged_files(tmp_path, packing, options):
    whole = PACKED[packing](RUN_TREC.encode())
    damaged = [whole[:200], whole[:9]]
    if packing == ".gz":
        damaged.append(whole[:-8] + b"12345678")  # a wrong checksum
    for data in damaged:
        (tmp_path / "run").write_bytes(data)
        with pytest.raises(ValueError, match=r"run cannot be decompressed: "):
            trec.evaluate(QRELS, tmp_path / "run", "ap", **options)


@pytest.mark.parametrize("options", [{}, {"chunksize": 50}], ids=str)
def test_a_missing_file(tmp_path, options):
    with pytest.raises(FileNotFoundError):
        trec.evaluate(QRELS, tmp_path / "none", "ap", **options)
