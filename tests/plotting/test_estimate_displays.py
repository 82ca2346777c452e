"""Displays of intervals and posteriors show the values of their results."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.integrate

from skrank import stats
from skrank.plotting import IntervalDisplay, PosteriorDisplay
from tests.helpers.plotting_cases import row_names, texts


def bars_of(container):
    (lines,) = container[2]
    return np.array([segment[:, 0] for segment in lines.get_segments()])


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
        found = report.compare(correction=correction, alpha=0.2)
        shown = IntervalDisplay.from_comparison(found, "ndcg@10")
        table = found.to_frame().query("metric == 'ndcg@10'").sort_values("difference")
        assert len(row_names(shown)) == 15
        assert row_names(shown)[0] == f"{table['system'].iloc[0]} \u2212 {table['other'].iloc[0]}"
        holds = (table["low"] <= 0) & (table["high"] >= 0)
        assert 0 < holds.sum() < 15
        for bars, rows in ((shown.bars_, ~holds), (shown.faint_bars_, holds)):
            np.testing.assert_allclose(bars_of(bars), table.loc[rows, ["low", "high"]])
        each = "each by itself" if correction == "none" else "all together"
        assert shown.ax_.get_title() == f"intervals hold {each} at 80 %"

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
        assert texts(shown.ax_)[2] == f"better: {found.better[2]:.3f}"
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
