"""Contents of TREC files: random, wrong with their errors, odd ones that are read, packed ones."""

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


def assert_refused(path, content, message, chunksizes=(None, 1, 100)):
    """A run with this content raises an error when it is read whole, or in pieces."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for chunksize in chunksizes:
        with pytest.raises(ValueError, match=message):
            trec.evaluate({"1": {"a": 1}, "2": {"a": 1}}, path, "ap", chunksize=chunksize)


QRELS_ERRORS = {
    "1 0 a 1\n1 0 b\n": r"file, line 2: 3 columns instead of 4 in '1 0 b'",
    "1 0 a 1\n\n1 0 b 1 9\n": r"file, line 3: 5 columns instead of 4 in '1 0 b 1 9'",
    "1 0 a 1 1 0 b\n1\n": r"file, line 1: 7 columns instead of 4",
    "1 0 a\n1 1 0 b 1": r"file, line 1: 3 columns instead of 4",
    "1 0 a 1\n1 0\nb 1": r"file, line 2: 2 columns instead of 4",
    "1 0 a 1\n1 0 b x1\n": r"file, line 2: label 'x1' is not a finite number",
    "1 0 a 1\n1 0 b 1_0\n": r"file, line 2: label '1_0' is not a finite number",
    "1 0 a 1\n1 0 b nan\n": r"file, line 2: label 'nan' is not a finite number",
    "1 0 a 1\n2 0 a 1\n\n1 0 a 0\n": r"file, line 4: document 'a' occurs twice in query '1', "
    r"first in line 1",
    "": r"file is empty: a line of qrels is <query> <iteration> <document> <label>",
    " \n\n": r"file is empty",
    "# nothing\n": r"file is empty",
    "\x00\xff": r"file, line 1: 1 columns instead of 4",
    "1 0 a 1\n1 0 b\x00c 1\n": r"file, line 2: control character '\\x00' in '1 0 b\\x00c 1'",
    "# a\n1 0 a\x1f 1\n": r"file, line 2: control character '\\x1f'",
    "1 0 a \uff11\n": r"file, line 1: label '\uff11' is not a finite number",
    "1 0 a \u0663\n": r"file, line 1: label '\u0663' is not a finite number",
    "1 0 c 1\n1 0 a\u00a0b\n": r"file, line 2: 3 columns instead of 4",
    "1 0 a 1\n1 0 b 1e308\n": r"file, line 2: label '1e308' is above 1e\+100",
    "#1 0 a nan\n": r"file, line 1: label 'nan' is not a finite number",
    "1 Q0 a 1 2.5 t\n": r"6 columns instead of 4 in .* looks like a line of run: qrels come first",
}
RUN_ERRORS = {
    "1 Q0 a 1 2.5\n": r"file, line 1: 5 columns instead of 6 .*: a line of run is <query> <Q0> ",
    "# a\n1 Q0 a 1 2.5 my run\n1 Q0 a 1\n": r"file, line 3: 4 columns instead of 6",
    "1 Q0 a 1 2 t\n1 Q0 b 1 -- t\n": r"file, line 2: score '--' is not a finite number",
    "1 Q0 a 1 2 t\n1 Q0 b 1 1.2.3 t\n": r"file, line 2: score '1.2.3' is not a finite number",
    "1 Q0 a 1 2 t\n1 Q0 b 1 . t\n": r"file, line 2: score '.' is not a finite number",
    "1 Q0 a 1 2 t\n1 Q0 b 1 NaN t\n": r"file, line 2: score 'NaN' is not a finite number",
    "1 Q0 a 1 inf t\n": r"file, line 1: score 'inf' is not a finite number",
    "1 Q0 a 1 \uff12 t\n": r"file, line 1: score '\uff12' is not a finite number",
    "1 Q0 a 1 1\u0662 t\n": r"file, line 1: score '1\u0662' is not a finite number",
    "1 Q0 a 1 2 t\n1 Q0 a\x01b 1 2 t\n": r"file, line 2: control character '\\x01'",
    "1 Q0 a\x01b 1 2 t more\n": r"file, line 1: control character '\\x01'",
    "#1 Q0 a 1 2 t\n#1 Q0 b 1 2 t\n#1 Q0 a 1 2 t\n": r"file, line 3: document 'a' occurs twice in "
    r"query '#1', first in line 1",
    "1 0 a 1\n": r"4 columns instead of 6 in .* looks like a line of qrels: qrels come first",
    "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n1 Q0 a 3 0 t\n": r"file, line 3: document 'a' occurs twice in "
    r"query '1', first in line 1",
}

NUMBERS = [
    "-0", "+.5", "5.", "1e-3", "-1E5", "1e400", "0.1", "-.", "+-1", "--1", "0x1", "1,5", "1_0", "",
    "12345678901234567890", "999999999999999999", "9999999999999999999", "9" * 400, "1e", "0" * 30,
    "9007199254740993", "4503599627370496.5", "4503599627370497.5", "0." + "0" * 30 + "1", "inf",
    "123456789.123456789", "1234567890.123456789", "-nan", "\u0663",
]  # fmt: skip
NAMES = ["x" * length for length in (*range(1, 18), 300)] + ["a" * 8 + "b", "a" * 8 + "c", "\u00e9"]
ENDS = ["", "\n", "\r\n", "\r", "\n\n  \n", "\n\x1a", "\0", "\f\n"]


def _run(qrels):
    """The same documents as lines of a run, with the labels for scores."""
    columns = (line.split(b" ") for line in qrels.splitlines())
    return b"".join(b"%b Q0 %b 0 %b t\n" % (row[0], *row[2:]) for row in columns)


def _noise(n_files=150):
    """Bytes that mean something to who reads lines, in any order."""
    rng = np.random.default_rng(0)
    bits = np.array([b"1", b"2", b"a", b"b", b"-", b".", b"e", b"# ", b"\t", b"\r", b"\xff", b"Q0"])
    bits = np.concatenate([bits, [b" "] * 12, [b"\n"] * 3])
    return [b"".join(rng.choice(bits, rng.integers(1, 60)).tolist()) for _ in range(n_files)]


def contents():
    """Bytes of files, to be read as judgments and as a run."""
    plain = qrels_text((1 + i // 9, name, i % 3) for i, name in enumerate(NAMES)).encode()
    ties = qrels_text(
        (q, name, i // 8) for q in (1, 2) for i, name in enumerate(NAMES[::-1])
    ).encode()
    torn = qrels_text((query, name, 1) for name in NAMES for query in (2, 1)).encode()
    latin = b"\xe9 0 a 1\n\xe8 0 a 0\n\xe9 0 b\xff 0\n\xe9 0 b\xfe 2\n"
    numbers = [qrels_text([(1, "a", 1), (1, "b", number)]).encode() for number in NUMBERS]
    found = [text.encode() for text in (*QRELS_ERRORS, *RUN_ERRORS)]
    found += [one for good in (plain, ties, torn, latin, *numbers) for one in (good, _run(good))]
    found += [b"  1\t0 a  2" + end.encode() + b"2 0 b 1" + end.encode() for end in ENDS]
    found += [
        b"\xef\xbb\xbf" + plain,
        b"# a word\n" + plain,
        _run(plain).replace(b"t\n", b"t and u\n"),
    ]
    hashed = plain.replace(b"1 0 x", b"#1 0 x")  # a query whose id begins as comments do
    found += [above + good for above in (b"", b"# of 4\n#\n") for good in (hashed, _run(hashed))]
    found += [f"1 0 a {digit}\n1 Q0 b 1 {digit} t\n".encode() for digit in "1\uff11\u0663"]
    found += ["1 0 a 1\n".encode("utf-16"), plain.replace(b"xx", b"x\0", 1)]
    found += [plain[:-1], plain[:-4], plain.replace(b" 0 ", b"\n0 ", 1), plain + b"1 0\nx 1"]
    packed = [pack(_run(ties)) for pack in (gzip.compress, bz2.compress, lzma.compress)]
    return found + packed + [packed[0][:-9]] + _noise()


def zstandard(data):
    pyarrow = pytest.importorskip("pyarrow")
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstandard}
