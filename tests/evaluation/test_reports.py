"""Reports of many metrics: values, intervals, texts, tables and plots."""

import inspect
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import stats
from skrank.datasets import make_ranking
from tests.helpers.catalogue import CATALOGUE, lists

mpl.use("agg")
DEFAULT_METRICS = inspect.signature(skrank.evaluate).parameters["metrics"].default


@pytest.fixture
def data():
    return lists(21, levels=4, n_queries=20)


def report(data, **how):
    return skrank.evaluate(data.relevance, data.scores, groups=data.groups, **how)


class TestValues:
    def test_values_are_those_of_the_metrics(self, data):
        found = report(data, metrics=[point.settled for point in CATALOGUE])
        assert found.per_query.index.names == ["system", "qid"]
        assert found.per_query.index.tolist() == [("scores", one) for one in data.ids]
        for point in CATALOGUE:
            name, metric = str(point.settled), point.settled
            values = metric.per_query(data.relevance, data.scores, groups=data.groups)
            assert_array_equal(found.per_query[name], values)
            mean = metric(data.relevance, data.scores, groups=data.groups)
            assert found.mean.loc["scores", name] == mean
            assert found.empty[name] == values.isna().sum()

    def test_counts_and_shares(self):
        found = skrank.evaluate(
            [1, np.nan, 0, 0, np.nan, 2, 0, 1],
            [1, 2, 3, 1, 2, -np.inf, 1, 2],
            groups=["a", "a", "a", "b", "b", "c", "c", "c"],
            metrics=["gap", "map(rel=2)", "ap(empty=0)"],
        )
        assert found.queries.tolist() == ["a", "b", "c"]
        assert found.counts == {"documents": [8], "judged": [0.75], "retrieved": [0.875]}
        assert found.empty == {"gap": 1, "ap(rel=2.0)": 2, "ap(empty=0)": 1}
        table = found.to_frame()
        assert table["queries"].to_list() == [2, 1, 3]
        assert_array_equal(table["std"], found.per_query.std())
        assert found.averages[0, 2] == found.per_query["ap(empty=0)"].mean()

    @pytest.mark.parametrize("weighted", [False, True])
    def test_several_systems_are_one_system_each(self, data, weighted):
        """A name may be a tuple, or that of a metric."""
        zero = np.zeros(len(data.scores))
        systems = {"new": data.scores, ("old", 1): -data.scores.clip(-9), "gap": zero}
        weights = 1.0 + np.unique(data.groups, return_inverse=True)[1] % 3 if weighted else None
        how = {"groups": data.groups, "metrics": METRICS, "sample_weight": weights}
        found = skrank.evaluate(data.relevance, systems, **how)
        assert found.systems == list(systems) == list(found.mean.index)
        for row, scores in enumerate(systems.values()):
            one = skrank.evaluate(data.relevance, scores, **how)
            assert_array_equal(found.averages[row], one.averages[0])
            assert_array_equal(found.values[row], one.values[0])
            rows = slice(row * len(METRICS), (row + 1) * len(METRICS))
            assert_array_equal(found.to_frame().iloc[rows], one.to_frame())
            assert {name: [column[row]] for name, column in found.counts.items()} == one.counts
        for wrong, named in (({"new": data.scores[1:]}, "system 'new'"), ({}, "scores")):
            with pytest.raises(ValueError, match=named):
                skrank.evaluate(data.relevance, wrong, **how)

    def test_weights_weigh_the_means_only(self, data):
        weight_of = {query: float(i % 3) for i, query in enumerate(data.ids)}
        weights = [weight_of[query] for query in data.groups]
        plain, weighted = report(data), report(data, sample_weight=weights)
        pd.testing.assert_frame_equal(plain.per_query, weighted.per_query)
        how = {"groups": data.groups, "sample_weight": weights}
        for name in DEFAULT_METRICS:
            mean = skrank.metric(name)(data.relevance, data.scores, **how)
            assert weighted.mean[name].tolist() == [mean]
        of_weight = np.array([weight_of[query] for query in data.ids]) > 0
        assert_array_equal(weighted.to_frame()["queries"], plain.per_query[of_weight].count())

    def test_max_grade_is_for_metrics_that_do_not_fix_it(self, data):
        found = report(data, metrics=["gap", "gap(max_grade=3)"], max_grade=5).per_query
        given = report(data, metrics=["gap(max_grade=5)", "gap"]).per_query
        assert_array_equal(found["gap"], given["gap(max_grade=5)"])
        assert_array_equal(found["gap(max_grade=3)"], given["gap"])

    @pytest.mark.parametrize(("relevance", "score"), [(0, 1), (np.nan, -np.inf)])
    def test_no_query_with_a_relevant_document(self, relevance, score):
        with pytest.warns(RuntimeWarning, match="no query"):
            found = skrank.evaluate([relevance] * 2, [score] * 2, groups=[1, 1], metrics="gap")
        assert np.isnan(found.averages).all()
        assert found.empty["gap"] == 1
        assert found.counts["judged"] == found.counts["retrieved"] == [relevance == 0]


