"""The command line: ``skrank evaluate``, its options, formats and help."""

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import skrank
from skrank import trec
from skrank.cli import COMMANDS
from skrank.metrics import registered

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture
def files(files):
    """The files, in which query 3 has no relevant document, and the run "dense" lacks it."""
    Path("qrels").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 a 0\n")
    Path("dense").write_text(Path("dense").read_text().replace("3 Q0 a 1 3 dense\n", ""))
    return files


def test_table(call, files):
    status, out, err = call("evaluate", *files, "-m", "ap", "-m", "ndcg(gain=linear)@10")
    assert status == 0
    assert out.split() == [
        *["run", "ap", "ndcg(gain=linear)@10"],
        *["queries", "missing", "ignored", "documents", "judged"],
        *["bm25", "1.0000", "1.0000", "3", "0", "0", "4", "0.7500"],
        *["dense", "0.5000", "0.6309", "2", "1", "0", "4", "0.7500"],
    ]
    assert err.startswith("skrank: warning: run 'dense' has no documents for 1 queries")
    # the metric, not the share of documents
    assert call("evaluate", *files[:2], "-m", "judged")[1].split()[6:8] == ["bm25", "0.8333"]


@pytest.mark.parametrize("option", [(), ("--per-query",), ("--intervals",)])
def test_formats_parse_back(call, files, option):
    metrics = ["gap", "ndcg@10", "err@20"]
    report = trec.evaluate("qrels", files[1:], metrics, missing="skip")
    frame = {
        (): report.mean.assign(**report.counts),
        ("--per-query",): report.per_query,
        ("--intervals",): report.to_frame(),
    }[option].reset_index().rename(columns={"system": "run"})  # fmt: skip
    options = ["--missing", "skip", *option, *(f"-m{name}" for name in metrics)]
    _, text, err = call("evaluate", *files, *options, "--format", "csv")
    assert "warning" not in err
    csv = pd.read_csv(io.StringIO(text), dtype={"qid": "str"})
    pd.testing.assert_frame_equal(csv, frame, check_dtype=False, rtol=1e-15)
    _, text, _ = call("evaluate", *files, *options, "--format", "json")
    rows = pd.DataFrame(json.loads(text))
    pd.testing.assert_frame_equal(rows, frame, check_dtype=False, check_exact=True)


def test_options_reach_the_metrics(call, files):
    def value(*options):
        _, out, _ = call("evaluate", *files[:2], "--format", "csv", *options)
        return pd.read_csv(io.StringIO(out)).iloc[0, 1]

    assert value("-m", "ap") == 1
    assert value("-m", "ap", "--empty", "0") == pytest.approx(2 / 3)
    assert value("-m", "err") > value("-m", "err", "--max-grade", "4")
    text = "err: grades 0 to 2 (the highest label; --max-grade"
    assert text in call("evaluate", *files, "-m", "err")[2]


def test_as_a_program(files, python):
    given = ["evaluate", "qrels", "-", "-m", "ap", "--format", "csv"]
    done = python("-m", "skrank", *given, given=Path("bm25").read_text())
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "bm25,1.0,3,0,0,4,0.75"


@pytest.mark.parametrize(
    ("arguments", "free"),
    [
        (["--help"], ["numpy", "numba", "scipy", "pandas", "sklearn"]),
        (["evaluate", "qrels", "bm25"], ["numba", "pandas", "sklearn", "scipy.stats"]),
    ],
)
def test_what_is_not_needed_is_not_imported(files, python, arguments, free):
    code = (
        "import sys\nfrom skrank.cli import main\n"
        f"try:\n    assert main({arguments}) == 0\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set({free}) & set(sys.modules)))"
    )
    assert python("-c", code).stdout.splitlines()[-1] == "[]"


def test_version_and_help(call):
    assert call("--version") == (0, f"skrank {skrank.__version__}\n", "")
    _, out, _ = call("--help")
    assert all(re.search(rf"^ +{name}\b", out, re.MULTILINE) for name in COMMANDS)


def test_metrics(call):
    _, out, _ = call("metrics")
    listed = [name for line in out.splitlines() for name in line.split("  ")[0].split(", ")]
    assert [name for name in listed if name in registered()] == sorted(registered())
    # metric("?"), scorers and the reference list the same names
    assert sorted(listed) == sorted(x.removeprefix("neg_") for x in skrank.get_scorer_names())
    with pytest.raises(ValueError, match=f"Known: {', '.join(sorted(listed))}"):
        skrank.metric("?")
    pages = "".join(path.read_text("utf-8") for path in REFERENCE.glob("metrics_*.md"))
    rows = re.findall(r"^\* names: (.*)$", pages, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(listed)
    for name in registered():
        status, out, err = call("metrics", name)
        assert (status, err) == (0, "")
        assert "Parameters\n---" in out
        assert ">>>" not in out
    assert "trec_eval:map is ap(empty=0" in call("metrics", "trec_eval:official")[1]
