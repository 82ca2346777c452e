"""TREC files: rows, decimals, and errors with the number of the line."""

import gzip
import io
import json
import math
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skrank import trec
from tests.helpers import trec_cases
from tests.helpers.trec_cases import assert_refused, qrels_text, rows, run_of, run_text


def test_a_run_is_called_by_its_tag_or_as_the_caller_says():
    text = "301 Q0 FT-1 1 2.5 bm25\n301 Q0 FT-2 2 1 bm25\n"
    assert run_of(text).name == "bm25"
    assert trec.read_run(io.StringIO(text), name="mine").name == "mine"


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n  \n"])
@pytest.mark.parametrize("length", range(1, 18))
def test_reads_any_line_ends_and_lengths(end, length):
    name = "x" * length
    text = f"\ufeff  1\t0 {name}  20E-1\n\n\v1 0 y -1e0{end}"
    frame = trec.read_qrels(io.StringIO(text)).to_frame()
    assert frame["docid"].tolist() == [name, "y"]
    np.testing.assert_array_equal(frame["label"], [2.0, np.nan])


def test_rows_of_a_query_need_not_be_neighbours():
    run = run_of("2 Q0 a 1 1 t\n1 Q0 b 1 3 t\n2 Q0 c 1 5 t\n1 Q0 a 1 4 t\n")
    expected = [["2", "c", 5.0], ["2", "a", 1.0], ["1", "a", 4.0], ["1", "b", 3.0]]
    assert run.to_frame().to_numpy().tolist() == expected


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [(trec.read_qrels, *case) for case in trec_cases.QRELS_ERRORS.items()]
    + [(trec.read_run, *case) for case in trec_cases.RUN_ERRORS.items()],
)
def test_errors_name_the_line(tmp_path, read, text, message):
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "file")
    with pytest.raises(ValueError, match=message.replace("file", "<file>", 1)):
        read(io.StringIO(text))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "line", ["1 Q0 {} 1 2.5 t\n", '{{"qid": "1", "docid": "{}", "score": 1}}\n']
)
def test_other_encodings_are_named_with_the_remedy(tmp_path, encoding, line):
    text = line.format("a") + line.format("b\u00e9")
    place = "run is in" if encoding == "utf-16" else "run, line [12]: "
    assert_refused(tmp_path / "run", text.encode(encoding), rf"{place}.*iconv")


HASHED = {"#1": {"a": 1, "b": 0}, "#": {"a": 0, "c": 2}, "2": {"a": 1, "b": 0}}
HASHED_RUN = {q: {d: 1.0 / (1 + i) for i, d in enumerate("bca")} for q in HASHED}
COMMENTS = "# a word\n#1 of 3\n#\n #1 Q0 a 1 high t\n#1 0 a high\n"


def test_queries_whose_ids_begin_as_comments_do(tmp_path):
    (tmp_path / "qrels").write_text(COMMENTS + qrels_text(rows(HASHED)))
    (tmp_path / "three").write_text("# a word\n" + qrels_text(rows(HASHED)).replace(" 0 ", " "))
    lines = run_text(rows(HASHED_RUN), "t").splitlines(keepends=True)
    (tmp_path / "run").write_text("".join([*lines[:2], COMMENTS, *lines[2:]]))
    (tmp_path / "more").write_text(run_text(rows(HASHED_RUN), "t more"))
    metrics = ["ap", "ndcg", "num_ret"]
    expected = trec.evaluate(HASHED, {"t": HASHED_RUN}, metrics)
    for judged in ("qrels", "three"):
        for run in ("run", "more"):
            files = tmp_path / judged, tmp_path / run
            report = trec.evaluate(*files, metrics)
            pd.testing.assert_frame_equal(report.per_query, expected.per_query, check_exact=True)
            assert report.counts == expected.counts
    assert trec.read_qrels(tmp_path / "qrels").to_dict() == HASHED


