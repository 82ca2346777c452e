"""TREC files: rows, decimals, and errors with the number of the line."""

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
from skrank._kernels import jit
from skrank._kernels import trec as kernels
from skrank.trec._table import decimal, padded
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


def test_most_numbers_take_the_short_way():
    words = [repr(x) for x in np.random.default_rng(0).uniform(0, 30, 1000).tolist()]
    text = padded("\n".join(words).encode())
    stop = np.cumsum([len(word) + 1 for word in words]) - 1
    start = stop - [len(word) for word in words]
    found = np.empty(len(words))
    kernels.numbers(text, np.stack([start, stop], axis=1)[:, None], 0, found)
    assert np.isnan(found).mean() < 0.01


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


def test_ids_that_are_not_utf_8_stay_apart():
    """Different from each other, and from ids in UTF-8 that spell their bytes or their escapes."""
    spelt = rb"\xe9 0 a 0" + b"\n" + rb"\xe9 0 b\xfe 0" + b"\n" + rb"\udce9 0 a 0" + b"\n"
    text = b"\xe9 0 a 1\n\xe8 0 a 0\n\xe9 0 b\xff 0\n\xe9 0 b\xfe 2\n" + spelt
    qrels = trec.read_qrels(io.BytesIO(text))
    assert qrels.queries.ids.tolist() == ["\udce9", "\udce8", r"\xe9", r"\udce9"]
    assert qrels.documents.names() == ["a", "b\udcff", "b\udcfe", "a", "a", r"b\xfe", "a"]
    lines = [b"\xe8 Q0 a 1 1 t\n", b"\xe9 Q0 b\xfe 1 1 t\n", rb"\xe9 Q0 b\xfe 1 1 t" + b"\n"]
    run = trec.read_run(io.BytesIO(b"".join(lines)))
    for judged, ranked in ((qrels, run), (qrels.to_dict(), run.to_dict())):
        report = trec.evaluate(judged, ranked, "rr(empty=0)", missing="skip")
        values = report.per_query["rr(empty=0)"].dropna()
        assert values.index.droplevel("system").tolist() == ["\udce9", "\udce8", r"\xe9"]
        assert values.tolist() == [1.0, 0.0, 0.0]
        assert report.counts["missing"] == [1]
    frame = qrels.to_frame()
    assert frame["docid"].tolist() == qrels.documents.names()
    assert trec.read_run(io.BytesIO(b"1 Q0 a 1 1 t\xe9\n")).name == r"t\xe9"


HASHED = {"#1": {"a": 1, "b": 0}, "#": {"a": 0, "c": 2}, "2": {"a": 1, "b": 0}}
HASHED_RUN = {q: {d: 1.0 / (1 + i) for i, d in enumerate("bca")} for q in HASHED}
COMMENTS = "# a word\n#1 of 3\n#\n #1 Q0 a 1 high t\n#1 0 a high\n"


@pytest.mark.parametrize("chunksize", [None, 1, 100])
def test_queries_whose_ids_begin_as_comments_do(tmp_path, chunksize):
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
            report = trec.evaluate(*files, metrics, chunksize=chunksize)
            pd.testing.assert_frame_equal(report.per_query, expected.per_query, check_exact=True)
            assert report.counts == expected.counts
    assert trec.read_qrels(tmp_path / "qrels").to_dict() == HASHED


@pytest.mark.parametrize("number", ["\uff12", "1\u0662", "1_0", "\u20031"])
def test_numbers_of_files_are_ascii_in_all_formats(tmp_path, number):
    (tmp_path / "q.csv").write_text(f"qid,docid,label\n1,a,1\n1,b,{number}\n")
    (tmp_path / "q.jsonl").write_text(json.dumps({"qid": 1, "docid": 2, "label": number}))
    for name in ("q.csv", "q.jsonl"):
        with pytest.raises(ValueError, match=rf"{name}: label must be numbers, and that of row \d"):
            trec.read_qrels(tmp_path / name)
    for build in (trec.Qrels.from_arrays, trec.Run.from_arrays):
        for column in ([1, number], np.array(["1", number]), np.array([1, number], object)):
            with pytest.raises(ValueError, match=r"must be numbers, and that of row 1 is"):
                build(["1", "1"], ["a", "b"], column)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [("utf-16", "run is in UTF-16"), ("utf-16-le", r"control character '\\x00'")],
)
def test_utf_16_is_said(tmp_path, encoding, message):
    assert_refused(tmp_path / "run", ("1 Q0 a 1 2.5 t\n" * 3).encode(encoding), message)


@pytest.mark.parametrize("build", [trec.Qrels.from_arrays, trec.Run.from_arrays])
@pytest.mark.parametrize("short", [0, 1, 2])
def test_columns_of_different_lengths(build, short):
    columns = [["a", "b", "c"], ["x", "y", "z"], [1, 0, 2]]
    columns[short].pop()
    with pytest.raises(ValueError, match=r"has . entries for . rows"):
        build(*columns)


# scores are the doubles that `float` reads, bit for bit, in compiled and plain loops

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
    run = trec.read_run(io.BytesIO("".join(lines).encode()), precision="double")
    scores = np.empty(len(finite))
    scores[np.array(run.documents.names(), int)] = run.scores
    expected = np.array([float(word) for word in finite])
    assert scores.view(np.int64).tolist() == expected.view(np.int64).tolist()


@pytest.fixture(params=["compiled", "plain"], scope="module")
def form(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit.Kernel, "for_rows", lambda kernel, *_: getattr(kernel, request.param))
        yield


@settings(deadline=None, max_examples=300)
@given(words=st.lists(WORDS, min_size=1, max_size=40))
@example(words=["9.1e-05", "-0e-5", "-0.0", "0e999", "5.", ".5E+3", "00000000000000000000001.5"])
@example(words=["9007199254740993", "9007199254740993e-3", "4503599627370497.5", "1e23", "8.5e22"])
@example(words=["1e280", "1e281", "1e-280", "1e-281", "5e-324", "2.2250738585072014e-308"])
def test_random_decimals(form, words):
    assert_same_bits(words)


def test_many_doubles(form):
    rng = np.random.default_rng(0)
    doubles = np.frombuffer(rng.bytes(8 * 2000)).tolist()
    usual = (rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)).tolist()
    words = [repr(one) for one in doubles if one == one] + list(map(repr, usual))
    words += [f"{one:.20f}" for one in rng.random(500)] + [f"{one:.12e}" for one in usual[:500]]
    assert_same_bits(words)


@pytest.mark.parametrize("word", ["1e", "e5", ".e1", "1e+", "1e5.0", "1ee5", "1e5e", "1e 5", "+-1",
                                  "1e_5", "0x1p3", "1e99999", "-", "."])  # fmt: skip
def test_what_is_no_finite_decimal_is_refused(form, word):
    assert decimal(word) in (None, math.inf)
    with pytest.raises(ValueError, match="not a finite number"):
        trec.read_run(io.StringIO(f"q Q0 a 0 {word} t\n"))
