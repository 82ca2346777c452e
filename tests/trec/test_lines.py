"""Files of any content: odd spellings, and errors that name the file and the line."""

import gzip
import io
import json

import numpy as np
import pytest

from skrank import trec
from tests.helpers.trec_cases import PACKED, assert_refused, rows, run_of, run_text

# texts, and the line that the error names; None for an error about the whole file
WRONG_QRELS = {
    "1 0 a 1\n1 0 b\n": 2, "1 0 a 1\n\n1 0 b 1 9\n": 3, "1 0 a 1 1 0 b\n1\n": 1, "1 0 a\n": 1,
    "1 0 a 1\n1 0\nb 1": 2, "1 0 a 1\n1 0 b x1\n": 2, "1 0 a 1\n1 0 b 1_0\n": 2,
    "1 0 a 1\n1 0 b nan\n": 2, "1 0 a L1\n1 0 b LL\n": 2, "1 0 a 1\n1 0 b L1.5\n": 2,
    "1 0 a 1\n1 0 b LL1\n": 2, "1 0 a 1\n2 0 a 1\n\n1 0 a 0\n": 4,
    "1 0 a 1\n1 0 b\0c 1\n": 2, "1 0 a \uff11\n": 1, "1 0 a \u0663\n": 1,
    "1 0 c 1\n1 0 a\u00a0b\n": 2, "1 0 a 1\n1 0 b 1e308\n": 2, "1 0 a 1\n1 0 b 1e400\n": 2,
    "#1 0 a nan\n": 1, "1 Q0 a 1 2.5 t\n": 1, "1 a 1\n1 c 0\n1 b\n": 1,
    "": None, " \n\n": None, "# a comment\n1 0 a 1\n": 1,
}  # fmt: skip
WRONG_RUNS = {
    "1 Q0 a 1 2.5\n": 1, "1 Q0 a 1 2.5 t\n1 Q0 a 2.5 7\n": 2, "1 Q0 a 1 2.5 t\n1  a 1 2.5 t\n": 2,
    "1 Q0 a 1 2.5 t u\n 1 Q0 a 1 2.5\n": 2, "1 Q0 a 1 2.5 \n1 Q0 b 2 2 t\n": 1,
    "1 Q0 a 1 2.5 t\n1 Q0 b 2 7 ": 2, "1\tQ0\ta\t2.5\t7\t\n1\tQ0\tb\t2\t2\tt\n": 1,
    "1 Q0 a 1 2.5 my run\n1 Q0 a 1\n": 2, "1 Q0 a 1 2 t\n1 Q0 b 1 -- t\n": 2,
    "1 Q0 a 1 2 t\n1 Q0 b 1 NaN t\n": 2, "1 Q0 a 1 inf t\n": 1, "1 Q0 a 1 1e400 t\n": 1,
    "1 Q0 a 1 \uff12 t\n": 1, "1 Q0 a 1 1\u0662 t\n": 1, "1 0 a 1\n": 1, "1,a,3\n": 1,
    "#1 Q0 a 1 2 t\n#1 Q0 b 1 2 t\n#1 Q0 a 1 2 t\n": 3, "1 Q0 a 1 2 t\n\n1 Q0 a 3 0 t\n": 3,
    "1 Q0 a 0 1e t\n": 1, "1 Q0 a 0 .e1 t\n": 1, "1 Q0 a 0 +-1 t\n": 1, "1 Q0 a 0 0x1p3 t\n": 1,
    "1 Q0 a 0 1e5.0 t\n": 1, "1 Q0 a 0 - t\n": 1, "1 Q0 a 0 . t\n": 1, "1 Q0 a 0 1ee5 t\n": 1,
    "1 Q0 a 1 2.5 t\n\x1a\n": 2, "x,y,z\n1,a,3\n": None,
    '{"qid": 1, "docid": "a", "score": 3}\n{"qid": 1}\n': 2,
    '{"qid": 1, "docid": "a", "score": 3}\n\n{"qid": 1, "docid': 3,
    '{"qid": 1, "docid": "a", "score": 3}\n{"qid": 1, "docid": "a", "score": 2}\n': 2,
    "qid,docid,score\n1,a,3\n1,b\n": 3, "qid,docid,score\n1,a,3\n1,b,2,1\n": 3,
    "qid,docid,score\n\n1,a,3\n1,b,high\n": 4, "qid,docid,score\n1,a,3\n1,,2\n": 3,
    "qid,docid,score\n1,a,1e400\n": 2, 'qid,docid,score\n1,"a",3\n1,a,2\n': 3,
    'qid,docid,score\n1,"a,3\n1,b,2\n': 3, "qid,docid,score\n": None,
    "qid,docid,score,Score\n1,a,3,2\n": None, "qid,docid,score,score\n1,a,3,2\n": 1,
    '{"1": {"a": 1, "a": 2}}': None,
    '{"1": {"a": 1}': None, "[1, 2]": None, '"ab1"\n': 1,
}  # fmt: skip


