"""Mistakes in arguments and files: status, and options of the command in messages."""

import re
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def more_files(files):
    """Files beside those of all tests."""
    Path("halves").write_text(Path("qrels").read_text().replace("a 2", "a 1.5"))
    Path("odd").write_text(Path("bm25").read_text().replace("bm25", "recall"))
    Path("k=5.qrels").write_text("k=5 0 d 1\n")
    Path("k=6").write_text("k=6 Q0 d 1 2 t\n")
    Path("table").write_text("user,item,rating\n1,a,2\n")
    Path("twice").write_text("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n")
    Path("first").write_text(Path("bm25").read_text().splitlines()[0])


# arguments, and what the error with status 1 names: a file cannot be read or measured
FAILURES = [
    ("evaluate qrels a=none", "none: No such file or directory"),
    ("evaluate qrels halves", "halves, line 1: "),
    ("evaluate qrels first --missing raise", "--missing='zero' or 'skip'"),
    ("evaluate qrels a=bm25 a=dense", "same name"),
    ("evaluate halves bm25 -m gap", "gap"),
    ("evaluate qrels bm25 --k 0", "--k=0 "),
    ("compare qrels bm25 dense -m ap --confidence 2", "--confidence=2.0 "),
    ("compare qrels bm25 dense -m ap --baseline x", "baseline 'x'"),
    ("fuse qrels bm25 dense --folds 1", "--n-splits=1"),
    ("fuse none bm25 dense -M 0", "--k=0"),
    ("fuse --method rrf bm25", "two runs"),
    ("fuse bm25 dense odd", "none with --method rrf: bm25, line 1"),
    ("fuse --method weighted_sum bm25 dense --weights 1,x", "weights"),
    ("evaluate k=5.qrels k=6 -m ap", "'k=6', and that of the qrels is 'k=5'"),
    ("evaluate table bm25", "--columns='qid=user,docid=item,label=rating'"),
    ("evaluate qrels twice -m ap", "twice, line 2: "),
]
# arguments, and what the error with status 2 names: wrong usage
USAGE = [
    ("", "required: COMMAND"),
    ("evaluate qrels", "required: RUN"),
    ("evaluate qrels a=bm25 bm25", "bm25"),
    ("evaluate qrels - -", "standard input"),
    ("evaluate qrels bm25 -m ndgc", "argument -m/--metric: unknown metric 'ndgc'"),
    ("evaluate qrels bm25 --k 1.5", "argument -M/--k"),
    ("evaluate qrels bm25 --columns qid=x,doc=y", "argument --columns"),
    ("evaluate qrels bm25 --columns qid=x,docid", "must name the column of each field once"),
    ("evaluate qrels bm25 --columns qid=x,qid=y", "must name the column of each field once"),
    ("evaluate qrels bm25 --output=", "argument -o/--output"),
    ("fuse qrels bm25 dense -m trec_eval:official", "argument -m/--metric"),
    ("fuse --method rrf bm25 dense -m ap", "only --method linear"),
    ("evaluate qrels bm25 -q --format latex", "--format latex"),
    ("evaluate qrels bm25 -q --intervals", "--intervals"),
    ("evaluate qrels bm25 --confidence 0.9", "argument --confidence"),
    ("evaluate qrels bm25 --intervals --format latex --confidence 0.9", "argument --confidence"),
    ("evaluate qrels bm25 --names lightgbm", "unknown name of lightgbm 'gap'"),
    ("compare qrels bm25 dense --format trec_eval", "--format trec_eval"),
    *((f"{command} -o bm25", "-o/--output: bm25 is an input")
      for command in ("evaluate qrels bm25", "fuse qrels bm25 dense")),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), FAILURES)
def test_what_cannot_be_measured_exits_with_1(call, arguments, message):
    status, out, err = call(*arguments.split())
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith("skrank: error: ")
    assert message in err


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_wrong_usage_exits_with_2_in_two_lines(call, arguments, message):
    status, out, err = call(*arguments.split())
    assert (status, out) == (2, "")
    mistake, pointer = err.splitlines()
    assert re.match(r"skrank[a-z ]*: error: ", mistake)
    assert message in mistake
    command = re.match("[a-z]*", arguments)[0]
    assert pointer == " ".join(["usage: skrank", *command.split(), "--help"])


@pytest.mark.parametrize("link", [False, True])
def test_an_input_is_never_replaced(call, link):
    before = Path("bm25").read_text()
    Path("out").symlink_to("bm25") if link else Path("out").hardlink_to("bm25")
    assert call("evaluate", "qrels", "bm25", "-o", "out")[0] == 2
    assert Path("bm25").read_text() == before
