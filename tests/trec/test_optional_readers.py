"""Parquet and packed files: errors in files, and packages that are not installed."""

import gzip
import io
import os
import sys
import threading

import pandas as pd
import pytest

from skrank import trec

QRELS = {"1": {"a": 1}, "2": {"a": 1}}
LINES = "1 Q0 a 1 3.5 t\n2 Q0 b 1 2.5 t\n"


@pytest.fixture
def parquet():
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pyarrow.parquet")


def frame(**changed):
    columns = {"qid": ["1", "1", "2"], "docid": ["a", "b", "a"], "score": [3.0, 2.0, 1.0]}
    return pd.DataFrame(columns | changed)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            frame(score=[3.0, float("inf"), 1.0]),
            "score of document 'b' of query '1' is inf: it must be a finite",
        ),
        (frame(docid=["a", None, "a"]), "the id of the document of row 1 is missing"),
        (frame(qid=[1.5, 1.5, 2.5]), "query ids of the run is of type double: ids are texts"),
        (frame()[:0], "the run holds no document"),
        (frame().drop(columns="score"), "no column has the scores"),
    ],
)
def test_wrong_rows_of_parquet(parquet, tmp_path, rows, message):
    rows.to_parquet(tmp_path / "run.parquet")
    with pytest.raises(ValueError, match=f"run.parquet: .*{message}"):
        trec.evaluate(QRELS, tmp_path / "run.parquet", "ap", chunksize=2)


def test_row_groups_without_rows(parquet, tmp_path):
    import pyarrow

    table = pyarrow.Table.from_pandas(frame())
    with parquet.ParquetWriter(tmp_path / "run.parquet", table.schema) as writer:
        for part in (table[:0], table[:2], table[:0], table[2:]):
            writer.write_table(part)
    found = trec.evaluate(QRELS, tmp_path / "run.parquet", "ap", chunksize=1)
    assert found.mean.loc["run", "ap"] == 1


def test_parquet_in_pieces_is_a_plain_file(parquet, tmp_path):
    content = io.BytesIO()
    frame().to_parquet(content)
    with pytest.raises(ValueError, match="in pieces from an uncompressed file on disk only"):
        trec.evaluate(QRELS, io.BytesIO(content.getvalue()), "ap", chunksize=2)
    (tmp_path / "run.parquet.gz").write_bytes(gzip.compress(content.getvalue()))
    with pytest.raises(
        ValueError, match=r"run\.parquet\.gz: .*from an uncompressed file on disk only"
    ):
        trec.evaluate(QRELS, tmp_path / "run.parquet.gz", "ap", chunksize=2)
    assert trec.evaluate(QRELS, tmp_path / "run.parquet.gz", "ap").mean.iloc[0, 0] == 1


def test_damaged_parquet(parquet, tmp_path):
    (tmp_path / "run.parquet").write_bytes(b"PAR1 and no more")
    for how in ({}, {"chunksize": 2}):
        with pytest.raises(ValueError, match=r"run\.parquet: "):
            trec.evaluate(QRELS, tmp_path / "run.parquet", "ap", **how)


def test_without_pyarrow(parquet, tmp_path, monkeypatch):
    frame().to_parquet(tmp_path / "run.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for how in ({}, {"chunksize": 2}):
        with pytest.raises(ValueError, match=r"pip install skrank\[parquet\]"):
            trec.evaluate(QRELS, tmp_path / "run.parquet", "ap", **how)


def test_without_zstandard(tmp_path, monkeypatch):
    for name in ("compression.zstd", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "run.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    message = r"run\.zst cannot be decompressed.*install zstandard or"
    for how in ({}, {"chunksize": 2}):
        with pytest.raises(ValueError, match=message):
            trec.evaluate(QRELS, tmp_path / "run.zst", "ap", **how)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("packing", [bytes, gzip.compress])
def test_a_pipe_is_read_once(tmp_path, packing):
    """Such as ``<(zcat run.gz)`` in a shell."""
    os.mkfifo(tmp_path / "run")
    data = packing(LINES.encode())
    writer = threading.Thread(target=(tmp_path / "run").write_bytes, args=[data])
    writer.start()
    run = trec.read_run(tmp_path / "run")
    writer.join()
    assert run.to_dict() == {"1": {"a": 3.5}, "2": {"b": 2.5}}


def test_a_run_of_several():
    both = pd.concat([frame().assign(run=name) for name in "ab"])
    table = io.StringIO(both.to_csv(index=False))
    with pytest.raises(ValueError, match=r"holds 2 runs \(a, b, ...\): select the rows of one"):
        trec.read_run(table)