@pytest.mark.parametrize("as_file", [True, False])
@pytest.mark.parametrize(
    ("read", "text", "line"),
    [(trec.read_qrels, *case) for case in WRONG_QRELS.items()]
    + [(trec.read_run, *case) for case in WRONG_RUNS.items()],
)
def test_errors_name_the_file_and_the_line(tmp_path, read, text, line, as_file):
    (tmp_path / "file").write_text(text)
    source = tmp_path / "file" if as_file else io.StringIO(text)
    message = f"file{'' if as_file else '>'}, line {line}: " if line else "file"
    with pytest.raises(ValueError, match=message):
        read(source)


def test_folders_and_damaged_files(tmp_path):
    for folder in ("", tmp_path):
        with pytest.raises(ValueError, match="folder"):
            trec.read_qrels(folder)
    for packing, pack in PACKED.items():
        whole = pack(run_text(rows({"1": {f"d{i}": i / 7 for i in range(200)}})).encode())
        for damaged in (whole[:200], whole[:9], whole[:-8] + b"12345678"):
            if packing in (".gz", ".xz") or damaged is not whole[:-8] + b"12345678":
                assert_refused(tmp_path / "run", damaged, "run cannot be decompressed: ")
    for binary in (b"\x04\x22\x4d\x18", b"PK\x03\x04"):
        assert_refused(tmp_path / "run", binary + bytes(9), "run, line 1: ")
    assert_refused(tmp_path / "cut", b"PAR1\x15 and no more", "cut: ")
    assert_refused(tmp_path / "run", b"1 Q0 a\0 1 2 t\n\xff", "run, line 1: ")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_named_with_the_remedy(tmp_path, encoding):
    text = "1 Q0 a 1 2.5 t\n1 Q0 b\u00e9 1 2.5 t\n"
    assert_refused(tmp_path / "run", text.encode(encoding), r"run, line [12]: .*iconv")


@pytest.mark.parametrize("number", ["\uff12", "1_0", "\u20031"])
def test_numbers_are_ascii_in_all_formats(number):
    for text in (f"qid,docid,label\n1,b,{number}\n",
                 f'\n{{"qid": 1, "docid": "b", "label": "{number}"}}'):  # fmt: skip
        with pytest.raises(ValueError, match="line 2: label"):
            trec.read_qrels(io.StringIO(text))
    for build in (trec.Qrels.from_arrays, trec.Run.from_arrays):
        for column in ([1, number], np.array(["1", number]), np.array([1, number], object)):
            with pytest.raises(ValueError, match="row 1 "):
                build(["1", "1"], ["a", "b"], column)


@pytest.mark.parametrize("build", [trec.Qrels.from_arrays, trec.Run.from_arrays])
def test_ids_of_bytes_are_utf_8(build):
    assert build(["1"], [b"\xc3\xa9"], [1]).documents.to_list() == ["\xe9"]
    with pytest.raises(ValueError, match=r"row 1 .*docid"):
        build(["1", "1"], np.array([b"a", b"\xff"]), [1, 1])


# odd files ----------------------------------------------------------------------------------------

