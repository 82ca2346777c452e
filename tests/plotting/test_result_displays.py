"""Displays of intervals show the values of results."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from skrank.plotting import (
    IntervalDisplay,
    PrecisionRecallDisplay,
)
from tests.helpers.plotting_cases import row_names


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrecisionRecallDisplay(np.arange(2), np.ones(2)),
        lambda: IntervalDisplay(TABLE),
    ],
)
def test_plots_again_on_new_and_on_given_axes(make):
    display = make()
    ax = display.plot().ax_
    assert display.plot().ax_ is not ax
    assert display.plot(ax).ax_ is ax


@pytest.mark.parametrize("dtype", [bool, int, object])
def test_rows_that_are_not_significant_are_faint(dtype):
    table = pd.DataFrame(
        {"value": range(3), "low": -1, "high": 3, "significant": [True, False, True]}
    )
    shown = IntervalDisplay(table.astype({"significant": dtype})).plot()
    assert [len(bars_of(bars)) for bars in (shown.bars_, shown.faint_bars_)] == [2, 1]


def test_what_cannot_be_drawn(report):
    with pytest.raises(ValueError, match="metric"):
        report.plot("ap")
    with pytest.raises(ValueError, match="table"):
        IntervalDisplay(TABLE[:0][["value"]])


def test_dollars_in_names_are_text():
    """matplotlib would draw them as formulas, or refuse what is not one."""
    name = "$\\no$ $x$"
    table = TABLE.set_axis([name], axis=0)
    for display in (
        IntervalDisplay(table, label=name, title=name),
        PrecisionRecallDisplay([0, 1], [1, 1], name=name),
    ):
        display.plot().figure_.draw_without_rendering()
        assert any("$" in text.get_text() for text in display.figure_.findobj(Text))


def test_the_error_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"IntervalDisplay .* skrank\[plot\]"):
        IntervalDisplay(TABLE).plot()