@pytest.mark.parametrize("number", ["\uff12", "1\u0662", "1_0", "\u20031"])
def test_numbers_are_ascii_in_all_formats(tmp_path, number):
    (tmp_path / "q.csv").write_text(f"qid,docid,label\n1,a,1\n1,b,{number}\n")
    records = ({"qid": 1, "docid": document, "label": number} for document in "ab")
    (tmp_path / "q.jsonl").write_text("\n" + "\n".join(map(json.dumps, records)))
    for name, line in {"q.csv": 3, "q.jsonl": 2}.items():
        with pytest.raises(ValueError, match=rf"{name}, line {line}: label"):
            trec.read_qrels(tmp_path / name)
    for build in (trec.Qrels.from_arrays, trec.Run.from_arrays):
        for column in ([1, number], np.array(["1", number]), np.array([1, number], object)):
            with pytest.raises(ValueError, match="row 1 "):
                build(["1", "1"], ["a", "b"], column)


@pytest.mark.parametrize("build", [trec.Qrels.from_arrays, trec.Run.from_arrays])
@pytest.mark.parametrize("short", [0, 1, 2])
def test_columns_of_different_lengths(build, short):
    columns = [["a", "b", "c"], ["x", "y", "z"], [1, 0, 2]]
    columns[short].pop()
    with pytest.raises(ValueError, match=r"has . entries for . rows"):
        build(*columns)


# scores are the doubles that `float` reads, bit for bit

DIGITS = st.text("0123456789", max_size=24)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def spelled(draw):
    """A decimal in any of the forms that `float` reads."""
    whole, part = draw(DIGITS), draw(st.none() | DIGITS)
    if not whole + (part or ""):
        whole = "0"
    zeros = "0" * draw(st.sampled_from((0, 0, 3, 30)))
    point = "" if part is None else f".{draw(st.sampled_from(('', zeros)))}{part}"
    exponent = draw(st.none() | st.integers(-400, 400) | st.integers(-25, 25))
    letter, plus = draw(st.sampled_from("eE")), draw(st.sampled_from(("", "+")))
    power = "" if exponent is None else f"{letter}{plus * (exponent >= 0)}{exponent}"
    return draw(st.sampled_from(("", "-", "+"))) + zeros + whole + point + power


@st.composite
def near_the_middle(draw):
    """A decimal at, or next to, the middle of two doubles."""
    low = draw(st.floats(1e-250, 1e250))
    with localcontext() as context:
        context.prec = 60
        middle = (Decimal(low) + Decimal(math.nextafter(low, math.inf))) / 2
    return f"{middle:.{draw(st.integers(15, 24))}e}"


WORDS = spelled() | near_the_middle() | DOUBLES.map(repr) | DOUBLES.map("{:.17g}".format)


def assert_same_bits(words):
    finite = [word for word in words if math.isfinite(float(word))]
    if not finite:
        return
    lines = (f"q Q0 {place} 0 {word} t\n" for place, word in enumerate(finite))
    run = trec.read_run(io.BytesIO("".join(lines).encode()))
    scores = np.empty(len(finite))
    scores[np.array(run.documents.to_list(), int)] = run.scores
    expected = np.array([float(word) for word in finite])
    assert scores.view(np.int64).tolist() == expected.view(np.int64).tolist()


@settings(deadline=None, max_examples=100)
@given(words=st.lists(WORDS, min_size=1, max_size=40))
@example(words=["9.1e-05", "-0e-5", "-0.0", "0e999", "5.", ".5E+3", "00000000000000000000001.5"])
@example(words=["9007199254740993", "9007199254740993e-3", "4503599627370497.5", "1e23", "8.5e22"])
@example(words=["1e280", "1e281", "1e-280", "1e-281", "5e-324", "2.2250738585072014e-308"])
def test_random_decimals(words):
    assert_same_bits(words)


def test_many_doubles():
    rng = np.random.default_rng(0)
    doubles = np.frombuffer(rng.bytes(8 * 2000)).tolist()
    usual = (rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)).tolist()
    words = [repr(one) for one in doubles if one == one] + list(map(repr, usual))
    words += [f"{one:.20f}" for one in rng.random(500)] + [f"{one:.12e}" for one in usual[:500]]
    assert_same_bits(words)


