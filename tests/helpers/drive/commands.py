"""The command line on small files, beside the same calls in Python."""

import contextlib
import csv
import gzip
import io
import json
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

import skrank
from skrank import active, cli, trec
from tests.helpers import odd
from tests.helpers.drive import Call, case
from tests.helpers.drive.files import BYTES, PACKED, assert_query, nested, qrels_of, run_of

NAMES = ("ap", "gap", "ndcg@2", "rr")
WORDS = st.sampled_from(("", "-1", "0", "nan", "inf", "1e400", "9" * 30, "é", "--", "-", ".", "a b",
                         "ap@", "trec_eval:map", "gap(max_grade=2)@3", "{}", "no/such/folder",
                         "²", "\udc80", "%s"))  # fmt: skip
FILE = object()  # stands for the path of an output
OFTEN = (None, None, None)  # options that are left out
ESTIMATORS = ("importance", "assisted", "lure")


def run(*words):
    """What a command prints to standard output; an error of ours if it fails."""
    out, err = io.StringIO(), io.StringIO()
    ends = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with ends[0], ends[1], mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO())):
        try:
            status = cli.main(list(words))
        except SystemExit as stop:
            status = stop.code
    text = err.getvalue()
    assert "Traceback" not in text
    assert "encountered" not in text  # what numpy warns of
    if status == 0:
        return out.getvalue()
    assert status in (cli.FAILED, 2)
    assert "error: " in text
    if status == cli.FAILED:
        assert_ours(words)
    return ValueError(text)


def assert_ours(words):
    """The error that ended a command is raised by skrank, or by the system for a file."""
    arguments = cli.whole_parser().parse_args(words)
    with warnings.catch_warnings(), mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO())):
        warnings.simplefilter("ignore")
        try:
            arguments.run(arguments)
        except (OSError, ValueError) as error:
            if not (odd.is_ours(error) or getattr(error, "filename", None)):
                raise AssertionError("an error of a library ends the command") from error


def trec_lines(rows, line):
    return "".join(line(query, document, value) for (query, document), value in rows.items())


def kept(draw, name, rows, line):
    """A file name, and its content in one of several formats, or anything."""
    text, number = trec_lines(rows, line).encode(), "label" if name == "qrels" else "score"
    table = pd.DataFrame([(*pair, one) for pair, one in rows.items()],
                         columns=["qid", "docid", number])  # fmt: skip
    suffix, content = draw.pick(
        ("", text), (".gz", gzip.compress(text, mtime=0)),
        (".json", json.dumps(nested(rows)).encode()), (".csv", table.to_csv(index=False).encode()),
    )  # fmt: skip
    worse = BYTES | st.tuples(PACKED, BYTES).map(b"".join) | st.just(content[:-4])
    return name + suffix, draw(st.just(content), worse)


