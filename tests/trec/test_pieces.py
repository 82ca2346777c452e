"""Runs that are read in pieces: the values have the same bits as those of the whole."""

import cProfile
import gzip
import io
import pstats
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from skrank import trec
from tests.helpers.trec_cases import assert_refused, collection, rows, run_text

METRICS = [
    "ap", "ndcg(gain=linear)@10", "bpref", "rpref", "infap", "err@20", "gap", "num_ret", "judged@5",
    "set_ap", "0.7*gap+0.3*rbp", "ap(average=geometric)", "precision(average=micro)@5", "iap",
    "+".join(f"ndcg@{k}" for k in range(1, 10)),
]  # fmt: skip
QRELS, RUNS = collection(n_queries=40)
ROWS = rows(RUNS["run0"])


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run"
    path.write_text(run_text(ROWS))
    return path


def evaluate(run, **how):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "run .* has no documents for")
        return trec.evaluate(QRELS, run, METRICS, **how)


def assert_same(found, expected):
    for name in ("per_query", "mean"):
        one, other = getattr(found, name), getattr(expected, name)
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert (found.empty, found.counts) == (expected.empty, expected.counts)


@pytest.mark.parametrize(
    "how",
    [
        *({"chunksize": n_queries} for n_queries in (1, 10, 100, 10**6)),
        {"missing": "skip"},
        {"depth": 3},
        {"judged_only": True, "pool_judged": True},
        {"rel": 2, "empty": 0},
        {"precision": "double", "max_grade": 4},
    ],
    ids=str,
)
def test_all_options(run, how):
    whole = {name: value for name, value in how.items() if name != "chunksize"}
    assert_same(evaluate(run, **{"chunksize": 50} | how), evaluate(run, **whole))


def test_several_runs_of_files_and_memory(run, tmp_path):
    other = tmp_path / "other"
    other.write_text(run_text([(q, d, -score) for q, d, score in ROWS], "reverse"))
    frame = pd.DataFrame(ROWS, columns=["qid", "docid", "score"])
    runs = {"a": run, "b": other, "c": frame, "d": trec.read_run(run)}
    assert_same(evaluate(runs, chunksize=50), evaluate(runs))
    assert_same(evaluate([run, other], chunksize=50), evaluate([run, other]))


def test_texts_whose_characters_are_several_bytes():
    entries = [("00", "é" * 50_000 + str(i), -i / 7) for i in range(3)]
    found = evaluate(io.StringIO(run_text(entries)), chunksize=50)
    assert_same(found, evaluate({"00": {d: score for _, d, score in entries}}))


@pytest.mark.parametrize(
    "text",
    [
        run_text(ROWS, end="\r\n"),
        run_text(ROWS).rstrip("\n"),
        "\ufeff# a comment\n\n" + run_text(ROWS, end="\n# another\n\n") + "\n\n",
        run_text(ROWS, end=" more columns\n"),
    ],
    ids=["ends of Windows", "no end", "comments", "more columns"],
)
def test_odd_lines(run, tmp_path, text):
    path = tmp_path / "odd"
    path.write_bytes(text.encode())
    for chunksize in (1, 60):
        assert_same(evaluate(path, chunksize=chunksize), evaluate(run))


