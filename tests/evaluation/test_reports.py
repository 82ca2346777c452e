"""Reports of many metrics: values, intervals, texts, tables and plots."""

import inspect
import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import skrank
from skrank import stats, trec
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
        assert found.per_query.index.name == "qid"
        assert list(found.per_query.index) == data.ids
        for point in CATALOGUE:
            name, metric = str(point.settled), point.settled
            values = metric.per_query(data.relevance, data.scores, groups=data.groups)
            pd.testing.assert_series_equal(found.per_query[name], values, check_exact=True)
            assert found.mean[name] == metric(data.relevance, data.scores, groups=data.groups)
            assert found.empty[name] == values.isna().sum()

    def test_columns_are_full_names_in_the_given_order(self, data):
        found = report(data, metrics=["ndcg(gain=linear)@10", "gap", "mrr", "p@3"])
        expected = ["ndcg(gain=linear)@10", "gap", "rr", "precision@3"]
        for index in (found.per_query.columns, found.mean.index, found.empty.index):
            assert list(index) == expected
        assert list(found.to_frame().index) == expected
        assert list(report(data).mean.index) == list(DEFAULT_METRICS)
        for one in ("gap@5", skrank.metric("gap@5"), ("gap@5",)):
            assert list(report(data, metrics=one).mean.index) == ["gap@5"]

    def test_counts_and_shares(self):
        found = skrank.evaluate(
            [1, np.nan, 0, 0, np.nan, 2, 0, 1],
            [1, 2, 3, 1, 2, -np.inf, 1, 2],
            groups=["a", "a", "a", "b", "b", "c", "c", "c"],
            metrics=["gap", "ap(rel=2)", "ap(empty=0)"],
        )
        assert (found.n_queries, found.n_rows) == (3, 8)
        assert (found.judged_share, found.retrieved_share) == (0.75, 0.875)
        assert found.empty.to_dict() == {"gap": 1, "ap(rel=2.0)": 2, "ap(empty=0)": 1}
        table = found.to_frame()
        assert table["queries"].to_list() == [2, 1, 3]
        assert_array_equal(table["std"], found.per_query.std())
        assert found.mean["ap(empty=0)"] == found.per_query["ap(empty=0)"].mean()

    def test_weights_weigh_the_means_only(self, data):
        weight_of = {query: float(i % 3) for i, query in enumerate(data.ids)}
        weights = [weight_of[query] for query in data.groups]
        plain, weighted = report(data), report(data, sample_weight=weights)
        pd.testing.assert_frame_equal(plain.per_query, weighted.per_query)
        how = {"groups": data.groups, "sample_weight": weights}
        for name in DEFAULT_METRICS:
            assert weighted.mean[name] == skrank.metric(name)(data.relevance, data.scores, **how)

    def test_queries_of_weight_0_do_not_count(self, data):
        weights = [float(query != data.ids[0]) for query in data.groups]
        found = report(data, sample_weight=weights)
        counted = found.per_query.iloc[1:]
        table = found.to_frame()
        assert_array_equal(table["queries"], counted.count())
        assert_allclose(table["std"], counted.std(), rtol=1e-12)

    def test_max_grade_is_for_metrics_that_do_not_fix_it(self, data):
        found = report(data, metrics=["gap", "gap(max_grade=3)"], max_grade=5).per_query
        given = report(data, metrics=["gap(max_grade=5)", "gap"]).per_query
        assert_array_equal(found["gap"], given["gap(max_grade=5)"])
        assert_array_equal(found["gap(max_grade=3)"], given["gap"])

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ({"metrics": ["map", "ap"]}, r"metric '.*' is given twice"),
            ({"metrics": ["gap@5", skrank.metric("gap", k=5)]}, r"metric '.*' is given twice"),
            ({"metrics": []}, "metrics is empty: name at least one, such as 'gap'"),
            ({"max_grade": 0}, "max_grade=0 must be at least 1"),
        ],
    )
    def test_errors(self, data, how, message):
        with pytest.raises(ValueError, match=message):
            report(data, **how)

    @pytest.mark.parametrize(("relevance", "score"), [(0, 1), (np.nan, -np.inf)])
    def test_no_query_with_a_relevant_document(self, relevance, score):
        with pytest.warns(RuntimeWarning, match="no query has a relevant document"):
            found = skrank.evaluate([relevance] * 2, [score] * 2, groups=[1, 1], metrics="gap")
        assert np.isnan(found.mean["gap"])
        assert found.empty["gap"] == 1
        assert found.judged_share == found.retrieved_share == (relevance == 0)
        assert "1 queries, 2 documents" in repr(found)

    def test_ids_of_documents_given_for_ids_of_queries_warn(self):
        """They would make every ranker perfect."""

        def compare(relevance, scores, **how):
            return skrank.compare({"x": scores, "y": scores[::-1]}, relevance, **how)

        message = "each of the 3 queries has one document"
        for call in (skrank.evaluate, compare):
            with pytest.warns(UserWarning, match=message) as caught:
                call([1, 1, 2], [3.0, 2.0, 1.0], groups=["a", "b", "c"], metrics="ndcg")
            assert caught[0].filename == __file__
        assert skrank.evaluate([1], [1.0], groups=["a"], metrics="ndcg").mean["ndcg"] == 1


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
    @pytest.mark.parametrize("method", ["bootstrap-t", "percentile", "bca", "t"])
    def test_intervals_are_those_of_stats(self, method, metric, weights, confidence, n_resamples):
        """Those of a high confidence take more resamples."""
        found = ranked(weights=weights)
        how = {"weights": weights, "confidence": confidence}
        values = found.per_query[metric]
        if method == "t":
            expected = stats.t_interval(values, **how)
        else:
            expected = stats.bootstrap_interval(
                values, method=method, n_resamples=n_resamples, **how
            )
        table = found.to_frame(confidence, method)
        assert list(table.columns) == [*BOUNDS, "std", "queries", "empty"]
        assert_allclose(table.loc[metric, BOUNDS], [expected.mean, expected.low, expected.high])
        with pytest.raises(ValueError, match="interval='z'"):
            found.to_frame(interval="z")

    def test_geometric_mean(self):
        name, found = str(skrank.metric("ap(average=geometric)")), ranked()
        logarithms = np.log(found.per_query[name].clip(lower=1e-5))
        expected = stats.bootstrap_interval(logarithms, method="bootstrap-t")
        row = found.to_frame().loc[name, BOUNDS]
        assert_allclose(row, np.exp([expected.mean, expected.low, expected.high]))

    def test_undefined_means_and_few_queries(self):
        table = ranked(metrics=["gap(empty=nan)", "gap"]).to_frame()
        assert table.loc["gap(empty=nan)", BOUNDS].isna().all()
        assert table.loc["gap", BOUNDS].notna().all()
        few = skrank.evaluate([1, 0, 0], [3, 2, 1], groups=["a", "a", "b"], metrics=["gap", "p@1"])
        assert few.to_frame()[["low", "high"]].isna().all(axis=None)
        assert "NaN" in repr(few)

    def test_no_further_than_the_metric_reaches(self):
        relevance = skrank.with_groups([1, 0, 0, 2], ["a", "a", "b", "b"])
        table = skrank.evaluate(relevance, [4, 3, 2, 1], metrics=["gap", "dcg", "error@1"])
        table = table.to_frame()
        wide = stats.t_interval([1.0, 0.5])
        assert wide.low < 0 < 1 < wide.high
        assert table.loc["gap", ["low", "high"]].tolist() == [0, 1]
        assert table.loc["error@1", ["low", "high"]].tolist() == [0, 1]
        assert table.loc["dcg", "low"] == 0
        assert table.loc["dcg", "high"] > 3