# Intervals ----------------------------------------------------------------------------------------

DATA = make_ranking(50, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 3, 50).astype(float)
BOUNDS = ["mean", "low", "high"]
METRICS = ["gap", "gap(empty=0)", "ap(average=geometric)", "precision(average=micro)@5"]


def ranked(metrics=METRICS, weights=None):
    of_rows = None if weights is None else weights[DATA.qid]
    how = {"groups": DATA.qid, "metrics": metrics, "sample_weight": of_rows}
    return skrank.evaluate(DATA.relevance, DATA.X[:, 5], **how)


class TestIntervals:
    @pytest.mark.parametrize(("confidence", "n_resamples"), [(0.9, 1000), (0.999, 10_000)])
    @pytest.mark.parametrize(("metric", "weights"), [("gap", None), ("gap(empty=0)", WEIGHTS)])
    def test_intervals_are_those_of_stats(self, metric, weights, confidence, n_resamples):
        """Those of a high confidence take more resamples."""
        found = ranked(weights=weights)
        how = {"weights": weights, "confidence": confidence, "n_resamples": n_resamples}
        expected = stats.bootstrap_interval(found.per_query[metric], method="bootstrap-t", **how)
        table = found.to_frame(confidence)
        assert list(table.columns) == [*BOUNDS, "std", "queries", "empty"]
        assert_allclose(
            table.loc["scores"].loc[metric, BOUNDS], [expected.mean, expected.low, expected.high]
        )

    def test_geometric_mean(self):
        name, found = str(skrank.metric("ap(average=geometric)")), ranked()
        logarithms = np.log(found.per_query[name].clip(lower=1e-5))
        expected = stats.bootstrap_interval(logarithms, method="bootstrap-t", n_resamples=1000)
        row = found.to_frame().loc["scores"].loc[name, BOUNDS]
        assert_allclose(row, np.exp([expected.mean, expected.low, expected.high]))

    def test_undefined_means_and_few_queries(self):
        table = ranked(metrics=["gap(empty=nan)", "gap"]).to_frame().loc["scores"]
        assert table.loc["gap(empty=nan)", BOUNDS].isna().all()
        few = skrank.evaluate([1, 0, 0], [3, 2, 1], groups=["a", "a", "b"], metrics=["gap", "p@1"])
        assert few.to_frame()[["low", "high"]].isna().all(axis=None)
        assert "NaN" in repr(few)

    def test_no_further_than_the_metric_reaches(self):
        relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
        table = skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "dcg", "error@1"])
        table = table.to_frame().loc["scores"]
        wide = stats.t_interval([1.0, 0.5])
        assert wide.low < 0 < 1 < wide.high
        assert table.loc["gap", ["low", "high"]].tolist() == [0, 1]
        assert table.loc["error@1", ["low", "high"]].tolist() == [0, 1]
        assert table.loc["dcg", "low"] == 0
        assert table.loc["dcg", "high"] > 3


# Texts, tables and plots --------------------------------------------------------------------------

SYSTEMS = {"new_x": DATA.X[:, 5], "other": DATA.X[:, 1], "old": DATA.X[:, 0]}


def compared(metrics, systems=SYSTEMS, **options):
    return skrank.compare(DATA.relevance, systems, groups=DATA.qid, metrics=metrics, **options)