@pytest.mark.parametrize("behind", [[], [("3", "a", 1.0)]], ids=["last", "inside of a piece"])
def test_rows_of_a_query_must_be_neighbours(tmp_path, behind):
    entries = [("1", "a", 3.0), ("1", "b", 2.0), ("2", "a", 1.0), ("2", "b", 0.5), ("1", "c", 1.0)]
    entries += behind
    named = pd.DataFrame(entries, columns=["qid", "docid", "score"])
    (tmp_path / "run").write_text("# torn\n" + run_text(entries))
    named.to_csv(tmp_path / "run.csv", index=False)
    named.to_json(tmp_path / "run.jsonl", orient="records", lines=True)
    places = {"run": "line 6", "run.csv": "row 4", "run.jsonl": "row 4"}
    pytest.importorskip("pyarrow")
    named.to_parquet(tmp_path / "run.parquet")
    places["run.parquet"] = "row 4"
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    for judged in (qrels, {"2": {"b": 1}}):  # also of queries that are not judged
        for name, place in places.items():
            for chunksize in (1, 2, 100):
                message = rf"{name}, {place}: query '1' occurs again.*sort the file by query"
                with pytest.raises(ValueError, match=message):
                    trec.evaluate(judged, tmp_path / name, "ap", chunksize=chunksize)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run", "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n2 Q0 b 2 x t\n", "run, line 3: score 'x' is not a"),
        ("run", "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n2 Q0 b 2\n", "run, line 3: 4 columns instead of 6"),
        ("run", "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n2 Q0 a 2 1 t\n", "run, line 3: document 'a' occurs"),
        ("run.json", '{"1": {"a": 1}}', "JSON is one object.*write JSON Lines"),
        ("run.csv", "qid,docid,score,run\n1,a,1,t\n", "has names of runs"),
        ("run.jsonl", '{"qid": "1", "docid": "a", "score": 1}\n{}\n', "line 2: no record with"),
        # rows are counted from the first of the file
        ("run.csv", "qid,docid,score\na,x,1\na,y,1\nb,x,1\nb,y,x\n",
         "score must be numbers, and that of row 3 is 'x'"),
        ("run.jsonl",
         '{"qid": 1, "docid": 1, "score": 1}\n{"qid": 2, "docid": 1.5, "score": 1}\n',
         "id of the document of row 1 of the run is 1.5"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path, name, text, message):
    assert_refused(tmp_path / name, text, message, chunksizes=(1, 100))


def line(query, document, score):
    return f"{query} Q0 d{document} 1 {score} t\n"


BLANK = "\n \n# nothing\n"
LONG = {
    "one query": lambda n: "".join(line(1, i, i) for i in range(n)),
    "blank lines and comments around": lambda n: (
        BLANK * n + "".join(line(1, i, i) for i in range(n)) + BLANK * n
    ),
    "blank lines and comments inside": lambda n: (
        line(1, 0, 2) + BLANK * n + line(1, 7, 1) + BLANK * n + line(2, 0, 1)
    ),
}


@pytest.mark.parametrize("chunksize", [1, 7, 10**9])
@pytest.mark.parametrize("kind", LONG)
def test_each_line_is_looked_at_once(tmp_path, kind, chunksize):
    qrels = {"1": {"d0": 1, "d7": 2}, "2": {"d0": 1}}
    calls = []  # unlike time, their number is the same on all machines
    for n in (1000, 2000):
        (tmp_path / "run").write_text(LONG[kind](n))
        call = partial(trec.evaluate, qrels, tmp_path / "run", METRICS, missing="skip")
        assert_same(call(chunksize=chunksize), call())
        profile = cProfile.Profile()
        profile.runcall(call, chunksize=chunksize)
        calls.append(pstats.Stats(profile).total_calls)
    assert calls[1] < 2.5 * calls[0]  # 4 times as many if each block looked at all lines again


def test_lines_without_rows_take_no_memory(tmp_path):
    """A small packed file may hold any number of such lines."""
    row = "{} Q0 {} 1 1 t\n".format
    flood = "\n" * 1_000_000
    text = flood + row(1, "a") + flood + row(1, "b") + row(2, "a") + flood + row(2, "b")
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(text.encode()))
    tracemalloc.start()
    report = trec.evaluate({"1": {"b": 1}}, path, "num_ret", chunksize=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.mean.iloc[0, 0] == 2
    assert peak < 2**23
    torn = gzip.compress((text + row(2, "a")).encode())
    message = "line 3000005: document 'a' occurs twice in query '2', first in line 2000003"
    assert_refused(path, torn, message, chunksizes=(None, 1000))
    empty = gzip.compress(flood.encode())
    tracemalloc.start()
    assert_refused(path, empty, "is empty", chunksizes=(None, 1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(flood)


def test_what_a_run_lacks(run):
    with pytest.warns(UserWarning, match=r"run 'run' has no documents for \d+ queries"):
        trec.evaluate(QRELS, run, "ap", chunksize=50)
    with pytest.raises(ValueError, match=r"lacks|has no documents.*choose missing"):
        trec.evaluate(QRELS, run, "ap", chunksize=50, missing="raise")


def test_a_bar_on_standard_error(run, capsys):
    pytest.importorskip("tqdm")
    evaluate(run, chunksize=50)
    assert capsys.readouterr().err == ""  # not a terminal
    for how, unit in (({"chunksize": 50}, "rows"), ({}, "runs")):
        evaluate([run], progress=True, **how)
        shown = capsys.readouterr()
        assert unit in shown.err
        assert shown.out == ""