@pytest.mark.parametrize("word", ["1e", "e5", ".e1", "1e+", "1e5.0", "1ee5", "1e5e", "1e 5", "+-1",
                                  "1e_5", "0x1p3", "1e99999", "-", "."])  # fmt: skip
def test_what_is_not_a_finite_decimal_is_refused(word):
    with pytest.raises(ValueError, match="line 1"):
        trec.read_run(io.StringIO(f"q Q0 a 0 {word} t\n"))


# odd files end in values, or in errors that name the file and the line --------------------------

PLAIN = {"1": {"a": 3.0, "b": 2.0}, "2": {"a": 1.0}}
LINES = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 1 1 t\n"
ODD = {
    "bom": b"\xef\xbb\xbf" + LINES.encode(),
    "crlf": LINES.replace("\n", "\r\n").encode(),
    "cr": LINES.replace("\n", "\r").encode(),
    "cr cr lf": LINES.replace("\n", "\r\r\n").encode(),
    "no final newline": LINES[:-1].encode(),
    "tabs": LINES.replace(" ", "\t").encode(),
    "tabs and spaces": LINES.replace(" Q0 ", "\tQ0  ").encode(),
    "spaces around": LINES.replace("\n", " \n  ").encode(),
    "blank lines": b"\n\n" + LINES.replace("\n", "\n\n \n").encode(),
    "comments": b"# a comment\n#\n" + LINES.replace("2 Q0", "# 1 2\n2 Q0").encode(),
    "further columns": LINES.replace("t\n", "t and more\n").encode(),
    "further columns once": (LINES[:-1] + " and more\n").encode(),
    "one double space": LINES.replace("1 Q0 b", "1  Q0 b").encode(),
    "description": b"<SYSDESC>BM25,\n as usual</SYSDESC>\n" + LINES.encode(),
    "gz": gzip.compress(LINES.encode()),
    "two gz": gzip.compress(LINES[:13].encode()) + gzip.compress(LINES[13:].encode()),
    "json": json.dumps(PLAIN).encode(),
    "json lines": b'{"qid": 1, "docid": "a", "score": 3}\n\n{"qid": 1, "docid": "b", "score": 2}\n'
    b'{"qid": 2, "docid": "a", "score": 1}',
    "csv": b"qid,docid,score\n1,a,3\n1,b,2\n\n2,a,1\n",
    "csv without names": b"1,a,3\n1,b,2\n2,a,1\n",
    "semicolons": b"qid;docid;score\r\n1;a;3\r\n1;b;2\r\n2;a;1",
    "tsv": b'"query-id"\t"corpus-id"\tscore\n1\ta\t3\n1\tb\t2\n2\ta\t1\n',
}


@pytest.mark.parametrize("suffix", ["", ".gz", ".json", ".jsonl", ".csv", ".tsv.gz", ".parquet"])
def test_the_content_decides_not_the_name(tmp_path, suffix):
    for name, data in ODD.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(data)
        assert trec.read_run(path).to_dict() == PLAIN, name


