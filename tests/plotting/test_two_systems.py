"""QueryComparisonDisplay; matplotlib is imported when a display is drawn."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skrank
from skrank.evaluation import compare
from skrank.metrics import gap_score
from skrank.plotting import (
    ElevenPointDisplay,
    QueryComparisonDisplay,
)
from tests.helpers.plotting_cases import texts

ROOT = Path(__file__).resolve().parents[2]


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

    def test_plots_again(self):
        first = QueryComparisonDisplay([0.1, 0.2], [0.2, 0.1]).plot()
        ax = first.ax_
        assert first.plot(ax, kind="scatter", names=("x", "y")).ax_ is ax
        assert "x against y" in ax.get_title()

    def test_max_grade(self):
        shown = QueryComparisonDisplay.from_predictions(
            [2, 1, 0], [3, 2, 1], [1, 2, 3], groups=[1, 1, 1], max_grade=4
        )
        expected = gap_score([2, 1, 0], [1, 2, 3], max_grade=4)
        assert shown.values_b.to_list() == pytest.approx([expected])

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ({"groups": None}, "QueryComparisonDisplay needs the query of each row"),
            ({"scores_b": np.zeros(3)}, "system 'b': scores has 3 rows"),
            ({"names": ("a", "a")}, "two different names"),
            ({"names": "ab"}, "two different names"),
            ({"kind": "box"}, "kind="),
            ({"metric": "gapp"}, "unknown metric"),
        ],
    )
    def test_errors(self, systems, how, message):
        given = dict(zip(("relevance", "scores_a", "scores_b", "groups"), systems, strict=True))
        with pytest.raises(ValueError, match=message):
            QueryComparisonDisplay.from_predictions(**(given | how))

    def test_values_without_common_queries(self):
        with pytest.raises(ValueError, match="of the same queries"):
            QueryComparisonDisplay([0.1, 0.2], [0.1])
        with pytest.raises(ValueError, match="is defined on no query"):
            QueryComparisonDisplay([0.1, np.nan], [np.nan, 0.2]).plot()


def test_import_does_not_need_matplotlib():
    code = "import sys, skrank.plotting; print('matplotlib' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert run.stdout.strip() == "False"


def test_missing_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ElevenPointDisplay .* pip install skrank\[plot\]"):
        ElevenPointDisplay(np.ones(11)).plot()
