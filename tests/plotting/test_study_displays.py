"""Displays of studies show the values of their results."""

import numpy as np
import pandas as pd
import pytest

from skrank import stats, trec
from skrank.incompleteness import robustness
from skrank.plotting import (
    ASLCurveDisplay,
    MetricScatterDisplay,
    RobustnessDisplay,
    TauMatrixDisplay,
)
from tests.helpers.plotting_cases import texts

METRICS = ["gap", "gap(condensed=True)", "ndcg@10", "error@5"]


@pytest.fixture(scope="module")
def collection():
    random = np.random.default_rng(0)
    qid, docid = np.repeat(np.arange(12), 40), np.tile(np.arange(40), 12)
    label = random.choice(3, p=[0.6, 0.25, 0.15], size=len(qid))
    label[qid == 3] = 0
    pooled = random.random(len(qid)) < 0.7
    qrels = trec.Qrels.from_arrays(qid[pooled], docid[pooled], label[pooled])
    runs = [
        trec.Run.from_arrays(
            qid, docid, label + (0.5 + 0.3 * r) * random.normal(size=len(qid)), name=f"run{r}"
        )
        for r in range(6)
    ]
    return qrels, runs


@pytest.fixture(scope="module")
def report(collection):
    qrels, runs = collection
    return trec.evaluate(qrels, runs, METRICS)


@pytest.fixture(scope="module")
def study(collection):
    return robustness(*collection, METRICS, [100, 50, 20], n_repeats=2, n_resamples=50)


class TestASLCurve:
    def test_is_the_curve_of_the_statistic(self, report):
        shown = ASLCurveDisplay.from_report(
            report, ["ndcg@10", "gap"], n_resamples=100, random_state=3, alpha=0.1, linewidth=3
        )
        assert list(shown.lines_) == ["ndcg@10", "gap"]
        for name, line in shown.lines_.items():
            matrix = report.per_query[name].unstack("run", sort=False)
            found = stats.discriminative_power(matrix, alpha=0.1, n_resamples=100, random_state=3)
            rank, level = line.get_data()
            assert rank.tolist() == list(range(1, 16))
            np.testing.assert_array_equal(level, found.asl_curve)
            assert f"{name} ({found.power:.1%}, difference" in line.get_label()
            assert line.get_linewidth() == 3
        assert shown.ax_.get_yscale() == "log"
        assert set(shown.line_.get_ydata()) == {0.1}
        assert texts(shown.ax_)[-1] == "significant at 0.1"

    def test_levels_of_zero_do_not_change_the_axis_limits(self):
        matrix = np.column_stack([np.linspace(0, 1, 30), np.linspace(5, 6.1, 30), np.ones(30)])
        found = stats.discriminative_power(matrix, n_resamples=100)
        assert (found.asl == 0).any()
        shown = ASLCurveDisplay({"x": found}).plot()
        assert 0.001 < shown.ax_.get_ylim()[0] < 0.05

    def test_all_metrics_by_default(self, report):
        assert list(ASLCurveDisplay.from_report(report, n_resamples=10).lines_) == METRICS

    def test_errors(self, report):
        with pytest.raises(ValueError, match="unknown metric 'gap@5'"):
            ASLCurveDisplay.from_report(report, ["gap@5"])
        with pytest.raises(ValueError, match="powers is empty"):
            ASLCurveDisplay({})
        matrix = np.random.default_rng(0).random((9, 3))
        powers = {a: stats.discriminative_power(matrix, alpha=a) for a in (0.01, 0.05)}
        with pytest.raises(ValueError, match="different alpha"):
            ASLCurveDisplay(powers)


class TestRobustness:
    @pytest.mark.parametrize("column", ["tau_b", "tau_ap", "power", "required_difference", "mean"])
    def test_is_the_table(self, study, column):
        shown = RobustnessDisplay(study).plot(column=column)
        table = study.pivot(column)
        for name, line in shown.lines_.items():
            percent, value = line.get_data()
            np.testing.assert_allclose(value, table.loc[name, percent])
            assert percent.tolist() == [20, 50, 100]
        assert list(shown.lines_) == METRICS
        assert shown.ax_.get_ylabel()
        left, right = shown.ax_.get_xlim()
        assert left > 100 > 20 > right

    def test_condensed_lists(self, study):
        lines = RobustnessDisplay(study).plot().lines_
        raw, condensed, other = (lines[name] for name in METRICS[:3])
        assert raw.get_color() == condensed.get_color() != other.get_color()
        assert (raw.get_linestyle(), condensed.get_linestyle()) == ("-", "--")

    def test_choice_and_axes(self, study):
        shown = RobustnessDisplay(study)
        ax = shown.plot(metrics=["gap"], color="red").ax_
        assert list(shown.lines_) == ["gap"]
        assert shown.lines_["gap"].get_color() == "red"
        assert shown.plot(ax, metrics=["ndcg@10"]).ax_ is ax
        assert texts(ax) == ["gap", "ndcg@10"]

    def test_band_of_repeats(self, collection, study):
        shown = RobustnessDisplay(study).plot(metrics=["gap"], column="mean")
        (band,) = shown.ax_.collections
        mine = study.table.query("metric == 'gap' and percent == 20")["mean"]
        heights = band.get_paths()[0].vertices
        at_20 = heights[heights[:, 0] == 20, 1]
        assert (at_20.min(), at_20.max()) == pytest.approx((mine.min(), mine.max()))
        once = robustness(*collection, "gap", [100, 50], n_resamples=10)
        assert not RobustnessDisplay(once).plot().ax_.collections

    def test_errors(self, study):
        with pytest.raises(ValueError, match="column='queries'"):
            RobustnessDisplay(study).plot(column="queries")
        with pytest.raises(ValueError, match="unknown metric 'ap'"):
            RobustnessDisplay(study).plot(metrics=["ap"])
        with pytest.raises(ValueError, match="no metric is chosen: pass some of 'gap'"):
            RobustnessDisplay(study).plot(metrics=[])


