"""Tables of reports in LaTeX and Markdown, with marks, and their plots."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
from skrank import trec
from skrank.datasets import make_ranking

mpl.use("agg")
DATA = make_ranking(50, random_state=0)
SYSTEMS = {"new_x": DATA.X[:, 5], "other": DATA.X[:, 1], "old": DATA.X[:, 0]}


def compared(metrics, **options):
    return skrank.compare(SYSTEMS, DATA.relevance, groups=DATA.qid, metrics=metrics, **options)


def cells(markdown):
    """The rows of a Markdown table as lists of texts."""
    lines = [line for line in markdown.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("baseline", [None, "old"])
def test_marks_are_the_significant_differences(baseline):
    found = compared(["gap", "error@3"], alpha=0.2, baseline=baseline)
    table = found.to_frame()
    head, *rows = cells(found.to_markdown(4))
    assert head == ["#", "system", "gap", "error@3"]
    letters = dict(zip(SYSTEMS, "abc", strict=True))
    assert table["significant"].any()
    for letter, name, *values in rows:
        name = name.replace("\\", "")
        assert letter == letters[name]
        for metric, text in zip(["gap", "error@3"], values, strict=True):
            better = {
                letters[loser]
                for row in table[table["metric"] == metric].itertuples()
                for winner, loser, sign in [(row.system, row.other, 1), (row.other, row.system, -1)]
                if row.significant
                and winner == name
                and sign * row.difference * (1 if metric == "gap" else -1) > 0
            }
            marks = re.search("<sup>(.*)</sup>", text)
            assert set(marks[1] if marks else "") == better
            value = re.sub(r"\*\*|<sup>.*", "", text)
            assert value == f"{found.means.loc[name, metric]:.4f}"
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
    expected = [
        [
            re.sub(r"\*\*(.*)\*\*", r"\\textbf{\1}", re.sub("<sup>(.*)</sup>", r"$^{\1}$", cell))
            for cell in row
        ]
        for row in cells(found.to_markdown())[1:]
    ]
    assert rows == expected
    assert "95 \\%" in latex
    assert "random\\_state=0" in latex


def test_special_characters_are_escaped():
    odd = {"a_b&c": DATA.X[:, 5], "50%#{~^\\}|*": DATA.X[:, 1]}
    found = skrank.compare(odd, DATA.relevance, groups=DATA.qid, metrics="gap")
    latex = found.to_latex()
    assert r"a\_b\&c &" in latex
    assert r"50\%\#\{\textasciitilde{}\textasciicircum{}\textbackslash{}\}|* &" in latex
    assert r"| 50%#{~^\}\|\* |" in found.to_markdown()


def test_many_systems_have_numbers():
    rng = np.random.default_rng(0)
    noise = {f"s{i}": rng.normal(size=len(DATA.qid)) for i in range(26)}
    systems = noise | {"good": DATA.relevance + rng.normal(size=len(DATA.qid)) / 9}
    found = skrank.compare(systems, DATA.relevance, groups=DATA.qid, metrics="gap", n_resamples=200)
    assert "<sup>1,2,3,4," in found.to_markdown()
    assert cells(found.to_markdown())[-1][0] == "27"


def test_reports_of_one_ranking_and_of_runs():
    report = skrank.evaluate(DATA.relevance, DATA.X[:, 5], groups=DATA.qid, metrics=["gap", "ap"])
    head, *rows = cells(report.to_markdown(2))
    assert head == ["metric", "mean", "low", "high", "queries"]
    assert [row[0] for row in rows] == ["gap", "ap"]
    assert rows[0][1] == f"{report.mean['gap']:.2f}"
    assert rows[0][-1] == "48"
    qrels = {"q1": {"d1": 2, "d2": 0, "d3": 1}, "q2": {"d1": 1, "d4": 0}}
    runs = {
        "bm25": {"q1": {"d2": 0.9, "d1": 0.8, "d3": 0.7}, "q2": {"d4": 0.7, "d1": 0.6}},
        "dense": {"q1": {"d1": 0.9, "d2": 0.5, "d3": 0.7}, "q2": {"d4": 0.2, "d1": 0.6}},
    }
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
    display = found.plot("ap", color="C3")
    assert display.ax_.get_xlabel() == "difference of ap"
    report = skrank.evaluate(DATA.relevance, DATA.X[:, 5], groups=DATA.qid, metrics=["gap", "ap"])
    shown = report.plot(ax=plt.figure().gca())
    assert list(report.plot("ap").table["value"]) == [report.mean["ap"]]
    pd.testing.assert_series_equal(
        shown.table["value"].sort_index(), report.mean.sort_index(), check_names=False
    )
    for one in (found, report):
        with pytest.raises(ValueError, match="metric"):
            one.plot("ndcg")
    plt.close("all")


def test_results_of_searches():
    """A search is compared, and the comparison is a table and a plot."""
    y = skrank.with_groups(DATA.relevance, DATA.qid)
    search = GridSearchCV(
        Ridge(), {"alpha": [1, 100, 10000]}, scoring=skrank.scorer("gap"), cv=skrank.QueryKFold(3)
    ).fit(DATA.X, y)
    found = skrank.compare(search)
    assert [row[1] for row in cells(found.to_markdown())[1:]] == list(found.means.index)
    assert len(found.plot().table) == 3