PLAIN = {"1": {"a": 3.0, "b": 2.0}, "2": {"a": 1.0}}
LINES = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 1 1 t\n"
ODD = {
    "bom": b"\xef\xbb\xbf" + LINES.encode(),
    "crlf": LINES.replace("\n", "\r\n").encode(),
    "cr": LINES.replace("\n", "\r").encode(),
    "no final newline": LINES[:-1].encode(),
    "tabs and spaces": LINES.replace(" Q0 ", "\tQ0  ").encode(),
    "spaces around": LINES.replace("\n", " \n  ").encode(),
    "blank lines": b"\n\n" + LINES.replace("\n", "\n\n \n").encode(),
    "further columns": LINES.replace("t\n", "t and more\n").encode(),
    "gz": gzip.compress(LINES.encode()),
    "two gz": gzip.compress(LINES[:13].encode()) + gzip.compress(LINES[13:].encode()),
    "json lines": b'{"qid": 1, "docid": "a", "score": 3}\n\n{"qid": 1, "docid": "b", "score": 2}\n'
    b'{"qid": 2, "docid": "a", "score": 1}',
    "csv": b"qid,docid,score\n1,a,3\n1,b,2\n\n2,a,1\n",
    "semicolons": b"qid;docid;score\r\n1;a;3\r\n1;b;2\r\n2;a;1",
    "tsv": b'"query-id"\t"corpus-id"\tscore\n1\ta\t3\n1\tb\t2\n2\ta\t1\n',
}


@pytest.mark.parametrize("suffix", ["", ".gz", ".json", ".csv", ".parquet"])
def test_the_content_decides_not_the_name(tmp_path, suffix):
    for name, data in ODD.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(data)
        assert trec.read_run(path).to_dict() == PLAIN, name


@pytest.mark.parametrize(
    "document", ['d"1', "d'1", "a,b", "#1", "a;b", "{a}", "\u00e9\U0001f600", "L1", "a\u00a0b"]
)
def test_ids_keep_their_characters(tmp_path, document):
    quoted = document.replace('"', '""')
    texts = {
        "lines": f"1 Q0 {document} 1 2 t\n",
        "tabs": f"1\tQ0\t{document}\t1\t2\tt\n",
        "csv": f'qid,docid,score\n1,"{quoted}",2\n',
        "json": json.dumps({"1": {document: 2.0}}),
        "jsonl": json.dumps({"qid": "1", "docid": document, "score": 2.0}, ensure_ascii=False),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert trec.read_run(tmp_path / name).to_dict() == {"1": {document: 2.0}}, name


@pytest.mark.parametrize("place", range(3))
def test_labels_of_ntcir_may_stand_anywhere(place):
    words, columns = ["L1", "L2"], ["qid", "docid"]
    words.insert(place, "L3")
    columns.insert(place, "label")
    qrels = trec.read_qrels(io.StringIO(" ".join(words) + "\n"), columns=columns)
    assert qrels.to_dict() == {"L1": {"L2": 3}}


@pytest.mark.parametrize("query", ["{1", "[1", "BZhang", "PAR1"])
def test_a_query_may_begin_as_another_format_does(query):
    assert run_of(f"{query} Q0 a 1 2 t\n").to_dict() == {query: {"a": 2.0}}


@pytest.mark.parametrize(
    ("line", "query", "document"),
    [
        ("[q] d 2", "[q]", "d"), ("q, d, 2", "q", "d"), ("q ,d ,2", "q", "d"),
        ("my q,my d,2", "my q", "my d"), ("q a;b 2", "q", "a;b"),
    ],
)  # fmt: skip
def test_one_line_without_a_header(line, query, document):
    qrels = trec.read_qrels(io.StringIO(line + "\n"), columns=["qid", "docid", "label"])
    assert qrels.to_dict() == {query: {document: 2}}


def test_a_single_record_may_have_more_than_texts_and_numbers():
    record = '{"qid": "q", "docid": "d", "label": 2, "meta": {"source": "x"}}'
    assert trec.read_qrels(io.StringIO(record)).to_dict() == {"q": {"d": 2}}


@pytest.mark.parametrize("separator", [" ", ","])
def test_fields_of_the_other_kind_are_skipped(separator):
    lines = "".join(separator.join(row) + "\n" for row in ("qa095x", "qb201x"))
    columns = ["qid", "docid", "label", "score", "_", "run"]
    run = trec.read_run(io.StringIO(lines), columns=columns)
    assert run.to_dict() == {"q": {"a": 9, "b": 0}}
    assert trec.read_qrels(io.StringIO(lines), columns=columns).to_dict() == {"q": {"a": 0, "b": 2}}