class TestTauMatrix:
    @pytest.mark.parametrize("method", ["tau_b", "tau_ap"])
    def test_is_the_correlation(self, report, method):
        shown = TauMatrixDisplay.from_report(report, method=method)
        for a in METRICS:
            for b in METRICS:
                x, y = (report.mean[m] * (-1 if m == "error@5" else 1) for m in (a, b))
                expected = stats.tau_b(x, y) if method == "tau_b" else stats.tau_ap(x, y, ties="b")
                assert shown.matrix.loc[a, b] == pytest.approx(expected)
        np.testing.assert_array_equal(shown.image_.get_array(), shown.matrix)
        labels = [text.get_text() for text in shown.ax_.get_xticklabels()]
        assert labels == METRICS
        cells = [text.get_text() for text in shown.ax_.texts]
        assert cells == [f"{value:.2f}" for value in shown.matrix.to_numpy().ravel()]

    def test_metric_that_is_not_defined(self):
        means = pd.DataFrame({"a": [1, 2, 3], "b": [np.nan] * 3, "c": [2, np.nan, 1]})
        shown = TauMatrixDisplay(means).plot()
        assert np.isnan(shown.matrix["b"]).all()
        assert shown.matrix.loc["a", "c"] == -1

    def test_errors(self, report):
        with pytest.raises(ValueError, match="method='tau'"):
            TauMatrixDisplay.from_report(report, method="tau")
        with pytest.raises(ValueError, match="unknown metric 'ap'"):
            TauMatrixDisplay.from_report(report, ["ap"])
        with pytest.raises(ValueError, match="means has 1 system"):
            TauMatrixDisplay(report.mean[:1])


class TestMetricScatter:
    def test_means(self, report):
        shown = MetricScatterDisplay.from_report(report, "gap", "ndcg@10", s=5)
        expected = report.mean[["gap", "ndcg@10"]]
        np.testing.assert_allclose(shown.scatter_.get_offsets(), expected)
        assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("gap", "ndcg@10")
        tau = stats.tau_b(*expected.to_numpy().T)
        assert shown.ax_.get_title() == f"tau_b = {tau:.3f}, 6 systems"

    def test_queries(self, report):
        shown = MetricScatterDisplay.from_report(report, "gap", "ndcg@10", run="run2")
        expected = report.per_query.loc["run2", ["gap", "ndcg@10"]].dropna()
        np.testing.assert_allclose(shown.scatter_.get_offsets(), expected)
        assert shown.n_empty == 1
        assert shown.tau == stats.tau_b(*expected.to_numpy().T)
        title = shown.ax_.get_title()
        assert title.endswith("11 queries of run2; not defined on 1 more")

    def test_errors(self, report):
        draw = MetricScatterDisplay.from_report
        with pytest.raises(ValueError, match="unknown metric 'ap'"):
            draw(report, "gap", "ap")
        with pytest.raises(ValueError, match="unknown run 'run9'"):
            draw(report, "gap", "ndcg@10", run="run9")
        with pytest.raises(ValueError, match=r"x has shape \(2,\) and y \(3,\)"):
            MetricScatterDisplay([1, 2], [1, 2, 3])
        with pytest.raises(ValueError, match="1 of 2 systems have a value"):
            MetricScatterDisplay([1, np.nan], [1, 2])


@pytest.mark.parametrize(
    "display",
    [
        TauMatrixDisplay(pd.DataFrame({"a": [1, 2], "b": [2, 1]})),
        MetricScatterDisplay([1, 2], [2, 1]),
        ASLCurveDisplay({"x": stats.discriminative_power(np.eye(5)[:, :3])}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_plots_again_on_given_axes(display):
    first = display.plot()
    assert first is display
    ax = first.figure_.add_subplot(111)
    assert display.plot(ax).ax_ is ax
    assert display.figure_ is ax.figure
