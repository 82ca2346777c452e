"""Displays of curves: values equal the metrics; interface of scikit-learn's displays."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

import skrank
from skrank.datasets import make_ranking
from skrank.metrics import eleven_point_curve, gap_score, graded_precision_recall_curve
from skrank.plotting import ElevenPointDisplay, GradedPrecisionRecallDisplay
from skrank.scoring import scorer
from tests.helpers.plotting_cases import texts

graded = GradedPrecisionRecallDisplay.from_predictions


def area_of_steps(line):
    assert line.get_drawstyle() == "steps-pre"
    recall, precision = line.get_data()
    return np.sum(np.diff(recall) * precision[1:])


class Model(BaseEstimator):
    """Ranks by the first feature; trained on grades up to 4."""

    max_grade_ = 4

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize("display", [GradedPrecisionRecallDisplay, ElevenPointDisplay])
class TestCurves:
    def test_attributes_ranges_and_shared_axes(self, display, data):
        relevance, scores, qid = data
        shown = display.from_predictions(relevance, scores, groups=qid, name="bm25", color="red")
        ax = shown.ax_
        assert shown.figure_ is ax.figure
        assert shown.line_ in ax.lines
        assert shown.line_.get_color() == "red"
        for low, high in (ax.get_xlim(), ax.get_ylim()):
            assert (low, high) == pytest.approx((0, 1), abs=0.02)
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        display.from_predictions(relevance, scores, groups=qid, ax=ax).plot(ax, name="other")
        assert len({line.get_color() for line in ax.lines}) == 3
        assert [text.split(" (")[0] for text in texts(ax)[::2]] == ["bm25", "other"]

    def test_queries_are_counted(self, display, data):
        relevance, scores, qid = data
        shown = display.from_predictions(relevance, scores, groups=qid)
        answered = {query for query, label in zip(qid, relevance, strict=True) if label >= 1}
        assert shown.n_queries == len(answered)
        assert shown.n_empty == len(set(qid)) - len(answered) > 0
        text = shown.ax_.get_xlabel()
        assert f"mean of {shown.n_queries} queries" in text
        assert f"{shown.n_empty} without relevant documents skipped" in text

    def test_from_estimator_and_groups_on_the_index(self, display, data):
        relevance, _, qid = data
        y = np.nan_to_num(relevance)
        X = np.random.default_rng(1).normal(size=(len(y), 3)) + y[:, None]
        model = LinearRegression().fit(X, y)
        indexed = skrank.with_groups(y, qid)
        expected = display.from_predictions(indexed, model.predict(X))
        for shown, name in (
            (display.from_estimator(model, X, y, groups=qid), "LinearRegression"),
            (display.from_estimator(model, X, indexed, name="linear"), "linear"),
        ):
            assert np.array_equal(shown.precision, expected.precision)
            assert texts(shown.ax_)[0].startswith(f"{name} (")

    def test_a_constant_score_does_not_depend_on_the_order_of_rows(self, display):
        qid = np.repeat(np.arange(200), 10)
        relevance = np.tile([2, 1, 1] + [0] * 7, 200)  # the best documents are the first rows
        constant = np.zeros(len(qid))
        shown = {
            ties: display.from_predictions(relevance, constant, groups=qid, ties=ties)
            for ties in ("average", "stable", "best", "worst")
        }
        assert np.all(shown["best"].precision == 1)
        assert np.all(shown["stable"].precision == 1)
        assert np.all(shown["worst"].precision < 0.3)
        assert np.all(shown["average"].precision < 0.7)
        again = display.from_predictions(relevance, constant, groups=qid)
        assert np.array_equal(again.precision, shown["average"].precision)


def literal_mean(relevance, scores, qid, levels, **parameters):
    """The mean of interpolated curves, query by query and level by level."""
    rows = []
    for query in np.unique(qid):
        mine = qid == query
        try:
            curve = graded_precision_recall_curve(relevance[mine], scores[mine], **parameters)
        except ValueError:
            continue
        rows.append(
            [curve.precision[curve.recall >= level - 1e-9].max(initial=0) for level in levels]
        )
    return np.mean(rows, axis=0)


class TestGradedPrecisionRecall:
    @pytest.mark.parametrize(
        "grading",
        [
            {},
            {"thresholds": [0.7, 0.1, 0.1, 0.1]},
            {"thresholds": [0, 0, 1, 0]},
            {"labels": "interp"},
        ],
    )
    @pytest.mark.parametrize("condensed", [False, True])
    @pytest.mark.parametrize("n_levels", [2, 11, 101])
    def test_mean_equals_the_definition(self, data, grading, condensed, n_levels):
        relevance, scores, qid = data
        if "labels" in grading:
            relevance = 0.77 * relevance  # between grades
        grading = {"max_grade": 4, **grading}
        how = {"groups": qid, "condensed": condensed, **grading}
        shown = graded(relevance, scores, n_levels=n_levels, **how)
        kept = ~np.isnan(relevance) | (not condensed)
        levels = np.linspace(0, 1, n_levels)
        expected = literal_mean(relevance[kept], scores[kept], qid[kept], levels, **grading)
        np.testing.assert_allclose(shown.recall, levels)
        np.testing.assert_allclose(shown.precision, expected, atol=1e-12)
        assert shown.gap == gap_score(relevance, scores, **how)
        assert shown.line_.get_label() == f"GAP = {shown.gap:.3f}"

    def test_last_level_is_not_lost_to_rounding(self):
        """The floating-point sum of ten gains of 0.1 is below 1."""
        shown = graded([1] * 20, range(20), groups=[1] * 10 + [2] * 10, thresholds=[0.1, 0.9])
        np.testing.assert_allclose(shown.precision, 1)

    def test_many_queries(self):
        """Sums of a query have no rounding errors from previous queries."""
        data = make_ranking(n_queries=2000, n_docs=(10, 30), max_grade=3, random_state=0)
        scores = data.X[:, data.feature_names.index("informative_0")]
        thresholds = [0.1, 0.2, 0.7]
        shown = graded(data.relevance, scores, groups=data.qid, thresholds=thresholds, n_levels=2)
        expected = literal_mean(data.relevance, scores, data.qid, [0, 1], thresholds=thresholds)
        np.testing.assert_allclose(shown.precision, expected, rtol=1e-12)

    def test_single_query_in_steps(self):
        relevance, scores = [2, 0, 1, 0, 3, np.nan, 1], [7, 6, 5, 4, 3, 2, 1]
        curve = graded_precision_recall_curve(relevance, scores)
        shown = graded(relevance, scores, groups=["q"] * 7)
        np.testing.assert_allclose(shown.recall, curve.recall)
        np.testing.assert_allclose(shown.precision, curve.precision)
        assert shown.gap == pytest.approx(curve.gap)
        assert area_of_steps(shown.line_) == pytest.approx(curve.gap)
        assert shown.ax_.get_xlabel() == "Graded recall"

    def test_single_query_among_empty_ones(self):
        shown = graded([0, 0, 1, 2], [4, 3, 2, 1], groups=[1, 1, 2, 2])
        assert (shown.n_queries, shown.n_empty) == (1, 1)
        assert area_of_steps(shown.line_) == pytest.approx(shown.gap)
        assert "one query; 1 without" in shown.ax_.get_xlabel()

    @pytest.mark.parametrize("scores", [[2, 1, -np.inf], [-np.inf] * 3])
    def test_recall_that_is_never_reached(self, scores):
        shown = graded([1, 0, 1], scores, groups=[1, 1, 1])
        recall, precision = shown.line_.get_data()
        assert (recall[-1], precision[-1]) == (1, 0)
        assert area_of_steps(shown.line_) == pytest.approx(shown.gap)

    def test_of_a_curve(self):
        curve = graded_precision_recall_curve([1, 0, 2], [3, 2, 1])
        shown = GradedPrecisionRecallDisplay(curve.recall, curve.precision).plot()
        assert shown.ax_.get_legend() is None
        assert area_of_steps(shown.line_) == pytest.approx(curve.gap)
        shown.plot(label="mine")
        assert texts(shown.ax_) == ["mine"]

    def test_ties_are_in_the_value_and_in_the_curve(self, data):
        relevance, scores, qid = data
        given = relevance, np.round(scores)
        shown, worst = (graded(*given, groups=qid, ties=ties) for ties in ("average", "worst"))
        assert shown.gap == gap_score(*given, groups=qid)
        assert worst.gap == gap_score(*given, groups=qid, ties="worst") < shown.gap
        assert worst.precision.mean() < shown.precision.mean()

    @pytest.mark.parametrize("parameters", [{}, {"max_grade": 5}, {"thresholds": [0.5, 0.5]}])
    def test_scale_of_grades_is_that_of_the_scorer(self, parameters):
        X, y, qid = np.array([[1.0], [2], [3], [4]]), [2, 0, 1, 0], [1, 1, 1, 1]
        shown = GradedPrecisionRecallDisplay.from_estimator(Model(), X, y, groups=qid, **parameters)
        gap = skrank.metric("gap", **parameters)
        assert shown.gap == scorer(gap)(Model(), X, skrank.with_groups(y, qid))


class TestElevenPoint:
    @pytest.mark.parametrize("parameters", [{}, {"rel": 2}, {"condensed": True}])
    def test_is_the_curve(self, data, parameters):
        relevance, scores, qid = data
        shown = ElevenPointDisplay.from_predictions(relevance, scores, groups=qid, **parameters)
        expected = eleven_point_curve(relevance, scores, groups=qid, **parameters)
        recall, precision = shown.line_.get_data()
        np.testing.assert_allclose(recall, np.arange(11) / 10)
        np.testing.assert_allclose(precision, expected, atol=1e-12)
        assert texts(shown.ax_) == [f"11-pt AP = {expected.mean():.3f}"]
        assert shown.average_precision == pytest.approx(expected.mean())
