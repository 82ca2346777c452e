"""Displays of precision and recall: values equal the metrics; scikit-learn's interface."""

import numpy as np
import pytest

import skrank
from skrank.metrics import graded_precision_recall_curve
from skrank.plotting import PrecisionRecallDisplay
from tests.helpers.plotting_cases import texts

drawn = PrecisionRecallDisplay.from_predictions


def area_of_steps(line):
    assert line.get_drawstyle() == "steps-pre"
    recall, precision = line.get_data()
    return np.sum(np.diff(recall) * precision[1:])


@pytest.mark.parametrize("metric", ["gap", "gap(condensed=True)"])
class TestDisplay:
    def test_attributes_ranges_and_shared_axes(self, metric, data):
        relevance, scores, qid = data
        how = {"groups": qid, "metric": metric}
        shown = drawn(relevance, scores, **how, name="bm25", color="red")
        ax = shown.ax_
        assert shown.line_.get_color() == "red"
        drawn(relevance, scores, **how, ax=ax, name="other")
        assert len({line.get_color() for line in ax.lines}) == 2
        assert [text.split(" (")[0] for text in texts(ax)] == ["bm25", "other"]
        answered = {query for query, label in zip(qid, relevance, strict=True) if label >= 1}
        assert shown.n_queries == len(answered)
        assert shown.n_empty == len(set(qid)) - len(answered) > 0

    def test_a_constant_score_does_not_depend_on_the_order_of_rows(self, metric):
        qid = np.repeat(np.arange(200), 10)
        relevance = np.tile([2, 1, 1] + [0] * 7, 200)  # the best documents are the first rows
        constant = np.zeros(len(qid))
        shown = {
            ties: drawn(relevance, constant, groups=qid, metric=skrank.metric(metric, ties=ties))
            for ties in ("average", "stable", "best", "worst")
        }
        assert np.all([shown["best"].precision, shown["stable"].precision] == np.array(1))
        assert np.all(shown["worst"].precision < 0.3)
        assert np.all(shown["average"].precision < 0.7)
        again = drawn(relevance, constant, groups=qid, metric=metric)
        assert np.array_equal(again.precision, shown["average"].precision)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda m: drawn([1, 0, 0, 1], QID, metric=m), "Display"),
            (lambda m: drawn([0] * 4, QID, groups=QID, metric=m), "no (query|document)"),
            (lambda m: drawn([1] * 4, QID, groups=QID, metric=skrank.metric(m, k=2)), "metric="),
            (lambda m: drawn([1] * 4, QID, groups=QID, metric="iprec"), "metric="),
        ],
    )
    def test_errors(self, metric, call, message):
        with pytest.raises(ValueError, match=message):
            call(metric)


QID = [1, 1, 2, 2]


def literal_mean(relevance, scores, qid, **parameters):
    """The mean of interpolated curves, query by query and level by level."""
    rows = []
    for query in np.unique(qid):
        mine = qid == query
        try:
            curve = graded_precision_recall_curve(relevance[mine], scores[mine], **parameters)
        except ValueError:
            continue
        levels = np.linspace(0, 1, 101)
        rows.append([curve.precision[curve.recall >= at - 1e-9].max(initial=0) for at in levels])
    return np.mean(rows, axis=0)


class TestGradedPrecisionRecall:
    @pytest.mark.parametrize(
        "grading", [{"thresholds": [0.7, 0.1, 0.1, 0.1]}, {"fractional": "interp"}]
    )
    @pytest.mark.parametrize("condensed", [False, True])
    def test_mean_equals_the_definition(self, data, grading, condensed):
        relevance, scores, qid = data
        if "labels" in grading:
            relevance = 0.77 * relevance  # between grades
        metric = skrank.metric("gap", condensed=condensed, **{"max_grade": 4, **grading})
        shown = drawn(relevance, scores, groups=qid, metric=metric)
        kept = ~np.isnan(relevance) | (not condensed)
        expected = literal_mean(
            relevance[kept], scores[kept], qid[kept], **{"max_grade": 4, **grading}
        )
        np.testing.assert_allclose(shown.recall, np.linspace(0, 1, 101))
        np.testing.assert_allclose(shown.precision, expected, atol=1e-12)
        assert shown.value == metric(relevance, scores, groups=qid)

    def test_single_query_in_steps(self):
        relevance, scores = [2, 0, 1, 0, 3, np.nan, 1], [7, 6, 5, 4, 3, 2, 1]
        curve = graded_precision_recall_curve(relevance, scores)
        shown = drawn(relevance, scores, groups=["q"] * 7)
        np.testing.assert_array_equal(shown.recall, curve.recall)
        np.testing.assert_array_equal(shown.precision, curve.precision)
        assert area_of_steps(shown.line_) == pytest.approx(curve.gap)
        shown = drawn([0, 0, 1, 2], [4, 3, 2, 1], groups=[1, 1, 2, 2])
        assert (shown.n_queries, shown.n_empty) == (1, 1)
        assert area_of_steps(shown.line_) == pytest.approx(shown.value)
