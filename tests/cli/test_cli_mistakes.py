"""Mistakes are told in the words of the command: options instead of parameters of Python."""

import re
from pathlib import Path

import pytest

# words for Python
PYTHON = re.compile(
    r"(?<![-(,\w])[a-z_]+=|\bdict\b|\bnumpy\b|\bskrank\.|DataFrame|\bpass\b|=True|range\("
)


@pytest.fixture(autouse=True)
def more_files(files):
    """Files beside those of all tests."""
    Path("halves").write_text(Path("qrels").read_text().replace("a 2", "a 1.5"))
    Path("odd").write_text(Path("bm25").read_text().replace("bm25", "recall"))
    Path("first").write_text(Path("bm25").read_text().splitlines()[0])
    Path("run.json").write_text('{"1": {"a": 9007199254740993}}')
    Path("text").write_text("hello")


# arguments, and the message of an error with status 1: a file cannot be read or measured
FAILURES = [
    ("evaluate none bm25", "none: No such file or directory"),
    ("evaluate qrels none --chunksize 2", "none: No such file or directory"),
    ("evaluate qrels qrels", "It looks like a line of qrels: qrels come first, then runs."),
    ("evaluate bm25 qrels", "It looks like a line of run: qrels come first, then runs."),
    ("evaluate qrels first --missing raise", "choose --missing zero or --missing skip"),
    ("evaluate qrels bm25 bm25", "2 runs are called 'bm25': name each file once."),
    ("evaluate qrels bm25 -m ap(rel=3) --empty raise", "choose --empty skip, --empty 0 or"),
    ("evaluate qrels bm25 -m gap(thresholds=[1.0])", "is above 1, the highest grade of gap(thr"),
    ("evaluate halves bm25 -m gap", "write labels=step in the brackets of the"),
    ("evaluate qrels run.json --chunksize 2", "or evaluate it without --chunksize"),
    ("evaluate qrels run.json", "subtract an offset, or write it with a decimal point"),
    ("evaluate qrels bm25 --depth 0", "--depth=0 must be at least 1"),
    ("evaluate qrels bm25 --chunksize 0", "--chunksize=0 must be at least 1"),
    ("evaluate qrels bm25 --rel nan", "--rel=nan must be a number"),
    ("evaluate qrels bm25 --max-grade 0", "--max-grade=0 must be at least 1"),
    ("evaluate qrels bm25 -m ap --sort map", "--sort map: the columns are run, ap, queries"),
    ("evaluate qrels bm25 dense --format trec_eval --compare", "leave --compare out"),
    ("fuse qrels bm25 dense", "--folds 5 needs at least 5 queries, and there are 3"),
    ("fuse qrels bm25 dense --folds 1", "--folds 1: there must be at least 2 folds"),
    ("fuse --method rrf bm25 bm25", "2 runs are called 'bm25': name each file once"),
    ("fuse --method rrf bm25 dense -k -1", "-k -1.0 must be a number in"),
    ("fuse --method rrf bm25 dense --name bm25", "--name 'bm25' is the name of"),
    ("fuse --method combsum bm25 dense --weights 1,2", "--method='weighted_sum' needs weights"),
    ("fuse --method weighted_sum bm25 dense --weights 1,x", "must be a sequence of numbers"),
    ("curve qrels odd", "a run is called 'recall'"),
    ("metrics ndgc", "did you mean 'ndcg'"),
    ("active start new.npz pool -m dcg", "such as --max-grade 4, or columns p_0 to p_4"),
    ("active start new.npz pool -m official --max-grade 2", "give the name to skrank evaluate"),
    ("active start new.npz pool -m dcg --max-grade 1001", "--max-grade=1001 is beyond 1000"),
    ("active start new.npz pool -m dcg --max-grade 2 --budget -1", "--budget=-1.0 must be"),
    ("active start new.npz pool -m dcg --max-grade 2 --random-state -3", "--random-state=-3 must"),
    ("active estimate none.npz", "none.npz: No such file"),
    ("active next text", "text cannot be read as a campaign"),
]
# arguments, and the message of an error with status 2: wrong usage
USAGE = [
    ("", "the following arguments are required: COMMAND"),
    ("bogus", "invalid choice: 'bogus'"),
    ("evaluate --bogus", "required: QRELS, RUN"),
    ("evaluate qrels", "the following arguments are required: RUN"),
    ("evaluate qrels bm25 -m ndgc", "unknown metric 'ndgc': did you mean 'ndcg'"),
    ("evaluate qrels bm25 -m ndcg@0", "k=0 must be at least 1"),
    ("evaluate qrels bm25 --names trec_eval -m mapp", "did you mean 'map'"),
    ("evaluate qrels bm25 --depth 1.5", "argument -M/--depth: invalid int value: '1.5'"),
    ("evaluate qrels bm25 --format xml", "invalid choice: 'xml'"),
    ("evaluate qrels bm25 --compare", "--compare needs at least two runs"),
    ("evaluate qrels a b --compare --per-query", "not allowed with argument"),
    ("evaluate - -", "- is standard input, which is read once: name other files."),
    ("compare qrels bm25", "required: RUN"),
    ("fuse qrels bm25", "name judgments and at least two runs"),
    ("fuse --method rrf bm25", "name at least two runs"),
    ("active next c -n x", "argument -n: invalid int value: 'x'"),
]