# Texts, tables and plots --------------------------------------------------------------------------

SYSTEMS = {"new_x": DATA.X[:, 5], "other": DATA.X[:, 1], "old": DATA.X[:, 0]}


def compared(metrics, systems=SYSTEMS, **options):
    return skrank.compare(systems, DATA.relevance, groups=DATA.qid, metrics=metrics, **options)


def cells(markdown):
    """The rows of a Markdown table as lists of texts."""
    lines = [line for line in markdown.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_text_and_html_show_everything(data):
    found = report(data, metrics=["gap", "ndcg(gain=[0,1,3,10],ties=worst,condensed=True)@10"])
    html = found._repr_html_()
    assert str(found) == repr(found)
    assert html.startswith("<p>")
    assert "<table" in html
    for text in (repr(found), html):
        assert f"{len(data.ids)} queries, {len(data.groups)} documents" in text
        assert "judged" in text
        assert "retrieved" in text
        assert "ndcg(condensed=True,ties=worst,gain=[0.0,1.0,3.0,10.0])@10" in text
        assert f"{found.mean['gap']:.4f}" in text


@pytest.mark.parametrize("baseline", [None, "old"])
def test_marks_are_the_significant_differences(baseline):
    found = compared(["gap", "error@3"], alpha=0.2, baseline=baseline)
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
    assert latex.startswith("\\begin{table}\n\\centering\n\\caption{3 systems on 48 of 50 queries")
    for rule in ("\\toprule", "\\midrule", "\\bottomrule", "\\begin{tabular}{llrr}"):
        assert latex.count(rule) == 1
    body = latex[latex.index("\\midrule") : latex.index("\\bottomrule")].split("\n")[1:-1]
    rows = [line.removesuffix(r" \\").split(" & ") for line in body]
    expected = re.sub("<sup>(.*?)</sup>", r"$^{\1}$", found.to_markdown())
    assert rows == cells(re.sub(r"\*\*(.*?)\*\*", r"\\textbf{\1}", expected))[1:]
    assert "95 \\%" in latex
    assert "random\\_state=0" in latex


def test_special_characters_are_escaped():
    found = compared("gap", {"a_b&c": DATA.X[:, 5], "50%#{~^\\}|*": DATA.X[:, 1]})
    latex = found.to_latex()
    assert r"a\_b\&c &" in latex
    assert r"50\%\#\{\textasciitilde{}\textasciicircum{}\textbackslash{}\}|* &" in latex
    assert r"| 50%#{~^\}\|\* |" in found.to_markdown()


def test_many_systems_have_numbers():
    noise = np.random.default_rng(0).normal(size=(27, len(DATA.qid)))
    systems = {f"s{i}": one for i, one in enumerate(noise[:26])}
    systems["good"] = DATA.relevance + noise[26] / 9
    table = compared("gap", systems, n_resamples=200).to_markdown()
    assert "<sup>1,2,3,4," in table
    assert cells(table)[-1][0] == "27"


def test_reports_of_one_ranking_and_of_runs():
    found = ranked(["gap", "ap"])
    head, *rows = cells(found.to_markdown(2))
    assert head == ["metric", "mean", "low", "high", "queries"]
    assert [row[0] for row in rows] == ["gap", "ap"]
    assert (rows[0][1], rows[0][-1]) == (f"{found.mean['gap']:.2f}", "48")
    qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    runs = {"bm25": {"q1": {"d2": 9, "d1": 8, "d3": 7}}, "dense": {"q1": {"d1": 9, "d3": 7}}}
    found = trec.evaluate(qrels, runs, ["gap", "trec_eval:map"])
    head, *rows = cells(found.to_markdown())
    assert head == ["run", "gap", r"trec\_eval:map"]
    assert rows[1] == ["dense", "**1.000**", "**1.000**"]
    assert r"dense & \textbf{1.000} & \textbf{1.000} \\" in found.to_latex()


@pytest.mark.parametrize("digits", [-1, 1.5, "2"])
def test_digits_are_a_number(digits):
    with pytest.raises(ValueError, match="digits="):
        compared("gap").to_latex(digits)


def test_plots_are_those_of_the_displays():
    import matplotlib.pyplot as plt

    found = compared(["gap", "ap"])
    assert list(found.plot().table["value"]) == sorted(found.to_frame()["difference"][:3])
    assert found.plot("ap", color="C3").ax_.get_xlabel() == "difference of ap"
    one = ranked(["gap", "ap"])
    shown = one.plot(ax=plt.figure().gca()).table["value"].sort_index()
    pd.testing.assert_series_equal(shown, one.mean.sort_index(), check_names=False)
    assert list(one.plot("ap").table["value"]) == [one.mean["ap"]]
    folds = skrank.compare({"a": [0.1, 0.2, 0.4], "b": [0.3, 0.1, 0.2], "c": [0.1, 0.1, 0.2]})
    assert [row[1] for row in cells(folds.to_markdown())[1:]] == list("abc")
    assert len(folds.plot().table) == 3
    for drawn in (found, one):
        with pytest.raises(ValueError, match="metric"):
            drawn.plot("ndcg")
    plt.close("all")
