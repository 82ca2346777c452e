"""Messages and help of commands: options instead of parameters, errors of one line."""

import re
from pathlib import Path

import pytest

from skrank.cli import COMMANDS
from skrank.metrics import registered

# words for Python
PYTHON = re.compile(
    r"(?<![-(,\w])[a-z_]+=|\bdict\b|\bnumpy\b|\bskrank\.|DataFrame|\bpass\b|=True|range\("
)


@pytest.fixture(autouse=True)
def more_files(files):
    """Files beside those of all tests."""
    Path("halves").write_text(Path("qrels").read_text().replace("a 2", "a 1.5"))
    Path("first").write_text(Path("bm25").read_text().splitlines()[0])
    Path("run.json").write_text('{"1": {"a": 9007199254740993}}')


EVALUATE = ("evaluate", "qrels", "bm25")
START = ("active", "start", "new.npz", "pool", "-m")
MISTAKES = [
    ((*EVALUATE, "bm25"), 1, "2 runs are called 'bm25': name each file once."),
    (("evaluate", "qrels", "first", "--missing", "raise"), 1, "choose --missing zero or --missing"),
    (("evaluate", "qrels", "first"), 0, "--missing skip leaves them out."),
    (("evaluate", "halves", "bm25", "-m", "gap"), 1, "write labels=step in the brackets of the"),
    ((*EVALUATE, "-m", "gap(thresholds=[1.0])"), 1, "is above 1, the highest grade of gap(thr"),
    ((*EVALUATE, "-m", "ap(rel=3)", "--empty", "raise"), 1, "choose --empty skip, --empty 0 or"),
    (
        ("evaluate", "qrels", "run.json", "--chunksize", "2"),
        1,
        "or evaluate it without --chunksize",
    ),
    (("evaluate", "qrels", "run.json"), 1, "subtract an offset, or write it with a decimal point"),
    ((*EVALUATE, "--depth", "0"), 1, "--depth=0 must be at least 1"),
    ((*EVALUATE, "--rel", "nan"), 1, "--rel=nan must be a number"),
    ((*EVALUATE, "--depth", "1_0"), 2, "argument -M/--depth: '1_0' is not a whole number."),
    ((*EVALUATE, "--depth", "\uff11"), 2, "is not a whole number."),
    ((*EVALUATE, "--rel", "\uff11"), 2, "argument -l/--rel: '\uff11' is not a number."),
    ((*EVALUATE, "--max-grade", "\uff11"), 2, "is not a whole number from 1 to 1000."),
    (("evaluate", "bm25", "qrels"), 1, "It looks like a line of run: qrels come first, then runs."),
    (("evaluate", "-", "-"), 2, "- is standard input, which is read once: name other files."),
    (("compare", "qrels", "bm25", "first", "-m", "ap(rel=9)"), 1, "are called 'bm25'|--empty 0"),
    (
        (*START, "dcg"),
        1,
        "need the grades that occur, such as --max-grade 4, or columns p_0 to p_4",
    ),
    (
        (*START, "official", "--max-grade", "2"),
        1,
        "give the name to skrank evaluate, which computes all",
    ),
    ((*START, "dcg", "--max-grade", "0"), 2, "'0' is not a whole number from 1 to 1000."),
    ((*START, "dcg", "--max-grade", "2", "--budget", "-1"), 1, "--budget=-1.0 must be"),
    ((*START, "dcg", "--max-grade", "2", "--mixing", "x"), 2, "'x' is not a number."),
    ((*START, "dcg", "--max-grade", "2", "--random-state", "-3"), 1, "--random-state=-3 must"),
]


@pytest.mark.parametrize(("arguments", "status", "message"), MISTAKES)
def test_mistakes_are_told_in_the_words_of_the_command(call, arguments, status, message):
    found, _, err = call(*arguments)
    assert found == status, err
    assert any(one in err for one in message.split("|")), err
    said = re.sub(r"'[^']*'|\b\w+\([^)]*\)", "", err)  # without the values of the user
    assert not PYTHON.search(said.replace("labels=step", "").replace("labels=interp", "")), said


