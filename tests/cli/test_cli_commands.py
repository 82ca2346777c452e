"""Other commands than evaluate, names of other tools, and output to files."""

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest

from skrank import LinearRanker, trec


def csv(call, *arguments):
    status, out, _ = call(*arguments, "--format", "csv")
    assert status == 0
    return pd.read_csv(io.StringIO(out))


def test_fuse_writes_a_run_and_prints_what_was_not_fitted(call, files):
    status, out, _ = call("fuse", *files, "-m", "ap", "--folds", "3", "-o", "fused.run")
    assert status == 0
    ranker = LinearRanker("ap", positive=True)
    fused = trec.fuse(files[1:], "weighted_sum", weights=ranker, qrels="qrels", n_splits=3)
    assert trec.read_run("fused.run").to_dict() == fused.to_dict()
    rows = [line.split() for line in out.splitlines()]
    report = trec.evaluate("qrels", {"fused": fused}, "ap")
    assert float(rows[3][1]) == pytest.approx(report.mean.iloc[0, 0], abs=1e-4)
    assert float(rows[1][2]) == pytest.approx(fused.weights["bm25"], abs=1e-4)


def test_fuse_without_judgments_prints_a_run(call, files):
    status, out, _ = call("fuse", "--method", "weighted_sum", "--weights", "1,2", *files[1:])
    assert status == 0
    fused = trec.fuse(files[1:], "weighted_sum", weights=[1, 2])
    assert trec.read_run(io.StringIO(out)).to_dict() == fused.to_dict()
    out = call("fuse", "--method", "rrf", *files[1:], "-M", "1", "--norm", "none")[1]
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    "how", [{"test": "t", "baseline": "dense", "confidence": 0.8}, {"test": "randomisation"}]
)
def test_compare(call, files, how):
    options = [part for name, value in how.items() for part in (f"--{name}", value)]
    found = csv(call, "compare", *files, "-m", "ap", *options)
    expected = trec.evaluate("qrels", files[1:], "ap").compare(**how)
    pd.testing.assert_frame_equal(found, expected.to_frame(), check_dtype=False)
    _, text, _ = call("compare", *files, "-m", "ap", *options, "--format", "latex")
    assert text == expected.to_latex() + "\n"


def test_names_of_runs(call, files):
    tag = trec.read_run("dense").name  # not the path, also beside NAME=FILE
    report = trec.evaluate("qrels", {"a b": "bm25", tag: "dense"}, "ap")
    Path("a=b").write_text(Path("bm25").read_text())  # a file of this name is not NAME=FILE
    assert csv(call, "evaluate", "qrels", "a=b").run.tolist() == ["bm25"]
    for form, method in (("markdown", "to_markdown"), ("latex", "to_latex")):
        given = ["qrels", "a b=bm25", "dense", "-m", "ap", "--format", form]
        for intervals in (False, True):
            _, text, _ = call("evaluate", *given, *["--intervals"] * intervals)
            assert text == getattr(report, method)(intervals=intervals) + "\n"


def test_columns_and_duplicates(call, files):
    Path("ratings.csv").write_text("user, item, rating\n1, a, 5\n1, b, 2\n2, a, 4\n")
    Path("knn.csv").write_text("user,item,l2\n1,b,.3\n1,a,.2\n1,b,.1\n2,a,.1\n")
    columns = "qid=user,docid=item,label=rating,distance=l2"
    given = ["evaluate", "ratings.csv", "knn.csv", "-m", "rr", "--rel", "4", "--columns", columns]
    assert csv(call, *given, "--duplicates", "first").rr.tolist() == [1]
    assert csv(call, *given, "--duplicates", "max").rr.tolist() == [0.75]
    assert call(*given)[0] == 1
    assert call("fuse", "--method", "rrf", "dense", "bm25", "-o", "-")[1].startswith("1 Q0 ")


@pytest.mark.parametrize("command", ["evaluate qrels a=bm25 top", "fuse qrels bm25 top --folds 3"])
def test_columns_may_apply_to_some_files_only(call, files, command):
    Path("top").write_text("user,item,place\n1,b,1\n2,a,1\n2,x,2\n3,a,1\n3,x,2\n")
    status, out, err = call(*command.split(), "--columns", "qid=user,docid=item,rank=place")
    assert (status, "error" in err, bool(out)) == (0, False, True)
    status, _, err = call(*command.replace("top", "dense").split(), "--columns", "qid=user")
    assert (status, "--columns='qid=user'" in err) == (1, True)


def test_control_characters_do_not_reach_a_terminal(call, files, monkeypatch):
    Path("bm25").write_text(Path("bm25").read_text().replace("bm25", "\x1b[2J"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for form in ("table", "csv", "trec_eval"):
        assert "\x1b" not in call("evaluate", *files, "-m", "ap", "--format", form)[1]


def test_names_of_another_tool(call, files):
    given = ["-m", "nDCG@10", "-m", "NERR8(max_rel=2)@5,P@1"]
    found = csv(call, "evaluate", *files, "--names", "ir_measures", *given)
    given = ["nDCG@10", "NERR8(max_rel=2)@5", "P@1"]
    names = [f"ir_measures:{name}" for name in given]
    expected = trec.evaluate("qrels", files[1:], names).mean
    assert found.iloc[:, 1:4].to_numpy().tolist() == expected.to_numpy().tolist()
    assert list(found)[1:4] == given


def test_output_stands_whole_or_not_at_all(call, files):
    assert call("evaluate", *files, "-m", "ap", "--output", "report.txt") == (0, "", "")
    before = Path("report.txt").read_text()
    Path("folder").mkdir()
    for output, message in (
        ("no/report.txt", "no/report.txt: No such file or directory\n"),
        ("folder", "folder: Is a directory\n"),
    ):
        assert call("evaluate", *files, "-m", "ap", "-o", output)[2] == f"skrank: error: {message}"
    assert call("evaluate", "gone", *files[1:], "-o", "report.txt")[0] == 1
    assert Path("report.txt").read_text() == before
    assert {path.name for path in Path().iterdir()} == {*files, "folder", "report.txt"}


def test_an_interrupt_ends_without_a_word(files):
    os.mkfifo("slow")
    command = [sys.executable, "-m", "skrank", "evaluate", "slow", "bm25"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with opened_by_a_reader("slow", process):
            process.send_signal(signal.SIGINT)
            assert process.communicate() == (b"", b"")
        assert process.returncode == -signal.SIGINT


def opened_by_a_reader(pipe, process):
    """The pipe, as soon as the process reads it; fails if the process ends before."""
    while process.poll() is None:
        with suppress(OSError):  # there is no reader yet
            return open(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
        time.sleep(0.01)
    pytest.fail(process.stderr.read().decode())