class Files:
    """Judgments and runs in a folder, and arguments that name them."""

    def __init__(self, draw, n_runs):
        self.qrels = qrels_of(draw)
        self.runs = {name: run_of(draw) for name in "abc"[:n_runs]}
        self.contents = [kept(draw, "qrels", self.qrels, "{} 0 {} {}\n".format)]
        for name, rows in self.runs.items():
            line = f"{{}} Q0 {{}} 1 {{}} {name}\n".format
            self.contents.append(kept(draw, name, rows, line))

    def call(self, command, *options):
        """Run a command on the files, with options of which FILE is replaced by a path."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self.contents:
                (Path(folder) / name).write_bytes(content)
            output = Path(folder) / "out"
            paths = [str(Path(folder) / name) for name, _ in self.contents]
            found = run(command, *paths, *(str(output) if one is FILE else one for one in options))
            if FILE in options and isinstance(found, str):
                assert found == ""
                return output.read_text(encoding="utf-8")
            return found

    def report(self, names, **given):
        """The same by Python, from mappings in memory."""
        runs = {name: nested(rows) for name, rows in self.runs.items()}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "run .* has no documents for", UserWarning)
            return trec.evaluate(nested(self.qrels), runs, names, **given)


CONVENTIONS = {  # option, its value on the command line, and its name and value in Python
    "--missing": (("zero", "skip"), lambda text: {"missing": text}),
    "--empty": (("skip", "0", "1", "nan"), lambda text: {
        "empty": int(text) if text.isdecimal() else text}),
    "--max-grade": (("2", "3"), lambda text: {"max_grade": int(text)}),
    "--rel": (("1", "2.0"), lambda text: {"rel": float(text)}),
    "--depth": (("1", "3"), lambda text: {"depth": int(text)}),
    "--judged-only": (None, lambda _: {"judged_only": True}),
    "--pool-judged": (None, lambda _: {"pool_judged": True}),
    "--no-progress": (None, lambda _: {}),
}  # fmt: skip


def conventions(draw):
    """Options of a command, and what they are in Python."""
    words, given = [], {}
    for option, (values, python) in CONVENTIONS.items():
        if draw.pick(*OFTEN, True) is None:
            continue
        value = draw(st.sampled_from(values), WORDS) if values else ""
        words += [option, value] if values else [option]
        if not draw.is_odd:
            given |= python(value)
    return words, given


def numbers(text):
    """The table of a CSV output."""
    return pd.read_csv(io.StringIO(text), dtype={"qid": str})


def values_of(text):
    """Lines of trec_eval without the names of runs, which may be those of files."""
    return [line for line in text.splitlines() if not line.startswith("runid")]


@case("cli.main evaluate")
def _(draw):
    files = Files(draw, draw.size(1, 3))
    name = draw(st.sampled_from(NAMES), WORDS)
    words, given = conventions(draw)
    view = draw.pick((), ("-q",), ("--per-query",))
    form = draw(st.sampled_from(("csv", "json", "jsonl", "table", "html", "trec_eval")), WORDS)
    output = draw.pick((), ("-o", FILE))
    whole = any(name.endswith(".json") for name, _ in files.contents[1:])
    if not whole and draw.pick(True, False):
        words += ["--chunksize", draw(st.sampled_from(("1", "2", "99")), WORDS)]
    if form in ("html", "trec_eval"):
        view = ()

    def verify(found):
        if draw.is_odd:
            return
        report = files.report([name], **given)
        if form == "trec_eval":
            assert values_of(found) == values_of(trec.trec_eval_lines(report))
        elif form == "table":
            assert len(found.splitlines()) == 1 + len(files.runs) * (len(report.queries) if view
                                                                     else 1)  # fmt: skip
        elif form == "html":
            assert found.count("<polyline") >= len(files.runs)
        else:
            table = {"csv": numbers, "json": lambda text: pd.DataFrame(json.loads(text)),
                     "jsonl": lambda text: pd.DataFrame(map(json.loads, text.splitlines())),
                     }[form](found)  # fmt: skip
            expected = report.per_query[name] if view else report.mean[name]
            values = table[name].to_numpy(dtype=float)
            np.testing.assert_allclose(values, expected, rtol=1e-12, equal_nan=True)
            plain = set(given) <= {"missing", "max_grade"} and given.get("max_grade", 2) == 2
            if view and plain and max(files.qrels.values()) == 2:
                runs = np.repeat(list(files.runs.values()), len(table) // len(files.runs))
                for run, query, value in zip(runs, table["qid"], table[name], strict=True):
                    assert_query(query, files.qrels, run, name, value)

    options = ["-m", name, *words, *view, "--format", form, *output]
    return Call(lambda: files.call("evaluate", *options), verify)


@case("cli.main compare")
def _(draw):
    files, name = Files(draw, 2), draw(st.sampled_from(NAMES), WORDS)
    words, given = conventions(draw)
    if given.get("empty", "skip") == "skip" and not draw.is_odd:  # two queries need a value
        given["empty"] = 0
        words += ["--empty", "0"]

    def verify(found):
        if draw.is_odd:
            return
        report, row = files.report([name], **given), numbers(found).iloc[0]
        values = report.per_query[name].unstack("run").dropna()
        difference = values["a"] - values["b"]
        assert row.difference == pytest.approx(difference.mean(), abs=1e-12, nan_ok=True)
        # differences of the size of rounding are ties
        assert (row.wins, row.losses) == ((difference > 1e-12).sum(), (difference < -1e-12).sum())

    options = ["-m", name, *words, "--format", "csv"]
    return Call(lambda: files.call("compare", *options), verify)


@case("cli.main curve")
def _(draw):
    files = Files(draw, draw.size(1, 3))
    words, given = conventions(draw)

    def verify(found):
        if not draw.is_odd:
            levels = [f"iprec(recall={level / 10})" for level in range(11)]
            expected = files.report(levels, **given).mean
            np.testing.assert_allclose(numbers(found).iloc[:, 1:], expected.T, rtol=1e-12)

    return Call(lambda: files.call("curve", *words, "--format", "csv"), verify)


@case("cli.main fuse")
def _(draw):
    files = Files(draw, 2)
    query, document = next(iter(files.runs["a"]))
    files.runs["b"][query, document] = files.runs["a"][query, document] + 0.5
    files.contents = [
        kept(draw, name, rows, f"{{}} Q0 {{}} 1 {{}} {name}\n".format)
        for name, rows in files.runs.items()
    ]
    method = draw(st.sampled_from(("rrf", "combsum", "borda")), WORDS)
    words = draw.pick([], ["--norm", "zscore"], ["--depth", "2"], ["-k", "10"], ["--name", "mine"])
    words = [draw(st.just(word), WORDS) for word in words]

    def verify(found):
        if not draw.is_odd:
            runs = {name: nested(rows) for name, rows in files.runs.items()}
            again = trec.read_run(io.StringIO(found)).to_dict()
            fused = trec.fuse(runs, method, k=10 if "-k" in words else 60,
                              norm="zscore" if "zscore" in words else "auto")  # fmt: skip
            assert again == (fused.top(2) if "--depth" in words else fused).to_dict()

    return Call(lambda: files.call("fuse", f"--method={method}", *words), verify)


@case("cli.main metrics")
def _(draw):
    names = draw.pick((), (draw(st.sampled_from((*NAMES, "P_5", "0.5*ap+0.5*rr")), WORDS),))

    def verify(found):
        if not names:
            assert [line.split()[0] for line in found.splitlines()] == sorted(
                skrank.metrics.registered()
            )
        assert found.strip()

    return Call(lambda: run("metrics", *names), verify)


@case("cli.main completion")
def _(draw):
    shell = draw(st.sampled_from(("bash", "zsh", "fish")), WORDS)

    def verify(found):
        assert all(command in found for command in cli.COMMANDS)

    return Call(lambda: run("completion", shell), verify)


@case("cli.main active")
def _(draw):
    """A campaign from its start until all is labelled: then the estimate is the mean."""
    n_queries, metric = draw.size(2, 4), draw(st.sampled_from(("ap", "ndcg@2", "rr")), WORDS)
    items = np.arange(3 * n_queries)
    pool = pd.DataFrame({"query": [f"q{item // 3}" for item in items], "item": items})
    for ranker in draw.pick("a", "ab"):
        pool[ranker] = [draw(st.integers(-2, 2).map(float), odd.scores) for _ in pool.index]
    labels = pool[["query", "item"]].assign(label=[draw.pick(0, 1, 2) for _ in pool.index])
    labels.loc[::3, "label"] = 2
    seed = draw(st.integers(0, 9).map(str), WORDS)
    form = draw(st.sampled_from(("csv", "jsonl")), WORDS)
    lines = pool.to_csv(index=False), labels.to_csv(index=False)
    texts = [draw(st.just(text.encode()), BYTES | st.just(text.encode()[:-6])) for text in lines]
    number, estimator = draw(st.just("99"), WORDS), draw(st.sampled_from(ESTIMATORS), WORDS)
    start = ["-m", metric, "--max-grade", draw(st.just("2"), WORDS), "--random-state", seed]
    estimate = ["--estimator", estimator, *draw.pick((), ("--anytime",)), "--format", form]

    def call():
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder) / name) for name in ("pool.csv", "labels.csv")]
            for file, text in zip(files, texts, strict=True):
                Path(file).write_bytes(text)
            campaign = str(Path(folder) / "campaign.npz")
            for words in (
                ("start", campaign, files[0], *start), ("next", campaign, "-n", number),
                ("tell", campaign, files[1]), ("estimate", campaign, *estimate),
            ):  # fmt: skip
                found = run("active", *words)
                if isinstance(found, Exception):
                    return found
            return found, active.Campaign.load(campaign)

    def verify(result):
        found, campaign = result
        rows = (
            list(csv.DictReader(io.StringIO(found)))
            if form == "csv"
            else [json.loads(line) for line in found.splitlines()]
        )
        if draw.is_odd:
            return
        assert not campaign.waiting
        rankers = [name for name in pool if name in "ab"]
        truth = [
            skrank.metric(metric)(labels.label, pool[name], groups=pool["query"])
            for name in rankers
        ]
        expected = truth if len(truth) == 1 else [*truth, truth[0] - truth[1]]
        values = [float(row["value"]) for row in rows]
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)

    return Call(call, verify)