BROKEN = {
    "cut gz": (gzip.compress(LINES.encode() * 9)[:-9], "run cannot be decompressed"),
    "lz4": (b"\x04\x22\x4d\x18" + bytes(9), "LZ4.*lz4 -d"),
    "zip": (b"PK\x03\x04" + bytes(9), "ZIP"),
    "spaces": (b" \n \n", "run is empty"),
    "control": (LINES.encode() + b"\x1a\n", "run, line 4: 1 columns"),
    "cut line": (LINES[:-5].encode(), "run, line 3: 4 columns"),
    "cut json": (json.dumps(PLAIN)[:-3].encode(), "run, line 1"),
    "cut json lines": (ODD["json lines"][:-3], "run, line 4"),
    "no record": (b'{"qid": 1, "docid": "a", "score": 3}\n{"qid": 1}\n', "run.* line 2: no record"),
    "short csv": (b"qid,docid,score\n1,a,3\n1,b\n", "run, line 3"),
    "long csv": (b"qid,docid,score\n1,a,3\n1,b,2,1\n", "run, line 3"),
    "csv with a word": (b"qid,docid,score\n\n1,a,3\n1,b,high\n", "run, line 4: score 'high'"),
    "csv without names": (b"1,a,3\n1,b,x\n", "run, line 2: score 'x'"),
    "csv without an id": (b"qid,docid,score\n1,a,3\n1,,2\n", "run, line 3: the id"),
    "infinite csv": (b"qid,docid,score\n1,a,1e400\n", "run, line 2: score of document 'a'"),
    "repeated csv": (
        b'qid,docid,score\n1,"a",3\n1,a,2\n',
        "run, line 3: document 'a' occurs twice",
    ),
    "repeated json lines": (b'{"qid": 1, "docid": "a", "score": 3}\n' * 2, "run, line 2"),
    "repeated key": (b'{"1": {"a": 1, "a": 2}}', "run.*key 'a' occurs 2 times"),
    "unknown names": (b"x,y,z\n1,a,3\n", "run: no column has the queries"),
    "two columns of one name": (
        b"qid,docid,score,Score\n1,a,3,2\n",
        "2 columns are called 'score'",
    ),
    "only names": (b"qid,docid,score\n", "run holds no document"),
    "open quote": (b'qid,docid,score\n1,"a,3\n1,b,2\n', "run, line "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_their_line(tmp_path, name):
    data, message = BROKEN[name]
    assert_refused(tmp_path / "run", data, message)


@pytest.mark.parametrize(
    "document", ['d"1', "d'1", "a,b", "#1", "a;b", "{a}", "\u00e9\U0001f600", "L1"]
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


# runs by rank -----------------------------------------------------------------------------------

RANKED = [("1", "a", 1), ("2", "x", 1), ("1", "b", 2), ("1", "c", 3)]
BY_RANK = {
    "lines": "".join(f"{q}\t{d}\t{rank}\n" for q, d, rank in RANKED),
    "spaces": "".join(f"{q} {d} {rank}\n" for q, d, rank in RANKED),
    "csv": "qid,docid,rank\n" + "".join(f"{q},{d},{rank}\n" for q, d, rank in RANKED),
    "csv without names": "".join(f"{q},{d},{rank}\n" for q, d, rank in RANKED),
    "msmarco": "qid\tpid\trank\n" + "".join(f"{q}\t{d}\t{rank}\n" for q, d, rank in RANKED),
    "json": json.dumps(RANKED),
    "jsonl": "".join(json.dumps({"qid": q, "docid": d, "rank": r}) + "\n" for q, d, r in RANKED),
}


@pytest.mark.parametrize("form", BY_RANK)
def test_runs_by_rank_are_read_in_their_order(tmp_path, form):
    (tmp_path / "run").write_text(BY_RANK[form])
    run = trec.read_run(tmp_path / "run")
    assert run.to_dict() == {"1": {"a": -1, "b": -2, "c": -3}, "2": {"x": -1}}


def test_three_columns_are_scores_unless_all_count_from_one():
    for changed in (0, 2, 4):
        entries = [*RANKED[:3], ("1", "c", changed)]
        text = "".join(f"{q} {d} {score}\n" for q, d, score in entries)
        assert run_of(text).to_dict()["1"] == {"a": 1, "b": 2, "c": changed}
        assert trec.evaluate({"1": {"a": 1}}, entries, "rr", missing="skip").mean.iloc[0, 0] < 1
    assert run_of("1 a 1\n2 b 1\n").to_dict() == {"1": {"a": 1}, "2": {"b": 1}}
    assert trec.Run.from_arrays(["1", "1"], ["a", "b"], [1, 2]).to_dict() == {"1": {"b": 2, "a": 1}}
