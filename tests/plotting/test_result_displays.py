"""Displays of intervals, systems and studies show the values of results."""

import itertools
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import skrank
from skrank import informativeness, stats
from skrank.incompleteness import robustness
from skrank.plotting import (
    InformativenessDisplay,
    IntervalDisplay,
    LinesDisplay,
    PrecisionRecallDisplay,
    QueryComparisonDisplay,
    TauMatrixDisplay,
)
from tests.helpers.plotting_cases import collection, row_names, texts

METRICS = ["gap", "gap(condensed=True)", "ndcg@10", "error@5"]


@pytest.fixture(scope="module")
def study():
    return robustness(*collection(), METRICS, [100, 50, 20], n_repeats=2, n_resamples=50)


def test_powers_are_the_curves_of_the_statistic(report):
    powers = {
        name: stats.discriminative_power(
            report.per_query[name].unstack("system", sort=False), n_resamples=100, confidence=0.9
        )
        for name in ("ndcg@10", "gap")
    }
    shown = LinesDisplay.from_powers(powers, linewidth=3)
    assert list(shown.lines_) == ["ndcg@10", "gap", "90 % confidence"]
    for name, found in powers.items():
        rank, level = shown.lines_[name].get_data()
        above = found.asl_curve > 0
        assert rank.tolist() == (np.flatnonzero(above) + 1).tolist()
        np.testing.assert_array_equal(level, found.asl_curve[above])
        assert f"{name} ({found.power:.1%}, difference" in shown.lines_[name].get_label()
    assert shown.ax_.get_yscale() == "log"
    assert 0.001 < shown.ax_.get_ylim()[0] < 0.05  # levels of 0 are not drawn
    assert set(shown.lines_["90 % confidence"].get_ydata()) == {0.1}


class TestRobustness:
    def test_is_the_table(self, study):
        shown, table = study.plot("tau_b"), study.pivot("tau_b")
        assert list(shown.lines_) == METRICS
        for name, line in shown.lines_.items():
            percent, value = line.get_data()
            np.testing.assert_allclose(value, table.loc[name, percent])
            assert percent.tolist() == [20, 50, 100]


class TestTauMatrix:
    @pytest.mark.parametrize("method", ["tau_b", "tau_ap"])
    def test_is_the_correlation(self, report, method):
        shown = TauMatrixDisplay(report.mean, method=method).plot()
        for a, b in itertools.product(METRICS, repeat=2):
            x, y = (report.mean[m] * (-1 if m == "error@5" else 1) for m in (a, b))
            expected = stats.tau_b(x, y) if method == "tau_b" else stats.tau_ap(x, y, ties="b")
            assert shown.matrix.loc[a, b] == pytest.approx(expected)
        np.testing.assert_array_equal(shown.image_.get_array(), shown.matrix)
        cells = [text.get_text() for text in shown.ax_.texts]
        assert cells == [f"{value:.2f}" for value in shown.matrix.to_numpy().ravel()]

    def test_metric_that_is_not_defined(self):
        means = pd.DataFrame({"a": [1, 2, 3], "b": [np.nan] * 3, "c": [2, np.nan, 1]})
        shown = TauMatrixDisplay(means).plot()
        assert np.isnan(shown.matrix["b"]).all()
        assert shown.matrix.loc["a", "c"] == -1


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

    def test_points_of_three_grades(self):
        study = informative(3, 3)
        shown = InformativenessDisplay(study.mean[[2.0, 3.0]]).plot()
        np.testing.assert_allclose(shown.scatter_.get_offsets(), shown.thresholds[:, [0, 2]])
        error = errors(study, shown, [2.0, 3.0]).mean(axis=1)
        np.testing.assert_allclose(shown.scatter_.get_array(), error)
        assert texts(shown.ax_)[0].startswith(f"least: {error.min():.4f} at ")


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

    def test_open_intervals(self):
        found = stats.max_t([[0.5, 0.4], [0.7, 0.4]])
        table = pd.DataFrame({"value": found.difference, "low": found.low, "high": found.high})
        shown = IntervalDisplay(table, reference=0).plot()
        (left, right), (drawn,) = shown.ax_.get_xlim(), bars_of(shown.faint_bars_)
        assert np.isfinite([left, right]).all()
        assert drawn[0] <= left < found.difference[0] < right <= drawn[1]
        unknown = pd.DataFrame({"value": [np.nan], "low": [-np.inf], "high": [np.inf]})
        assert np.isfinite(IntervalDisplay(unknown).plot().ax_.get_xlim()).all()