def cells(markdown):
    """The rows of a Markdown table as lists of texts."""
    lines = [line for line in markdown.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("baseline", [None, "old"])
def test_marks_are_the_significant_differences(baseline):
    found = compared(["gap", "error@3"], confidence=0.8, baseline=baseline)
    table = found.to_frame()
    head, *rows = cells(found.to_markdown(4))
    assert head == ["#", "system", "gap", "error@3"]
    letters = dict(zip(SYSTEMS, "abc", strict=True))
    better = set()
    for row in table[table["significant"]].itertuples():
        pair = [row.system, row.other]
        winner, loser = pair if (row.difference > 0) == (row.metric == "gap") else pair[::-1]
        better.add((winner, row.metric, letters[loser]))
    assert better
    for letter, name, *values in rows:
        name = name.replace("\\", "")
        assert letter == letters[name]
        for metric, text in zip(["gap", "error@3"], values, strict=True):
            marks = re.search("<sup>(.*)</sup>", text)
            found_better = {(name, metric, mark) for mark in (marks[1] if marks else "")}
            assert found_better == {one for one in better if one[:2] == (name, metric)}
            assert re.sub(r"\*\*|<sup>.*", "", text) == f"{found.means.loc[name, metric]:.4f}"
            best = found.means[metric].min() if metric == "error@3" else found.means[metric].max()
            assert ("**" in text) == (found.means.loc[name, metric] == best)


def test_latex_has_the_cells_of_markdown():
    found = compared(["gap", "ndcg(gain=linear)@5"])
    latex = found.to_latex()
    body = latex[latex.index("\\midrule") : latex.index("\\bottomrule")].split("\n")[1:-1]
    rows = [line.removesuffix(r" \\").split(" & ") for line in body]
    expected = re.sub("<sup>(.*?)</sup>", r"$^{\1}$", found.to_markdown())
    assert rows == cells(re.sub(r"\*\*(.*?)\*\*", r"\\textbf{\1}", expected))[1:]


def test_intervals_and_labels_of_tables():
    metrics = ["err", "ndcg@3"]
    report = skrank.evaluate(DATA.relevance, SYSTEMS, groups=DATA.qid, metrics=metrics)
    low, high = report.to_frame().loc[("old", "err"), ["low", "high"]]
    text = f"{report.mean.loc['old', 'err']:.3f} [{low:.3f}, {high:.3f}]"
    assert text in report.to_latex(intervals=True)
    assert text in report.to_markdown(intervals=True)
    for shown in (repr(report), report._repr_html_(), report.to_latex(), report.to_markdown()):
        assert "grades 0 to 4 (the highest label; max" in shown
        assert re.search(r"3 systems, 50 queries|over 48 of 50 queries\. 3 systems", shown)
        assert re.search(r"ndcg@3: gain 2(\^|\\textasciicircum{})grade - 1", shown)
    assert text in repr(report)
    assert text in report._repr_html_()
    given = skrank.evaluate(DATA.relevance, SYSTEMS, groups=DATA.qid, metrics="err", max_grade=4)
    assert "grades" not in given.caption
    found = report.compare("err", n_resamples=99)
    row = found.to_frame().iloc[0]
    latex = found.to_latex(label="tab:all", intervals=True)
    assert r"\label{tab:all}" in latex
    assert r"\begin{tabular}{lllrrrr}" in latex
    assert r"\caption{$A$}" in report.to_latex(caption="$A$")
    assert f"new\\_x & other & {row.difference:.3f} & {row.low:.3f} & {row.high:.3f}" in latex
    assert r"\textless{}0.1 \\" in found.to_latex(intervals=True, digits=1)
    third = skrank.metric_from_function(lambda ranked: 1 / 3, "p_third", ties="stable")
    assert "0.3333" in repr(compared(third, n_resamples=9))  # not as a p-value


def test_metrics_called_as_counts_are_printed_as_metrics():
    runs = {"whole": {"q": {"a": 2.0, "b": 1.0}}, "part": {"q": {"b": 1.0, "x": 0.5}}}
    report = skrank.trec.evaluate({"q": {"a": 1, "b": 0}}, runs, {"documents": skrank.metric("ap")})
    assert "1.000 [nan, nan]" in repr(report)


NAMES = [
    "a_b&c", "50%#{~^\\}|*", "[base]", "*best*", "x\ny", "x\r\n\u2028y\u202ez", "a\\|b",
    "`a` $b$ ~~c~~", "![x](https://tracker.example/p.png)", "www.tracker.example", "a@b.example",
    "<img src=x>", "a&lt;b", "--x ``y'' ,,z <<a>> ?`b", "# head", "",
]  # fmt: skip


def test_names_are_text():
    """LaTeX, Markdown and HTML show each name as it is, on one line."""
    scores = np.random.default_rng(0).normal(size=(len(NAMES), len(DATA.qid)))
    systems = dict(zip(NAMES, scores, strict=True))
    report = skrank.evaluate(DATA.relevance, systems, groups=DATA.qid, metrics=["gap", "ap"])
    lines = [" ".join(one.replace("\u202e", " ").split()) for one in NAMES]
    for found in (report, report.compare(n_resamples=20)):
        latex = found.to_latex().split(r"\midrule")[1].split(r"\bottomrule")[0].strip("\n")
        rows = [row.split(" & ")[-3] for row in latex.split("\n")]
        assert [read_latex(row) for row in rows] == lines
        assert not any(re.match(r"[\[*]", row) for row in latex.split("\n"))
        rows = [row for row in found.to_markdown().split("\n") if row.startswith("| ")][1:]
        rows = [re.findall(r"(?<=\| )(?:[^|\\]|\\.)*?(?= \|)", row) for row in rows]
        assert [read_markdown(row[-3]) for row in rows] == lines
        assert "<img" not in found._repr_html_()


def read_markdown(text):
    """The text that Markdown shows; raises for characters that are markup, and for links."""
    rest = re.sub(r"\\[!-/:-@[-`{-~]", "", text)
    assert not re.search(r"[\\`*_\[\]<>~&$|]|://|www\.|@\w+\.", rest)
    return re.sub(r"\\([!-/:-@[-`{-~])", r"\1", text)


def read_latex(text):
    """The text that LaTeX shows; raises for a character that is markup."""
    commands = {
        "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<",
        "textgreater": ">", "textbar": "|",
    }  # fmt: skip
    found = re.sub(r"\\(\w+)\{\}", lambda one: f"\0{ord(commands[one[1]])};", text)
    found = re.sub(r"\\([&%$#_{}])", lambda one: f"\0{ord(one[1])};", found)
    found = re.sub(r"\{([\[*]?)\}", r"\1", found)
    assert not re.search(r"[\\~^&%$#_{}<>|]", found)
    return re.sub(r"\0(\d+);", lambda one: chr(int(one[1])), found)
