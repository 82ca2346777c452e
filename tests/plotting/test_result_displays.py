"""Displays of intervals, systems and studies show the values of results."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import skrank
from skrank import informativeness
from skrank.plotting import (
    InformativenessDisplay,
    IntervalDisplay,
    PrecisionRecallDisplay,
)
from tests.helpers.plotting_cases import collection, row_names


def informative(n_grades, n_steps):
    """A study of GAP with thresholds that are multiples of ``1 / n_steps``."""
    qrels, runs = collection(n_grades + 1)
    grid = np.random.default_rng(0).permutation(informativeness.threshold_grid(n_grades, n_steps))
    metrics = [*(skrank.metrics.GAP(thresholds=tuple(g)) for g in grid), "ndcg", "ap"]
    return informativeness.study(qrels, runs[:2], metrics, min_retrieved=1)


def errors(study, shown, level):
    """Errors of the GAP metrics in the order of the display."""
    names = [str(skrank.metrics.GAP(thresholds=tuple(g))) for g in shown.thresholds]
    return study.mean.loc[names, level]


class TestInformativeness:
    def test_lines_of_two_grades(self):
        study = informative(2, 4)
        shown = InformativenessDisplay(study.mean).plot()
        np.testing.assert_allclose(shown.thresholds[:, 0], [0, 0.25, 0.5, 0.75, 1])
        for level in (1.0, 2.0):
            line = shown.lines_["gap", level]
            np.testing.assert_allclose(line.get_xdata(), shown.thresholds[:, 0])
            np.testing.assert_allclose(line.get_ydata(), errors(study, shown, level))
            assert set(shown.lines_["ndcg", level].get_ydata()) == {study.mean.loc["ndcg", level]}


def bars_of(container):
    (lines,) = container[2]
    return np.array([segment[:, 0] for segment in lines.get_segments()])


class TestIntervals:
    def test_report(self, report):
        shown = report.plot("gap")
        expected = report.to_frame().xs("gap", level="metric").sort_values("mean")
        assert row_names(shown) == list(expected.index)
        np.testing.assert_allclose(bars_of(shown.bars_), expected[["low", "high"]])
        assert shown.ax_.get_title() == "95 % intervals of means"
        panels = report.plot().figure_.axes
        assert [ax.get_xlabel() for ax in panels] == [f"mean {name}" for name in report.metric_of]

    @pytest.mark.parametrize("test", ["max-t", "t"])
    def test_comparison(self, report, test):
        found = report.compare(test=test, confidence=0.8)
        shown = found.plot("ndcg@10")
        table = found.to_frame().query("metric == 'ndcg@10'").sort_values("difference")
        assert len(row_names(shown)) == 15
        assert row_names(shown)[0] == f"{table['system'].iloc[0]} \u2212 {table['other'].iloc[0]}"
        sure = table["significant"]
        assert 0 < sure.sum() < 15
        for bars, rows in ((shown.bars_, sure), (shown.faint_bars_, ~sure)):
            np.testing.assert_allclose(bars_of(bars), table.loc[rows, ["low", "high"]])
        assert "grey: not significant" in shown.ax_.get_title()
        assert found.caption.split("; ")[1] == shown.figure_.get_supxlabel().replace("\n", " ")
        panels = found.plot().figure_.axes
        assert [ax.get_xlabel() for ax in panels] == [
            f"difference of {m}" for m in report.metric_of
        ]


TABLE = pd.DataFrame({"value": [1], "low": [0], "high": [2]})
ERRORS = pd.DataFrame({1.0: [0.1, 0.2]}, ["gap(thresholds=[0.5,0.5])", "gap(thresholds=[0.0,1.0])"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrecisionRecallDisplay(np.arange(2), np.ones(2)),
        lambda: InformativenessDisplay(ERRORS),
        lambda: IntervalDisplay(TABLE),
    ],
)
def test_plots_again_on_new_and_on_given_axes(make):
    display = make()
    ax = display.plot().ax_
    assert display.plot().ax_ is not ax
    assert display.plot(ax).ax_ is ax


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: InformativenessDisplay(ERRORS[:1]), "at least 2"),
        (lambda: IntervalDisplay(TABLE[:0][["value"]]), "table"),
    ],
)
def test_wrong_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_a_report_has_no_plot_of_other_metrics(report):
    with pytest.raises(ValueError, match="metric"):
        report.plot("ap")


def test_dollars_in_names_are_text():
    """matplotlib would draw them as formulas, or refuse what is not one."""
    name = "$\\no$ $x$"
    table = TABLE.set_axis([name], axis=0)
    for display in (
        IntervalDisplay(table, label=name),
        PrecisionRecallDisplay([0, 1], [1, 1], name=name),
    ):
        display.plot().figure_.draw_without_rendering()
        assert any("$" in text.get_text() for text in display.figure_.findobj(Text))


def test_the_error_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"IntervalDisplay .* skrank\[plot\]"):
        IntervalDisplay(TABLE).plot()