def assert_told(err, message):
    assert message in err
    said = re.sub(r"'[^']*'|\b\w+\([^)]*\)", "", err)  # without the values of the user
    said = said.replace("labels=step", "").replace("labels=interp", "")
    assert not PYTHON.search(said.replace("k=0", "")), said


@pytest.mark.parametrize(("arguments", "message"), FAILURES)
def test_what_cannot_be_measured_exits_with_1(call, arguments, message):
    status, out, err = call(*arguments.split())
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith("skrank: error: ")
    assert_told(err, message)


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_wrong_usage_exits_with_2_in_two_lines(call, arguments, message):
    status, out, err = call(*arguments.split())
    assert (status, out) == (2, "")
    mistake, pointer = err.splitlines()
    assert re.match(r"skrank[a-z ]*: error: ", mistake)
    assert_told(mistake, message)
    command = re.match("(active )?[a-z]*", arguments.replace("bogus", ""))[0]
    assert pointer == " ".join(["usage: skrank", *command.split(), "--help"])


def test_a_warning(call):
    status, _, err = call("evaluate", "qrels", "first")
    assert (status, err.startswith("skrank: warning: run 'bm25' has no documents")) == (0, True)
    assert_told(err, "--missing skip leaves them out.")


def test_mistakes_of_a_campaign(call):
    assert call("active", "start", "new.npz", "pool", "-m", "dcg", "--max-grade", "2")[0] == 0
    for arguments, message in (
        ("next new.npz -n 0", "-n 0 must be at least 1"),
        ("estimate new.npz --confidence 2", "--confidence=2.0 must be"),
    ):
        assert_told(call("active", *arguments.split())[2], message)
    _, out, _ = call("active", "next", "new.npz", "-n", "2")
    for label, message in ((1, ""), (0, "or replace them with --replace.")):
        rows = [f"{row}{label}" for row in out.splitlines()[1:]]
        Path("labels").write_text("\n".join(["query,item,label", *rows]))
        assert_told(call("active", "tell", "new.npz", "labels")[2], message)


POOLS = {
    "": "pool has no rows",
    "query,item\n1,2\n": "no column of scores",
    "query,score\n1,2\n": "row 1 lacks item",
    'query,item,a\n1,2,"3\n': "pool: line 2: unexpected end of data",
    "query,item,a,a\n1,2,3,4\n": "pool: 2 columns are called 'a'",
    "query,item,a\n1\n": "pool: line 2: 1 columns instead of 3",
    '{"query": 1, "item": null, "a": 1}': "pool, row 1 lacks item",
    '{"query": 1, "item": 1, "a": 1, "a": 2}': "line 1: key 'a' occurs 2 times",
    '{"query": 1, "item": 1, "a": true}': "row 1: a=True is not a number",
    '{"query": 1, "item": 1, "a": 1' + "0" * 400 + "}": "row 1: a is too large",
    '{"query": 1, "item": 1, "a": 1}\n[1]': "line 2 is not an object of JSON",
    "query,item,a\n1,2,1_0\n": "row 1: a='1_0' is not a number",
    "query,item,a,p_3\n1,2,1,0.5\n": "column p_3 has the probability of a grade that --max-grade",
    b"query,item,a\n\xe9,2,3\n": "pool: it is not text in UTF-8",
}


@pytest.mark.parametrize("table", POOLS, ids=lambda table: repr(table)[:40])
def test_wrong_tables_of_campaigns(call, table):
    Path("pool").write_bytes(table if isinstance(table, bytes) else table.encode())
    found = call("active", "start", "new.npz", "pool", "-m", "dcg", "--max-grade", "2")
    assert found[:2] == (1, "")
    assert POOLS[table] in found[2]