def test_mistakes_of_a_campaign(call):
    assert call(*START, "dcg", "--max-grade", "2")[0] == 0
    for arguments, message in (
        (("next", "new.npz", "-n", "0"), "-n 0 must be at least 1"),
        (("next", "new.npz", "-n", "x"), "argument -n: 'x' is not a whole number."),
        (("estimate", "new.npz", "--confidence", "2"), "--confidence=2.0 must be"),
    ):
        _, _, err = call("active", *arguments)
        assert message in err
    _, out, _ = call("active", "next", "new.npz", "-n", "2")
    rows = [f"{row}1" for row in out.splitlines()[1:]]
    Path("labels").write_text("\n".join(["query,item,label", *rows]))
    assert call("active", "tell", "new.npz", "labels")[0] == 0
    Path("labels").write_text("\n".join(["query,item,label", *(f"{row[:-1]}0" for row in rows)]))
    _, _, err = call("active", "tell", "new.npz", "labels")
    assert "or replace them with --replace." in err


TABLES = {
    'query,item,a\n1,2,"3\n': "pool: line 2: unexpected end of data",
    "query,item,a,a\n1,2,3,4\n": "pool: 2 columns are called 'a'",
    "query,item,a\n1\n": "pool: line 2: 1 columns instead of 3",
    '{"query": 1, "item": null, "a": 1}': "pool, row 1 lacks item",
    '{"query": 1, "item": 1, "a": 1, "a": 2}': "line 1: key 'a' occurs 2 times",
    '{"query": 1, "item": 1, "a": true}': "row 1: a=True is not a number",
    '{"query": 1, "item": 1, "a": 1' + "0" * 400 + "}": "row 1: a is too large",
    "query,item,a\n1,2,\uff11\n": "row 1: a='\uff11' is not a number",
    "query,item,a\n1,2,1_0\n": "row 1: a='1_0' is not a number",
    "query,item,a,p_\u0661\n1,2,3,4\n": "",  # another ranker
    b"query,item,a\n\xe9,2,3\n": "pool: it is not text in UTF-8",
}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: repr(table)[:40])
def test_tables_of_campaigns(call, table):
    Path("pool").write_bytes(table if isinstance(table, bytes) else table.encode())
    status, out, err = call(*START, "dcg", "--max-grade", "2")
    if TABLES[table]:
        assert (status, out) == (1, "")
        assert TABLES[table] in err
    else:
        assert (status, out) == (0, "1 queries, 2 rankers: a, p_\u0661\n")


@pytest.mark.parametrize(
    "command", [*COMMANDS, "active start", "active next", "active tell", "active estimate"]
)
def test_help_shows_examples_of_the_command_alone(call, command):
    status, out, err = call(*command.split(), "--help")
    assert (status, err) == (0, "")
    examples = re.findall(r"(?m)^  (skrank .*)$", out)
    assert all(example.startswith(f"skrank {command} ") for example in examples)
    assert bool(examples) == (command not in ("metrics", "completion"))


@pytest.mark.parametrize("name", registered())
def test_a_metric_is_described_for_a_terminal(call, name):
    status, out, _ = call("metrics", name)
    assert status == 0
    assert not re.search(r"\\|\.\. \w+::|``|:\w+:`|>>>|See `[A-Z]", out)
    assert "Parameters of all metrics" in out


def test_formulas_are_readable(call):
    lines = {
        "gap": "    GAP = 1/D sum_n 1/n sum_{m <= n} G(min(i_m, i_n)), D = sum_documents G(i)",
        "ndcg": "    nDCG@k = DCG@k/(max DCG@k)",
        "rbp": "    RBP = (1 - p) sum_r p^(r-1) gain(y_r) / gain(max grade)",
        "accuracy": "    Acc@k = 1/n (|{r <= k : y_r >= rel}| + |{r > k : y_r < rel}|)",
        "f1": "    F_beta = (1 + beta^2) P R / (beta^2 P + R)",
    }
    for name, line in lines.items():
        assert line in call("metrics", name)[1].splitlines()


def test_a_nickname_is_a_list_of_metrics(call):
    """Of trec_eval, whose map counts queries without a relevant document."""
    out = call("metrics", "official")[1].splitlines()
    assert out[0].startswith("trec_eval:num_q is num_q")
    assert out[4] == "trec_eval:map is ap(empty=0)"
    assert len(out) == 29
