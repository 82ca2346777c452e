"""Displays of statistics: intervals, posteriors, names of points, and triangles of thresholds."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.integrate

import skrank
from skrank import informativeness, stats, trec
from skrank.plotting import (
    InformativenessDisplay,
    IntervalDisplay,
    MetricScatterDisplay,
    PosteriorDisplay,
)
from tests.helpers.informativeness_cases import made
from tests.helpers.plotting_cases import texts


@pytest.fixture(scope="module")
def collection():
    random = np.random.default_rng(0)
    qid, docid = np.repeat(np.arange(12), 40), np.tile(np.arange(40), 12)
    label = random.choice(4, p=[0.5, 0.25, 0.15, 0.1], size=len(qid))
    runs = [
        trec.Run.from_arrays(
            qid, docid, label + (0.5 + 0.4 * r) * random.normal(size=len(qid)), name=f"run{r}"
        )
        for r in range(6)
    ]
    return trec.Qrels.from_arrays(qid, docid, label), runs


@pytest.fixture(scope="module")
def report(collection):
    return trec.evaluate(*collection, ["gap", "ndcg"])


@pytest.fixture(scope="module")
def study(collection):
    qrels, runs = collection
    thirds = [(a / 3, b / 3, (3 - a - b) / 3) for a in range(4) for b in range(4 - a)]
    names = [skrank.metrics.GAP(thresholds=g) for g in thirds]
    return informativeness.study(qrels, runs[0], [*names, "ndcg"])


def bars_of(container):
    (lines,) = container[2]
    return np.array([segment[:, 0] for segment in lines.get_segments()])


def row_names(shown):
    return [label.get_text() for label in shown.ax_.get_yticklabels()]


class TestIntervals:
    def test_report(self, report):
        shown = IntervalDisplay.from_report(report, "gap", interval="t")
        expected = report.intervals(interval="t").xs("gap", level="metric").sort_values("mean")
        assert row_names(shown) == list(expected.index)
        np.testing.assert_allclose(bars_of(shown.bars_), expected[["low", "high"]])
        assert shown.faint_bars_ is None
        assert shown.ax_.get_xlabel() == "mean gap"
        assert shown.ax_.get_title() == "each interval holds by itself at 95 %"

    @pytest.mark.parametrize("correction", ["holm", "max-t", "none"])
    def test_comparison(self, report, correction):
        found = report.compare(correction=correction)
        shown = IntervalDisplay.from_comparison(found, "ndcg")
        table = found.to_frame().query("metric == 'ndcg'").sort_values("difference")
        assert len(row_names(shown)) == 15
        assert row_names(shown)[0] == f"{table['system'].iloc[0]} \u2212 {table['other'].iloc[0]}"
        holds = (table["low"] <= 0) & (table["high"] >= 0)
        assert 0 < holds.sum() < 15
        for bars, rows in ((shown.bars_, ~holds), (shown.faint_bars_, holds)):
            np.testing.assert_allclose(bars_of(bars), table.loc[rows, ["low", "high"]])
        each = "each by itself" if correction == "none" else "all together"
        assert shown.ax_.get_title() == f"intervals hold {each} at 95 %"

    def test_figures_grow_with_the_number_of_systems(self):
        n = 120
        table = pd.DataFrame({"value": range(n), "low": range(n), "high": range(1, n + 1)})
        shown = IntervalDisplay(table).plot()
        shown.figure_.draw_without_rendering()
        boxes = [label.get_window_extent() for label in shown.ax_.get_yticklabels()]
        assert all(lower.y1 <= upper.y0 for lower, upper in itertools.pairwise(boxes))

    def test_open_intervals(self):
        found = stats.max_t([[0.5, 0.4], [0.7, 0.4]])
        table = pd.DataFrame({"value": found.difference, "low": found.low, "high": found.high})
        shown = IntervalDisplay(table, reference=0).plot()
        assert np.isfinite(shown.ax_.get_xlim()).all()

    def test_errors(self, report):
        with pytest.raises(ValueError, match="unknown metric 'ap'"):
            IntervalDisplay.from_report(report, "ap")
        with pytest.raises(ValueError, match=r"0 rows and lacks \['high'\]"):
            IntervalDisplay(pd.DataFrame({"value": [], "low": []}))
        table = pd.DataFrame({"value": [1], "low": [0], "high": [2]})
        with pytest.raises(ValueError, match="reference='zero' must be a number"):
            IntervalDisplay(table, reference="zero")


class TestPosterior:
    @pytest.fixture
    def found(self):
        scores = np.random.default_rng(0).random((30, 4)) + np.array([0.2, 0.1, 0, 0])
        return stats.bayesian_comparison(scores, 0.05)

    def test_bars_are_the_probabilities(self, found):
        shown = PosteriorDisplay(found, names=list("abcd")).plot()
        patches = np.array([patch.get_width() for patch in shown.ax_.patches]).reshape(3, 6)
        np.testing.assert_allclose(patches, [found.worse, found.equivalent, found.better])
        ends = [patch.get_x() + patch.get_width() for patch in shown.ax_.patches[-6:]]
        np.testing.assert_allclose(ends, 1)
        assert row_names(shown)[-1] == "a against b"
        heights = [patch.get_y() for patch in shown.ax_.patches[:6]]
        assert heights == sorted(heights, reverse=True)  # the first pair on top

    def test_density(self, found):
        shown = PosteriorDisplay(found).plot(pair=2)
        x, density = shown.ax_.lines[0].get_data()
        assert scipy.integrate.trapezoid(density, x) == pytest.approx(1, abs=0.01)
        assert x[density.argmax()] == pytest.approx(found.difference[2], abs=0.01)
        legend = texts(shown.ax_)
        assert legend[2] == f"better: {found.better[2]:.3f}"
        assert shown.ax_.get_title() == "0 against 3"

    def test_errors(self, found):
        with pytest.raises(ValueError, match="pair=6 is not one of the 6"):
            PosteriorDisplay(found).plot(pair=6)
        with pytest.raises(ValueError, match="names has 2 entries for 4"):
            PosteriorDisplay(found, names=["a", "b"])
        with pytest.raises(ValueError, match="names=1j must be a sequence with a name"):
            PosteriorDisplay(found, names=1j)
        same = stats.bayesian_comparison(np.ones((3, 2)), 0.1)
        with pytest.raises(ValueError, match="no density"):
            PosteriorDisplay(same).plot(pair=0)


class TestNamesOfPoints:
    def test_names_that_do_not_overlap_are_drawn(self):
        random = np.random.default_rng(0)
        x = pd.Series(random.random(25), index=[f"system{i}" for i in range(25)])
        y = pd.Series(random.random(25), index=x.index)
        shown = MetricScatterDisplay(x, y).plot()
        written = {text.get_text(): text for text in shown.texts_}
        assert 15 < len(written) <= 25
        for name, text in written.items():
            assert text.xy == (x[name], y[name])
        shown.figure_.draw_without_rendering()
        boxes = [text.get_window_extent() for text in written.values()]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])

    def test_points_that_metrics_rank_most_differently_are_named_first(self):
        crowd = np.linspace(0, 0.001, 50)
        x = pd.Series(np.append(crowd, 0.9), index=[*map(str, range(50)), "odd"])
        y = pd.Series(np.append(crowd, -0.9), index=x.index)
        assert "odd" in [text.get_text() for text in MetricScatterDisplay(x, y).plot().texts_]

    def test_choice(self, report):
        shown = MetricScatterDisplay.from_report(report, "gap", "ndcg")
        assert {text.get_text() for text in shown.texts_} <= set(report.mean.index)
        assert shown.texts_
        assert not shown.plot(show_names=False).texts_
        assert not MetricScatterDisplay([1, 2], [2, 1]).plot().texts_
        many = pd.Series(range(61))
        assert not MetricScatterDisplay(many, many).plot().texts_
        assert MetricScatterDisplay(many, many).plot(show_names=True).texts_


class TestTriangle:
    def test_is_the_mean_error(self, study):
        shown = InformativenessDisplay(study).plot()
        gap = [name for name in study.metrics if name.startswith("gap")]
        places = shown.scatter_.get_offsets()
        assert len(places) == 10
        # as the corners are: left, right, top, for thresholds (1,0,0), (0,1,0), (0,0,1)
        at = {tuple(g): tuple(place) for g, place in zip(shown.thresholds, places, strict=True)}
        np.testing.assert_allclose(at[1, 0, 0], (0, 0))
        np.testing.assert_allclose(at[0, 1, 0], (1, 0))
        np.testing.assert_allclose(at[0, 0, 1], (0.5, np.sqrt(0.75)))
        error = study.mean.loc[gap].mean(axis=1)
        np.testing.assert_allclose(np.sort(shown.scatter_.get_array()), np.sort(error))
        legend = texts(shown.ax_)
        assert legend[0].startswith(f"least: {error.min():.4f} at ")
        assert legend[1] == f"ndcg: {study.mean.loc['ndcg'].mean():.4f}"

    def test_one_label(self, study):
        shown = InformativenessDisplay(study).plot(rel=[2], metrics=[])
        gap = [name for name in study.metrics if name.startswith("gap")]
        values = shown.scatter_.get_array()
        np.testing.assert_allclose(np.sort(values), np.sort(study.mean.loc[gap, 2.0]))
        assert shown.ax_.get_title() == "lowest relevant label 2"

    def test_names_do_not_overlap(self, study):
        shown = InformativenessDisplay(study).plot()
        shown.figure_.draw_without_rendering()
        boxes = [text.get_window_extent() for text in shown.ax_.texts]
        boxes.append(shown.ax_.get_legend().get_window_extent())
        assert len(boxes) == 4
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_display_shows_the_study():
    qrels, runs, *_ = made()
    candidates = [skrank.metric("gap", thresholds=(g, 1 - g)) for g in (0.75, 0.25, 0.5)]
    found = informativeness.study(qrels, runs, [*candidates, "ndcg", "ap"])
    display = InformativenessDisplay(found)
    np.testing.assert_allclose(display.thresholds[:, 0], [0.25, 0.5, 0.75])
    assert display.plot() is display
    names = [str(candidates[i]) for i in (1, 2, 0)]
    for level in (1.0, 2.0):
        line = display.lines_["gap", level]
        np.testing.assert_allclose(line.get_xdata(), [0.25, 0.5, 0.75])
        np.testing.assert_allclose(line.get_ydata(), found.mean.loc[names, level])
        assert set(display.lines_["ndcg", level].get_ydata()) == {found.mean.loc["ndcg", level]}
    assert len(display.lines_) == 6
    again = display.plot(rel=[2], metrics=["ap"])
    assert list(again.lines_) == [("gap", 2.0), ("ap", 2.0)]
    assert "24 lists" in again.ax_.get_ylabel()
    with pytest.raises(ValueError, match="unknown metric 'nap'"):
        display.plot(metrics=["nap"])
    with pytest.raises(ValueError, match="rel=3 is not in the study"):
        display.plot(rel=[3])
    with pytest.raises(ValueError, match="a line takes at least 2"):
        InformativenessDisplay(informativeness.study(qrels, runs, ["gap", "ndcg"]))


def test_display_of_more_than_two_grades():
    qrels, runs, *_ = made(n_grades=4)
    choice = informativeness.select_thresholds(qrels, runs, n_steps=2)
    display = InformativenessDisplay(choice.study).plot(rel=[1])
    assert [text.get_text() for text in display.ax_.texts] == ["g_1 = 1", "g_2 = 1", "g_3 = 1"]
    expected = choice.study.mean.loc[[name for name in choice.study.metrics if "thresh" in name], 1]
    np.testing.assert_allclose(np.sort(display.scatter_.get_array()), np.sort(expected))
    assert len(expected) == 6


def test_display_of_four_grades_numbers_the_candidates():
    qrels, runs, *_ = made(n_grades=5)
    choice = informativeness.select_thresholds(qrels, runs, n_steps=2)
    display = InformativenessDisplay(choice.study).plot(rel=[1], metrics=[])
    assert display.scatter_ is None
    assert display.lines_["gap", 1].get_xdata().tolist() == list(range(1, 11))
    np.testing.assert_array_equal(display.thresholds[0], [0, 0, 0, 1])
