"""Displays of intervals, posteriors and two systems show the values of their results."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.integrate

import skrank
from skrank import stats
from skrank.evaluation import compare
from skrank.metrics import gap_score
from skrank.plotting import IntervalDisplay, PosteriorDisplay, QueryComparisonDisplay
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


class TestQueryComparison:
    @pytest.fixture
    def systems(self, data):
        relevance, scores, qid = data
        return relevance, scores, np.where(qid % 3, scores, -scores.clip(-9)), qid

    @pytest.mark.parametrize("metric", ["gap", "ndcg@10", "ap(condensed=True)"])
    def test_is_the_comparison(self, systems, metric):
        relevance, a, b, qid = systems
        shown = QueryComparisonDisplay.from_predictions(relevance, a, b, groups=qid, metric=metric)
        row = compare({"a": a, "b": b}, relevance, groups=qid, metrics=metric, n_resamples=10)
        row = row.to_frame().iloc[0]
        assert (shown.wins, shown.ties, shown.losses) == (row.wins, row.ties, row.losses)
        assert len(shown.difference) == row.queries
        assert shown.n_empty > 0
        assert shown.difference.mean() == pytest.approx(row.difference)
        title = shown.ax_.get_title()
        assert title.startswith(f"{metric}: a against b\n")
        assert f"{row.wins} wins, {row.ties} ties, {row.losses} losses" in title
        assert texts(shown.ax_)[-1] == f"mean difference = {row.difference:+.3f}"

    def test_bars_are_sorted(self):
        values = [0.5, 0.2, 0.9, np.nan], [0.3, 0.2, 1.0, np.nan]
        shown = QueryComparisonDisplay(*values, names=("new", "old")).plot()
        above, below = (bars.get_paths()[0].get_extents() for bars in shown.bars_)
        assert (above.y0, above.y1) == pytest.approx((0, 0.2))
        assert (below.y0, below.y1) == pytest.approx((-0.1, 0))
        assert [tick.get_text() for tick in shown.ax_.get_xticklabels()] == ["0", "1", "2"]
        assert texts(shown.ax_) == ["new better", "old better", "mean difference = +0.033"]
        assert shown.scatter_ is None
        assert "not defined on 1 more" in shown.ax_.get_xlabel()

    def test_lower_is_better(self):
        shown = QueryComparisonDisplay([0.2, 0.1], [0.4, 0.1], metric="error@5").plot()
        assert (shown.wins, shown.ties, shown.losses) == (1, 1, 0)
        assert texts(shown.ax_)[:2] == ["b better", "a better"]  # above the line, below it

    def test_scatter(self, systems):
        relevance, a, b, qid = systems
        shown = QueryComparisonDisplay.from_predictions(
            relevance, a, b, groups=qid, metric="dcg", names=("new", "old"), kind="scatter", s=5
        )
        points = shown.scatter_.get_offsets()
        metric = skrank.metric("dcg")
        new, old = (metric.per_query(relevance, scores, groups=qid) for scores in (a, b))
        np.testing.assert_allclose(points, np.column_stack([old, new])[new.notna()])
        assert shown.bars_ is None
        assert shown.ax_.get_xlabel() == "dcg of old"
        assert shown.ax_.get_ylabel() == "dcg of new"
        assert shown.ax_.get_xlim() == shown.ax_.get_ylim()
        assert points.max() <= shown.ax_.get_xlim()[1]

    def test_many_queries_are_not_named(self):
        rng = np.random.default_rng(0)
        shown = QueryComparisonDisplay(rng.random(20_000), rng.random(20_000)).plot()
        assert len(shown.ax_.get_xticks()) < 20
        assert len(shown.ax_.collections) == 2

    def test_max_grade(self):
        shown = QueryComparisonDisplay.from_predictions(
            [2, 1, 0], [3, 2, 1], [1, 2, 3], groups=[1, 1, 1], max_grade=4
        )
        expected = gap_score([2, 1, 0], [1, 2, 3], max_grade=4)
        assert shown.values_b.to_list() == pytest.approx([expected])