class TestQueryComparison:
    @pytest.mark.parametrize("metric", ["gap", "ndcg@10", "ap(condensed=True)"])
    def test_is_the_comparison(self, data, metric):
        relevance, scores, qid = data
        systems = {"a": scores, "b": np.where(np.arange(len(qid)) % 3, scores, -scores.clip(-9))}
        found = skrank.compare(relevance, systems, groups=qid, metrics=metric, n_resamples=10)
        values = found.per_query[found.means.columns[0]]
        shown = QueryComparisonDisplay(values["a"], values["b"], metric=metric).plot()
        row = found.to_frame().iloc[0]
        assert (shown.wins, shown.ties, shown.losses) == (row.wins, row.ties, row.losses)
        assert len(shown.difference) == row.queries
        assert shown.n_empty > 0
        assert shown.difference.mean() == pytest.approx(row.difference)
        assert f"{row.wins} wins, {row.ties} ties, {row.losses} losses" in shown.ax_.get_title()
        assert texts(shown.ax_)[-1] == f"mean difference = {row.difference:+.3f}"

    def test_bars_are_sorted(self):
        values = [0.5, 0.2, 0.9, np.nan], [0.3, 0.2, 1.0, np.nan]
        shown = QueryComparisonDisplay(*values, names=("new", "old")).plot()
        above, below = (bars.get_paths()[0].get_extents() for bars in shown.bars_)
        assert (above.y0, above.y1) == pytest.approx((0, 0.2))
        assert (below.y0, below.y1) == pytest.approx((-0.1, 0))
        assert texts(shown.ax_) == ["new better", "old better", "mean difference = +0.033"]
        shown = QueryComparisonDisplay(*values, metric="error@5").plot()
        assert (shown.wins, shown.ties, shown.losses) == (1, 1, 1)
        assert texts(shown.ax_)[:2] == ["b better", "a better"]  # above the line, below it


MATRIX = np.random.default_rng(0).random((9, 3))
POWERS = {one: stats.discriminative_power(MATRIX, confidence=one) for one in (0.99, 0.95)}
TABLE = pd.DataFrame({"value": [1], "low": [0], "high": [2]})
ERRORS = pd.DataFrame({1.0: [0.1, 0.2]}, ["gap(thresholds=[0.5,0.5])", "gap(thresholds=[0.0,1.0])"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinesDisplay(TABLE),
        lambda: PrecisionRecallDisplay(np.arange(2), np.ones(2)),
        lambda: InformativenessDisplay(ERRORS),
        lambda: IntervalDisplay(TABLE),
        lambda: QueryComparisonDisplay([0.1, 0.2], [0.2, 0.1]),
        lambda: TauMatrixDisplay(pd.DataFrame({"a": [1, 2], "b": [2, 1]})),
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
        (lambda: LinesDisplay.from_powers({}), "powers"),
        (lambda: LinesDisplay.from_powers(POWERS), "different confidence"),
        (lambda: TauMatrixDisplay(TABLE, method="tau"), "method='tau'"),
        (lambda: InformativenessDisplay(ERRORS[:1]), "at least 2"),
        (lambda: IntervalDisplay(TABLE[:0][["value"]]), "table"),
        (lambda: QueryComparisonDisplay([0.1], [0.2], names=("a", "a")), "names="),
        (lambda: QueryComparisonDisplay([0.1, 0.2], [0.1]), "same queries"),
        (lambda: QueryComparisonDisplay([np.nan], [0.2]), "no query"),
    ],
)
def test_wrong_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_wrong_columns_and_metrics_of_reports(report, study):
    for call in (lambda: report.plot("ap"), lambda: study.plot("queries"),
                 lambda: study.plot(metrics=["ap"])):  # fmt: skip
        with pytest.raises(ValueError, match=r"metric|column"):
            call()


def test_dollars_in_names_are_text(report):
    """matplotlib would draw them as formulas, or refuse what is not one."""
    name = "$\\no$ $x$"
    table = TABLE.set_axis([name], axis=0)
    lines = pd.DataFrame({name: [1, 2]})
    means = report.mean.rename(index=lambda run: f"{name}{run}", columns=lambda one: f"{one}$x$")
    for display in (
        IntervalDisplay(table, label=name), LinesDisplay(lines), TauMatrixDisplay(means),
        QueryComparisonDisplay([0.1, 0.2], [0.2, 0.1], names=(name, "b")),
        PrecisionRecallDisplay([0, 1], [1, 1], name=name),
    ):  # fmt: skip
        display.plot().figure_.draw_without_rendering()
        assert any("$" in text.get_text() for text in display.figure_.findobj(Text))


def test_the_error_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"IntervalDisplay .* skrank\[plot\]"):
        IntervalDisplay(TABLE).plot()
