"""Informativeness of metrics: precision-recall curves, the study, thresholds, and clicks."""

import numpy as np
import pandas as pd
import pytest

import skrank
from skrank import trec
from skrank.informativeness import (
    maximum_entropy,
    select_thresholds,
    study,
    threshold_grid,
    thresholds_from_clicks,
)
from tests.helpers.informativeness_cases import made, random_list

# curves


def literal_error(p, grades, rel):
    cumulated = np.concatenate(([0], np.cumsum(p[:, rel:].sum(axis=1))))
    squares, hits = [], 0
    for rank, grade in enumerate(grades, start=1):
        if grade >= rel:
            hits += 1
            inferred_rank = np.interp(hits - 1e-9, cumulated, np.arange(len(cumulated)))
            squares.append((hits / rank - hits / inferred_rank) ** 2)
    return np.sqrt(np.mean(squares))


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_error_equals_its_literal_definition(rel):
    grades = random_list(3)
    value = skrank.metric("gap")(grades, -np.arange(60.0))
    found = maximum_entropy("gap", value, np.bincount(grades)[1:], 60)
    expected = literal_error(found.probabilities, grades, rel)
    assert found.error(grades, rel) == pytest.approx(expected, abs=1e-6)


def test_curve_has_the_recall_of_the_whole_query():
    found = maximum_entropy("gap", 0.3, [2, 2], 10, relevant=[4, 8])
    assert found.precision_recall()[0][-1] == pytest.approx(4 / 12)
    assert found.precision_recall(rel=2)[0][-1] == pytest.approx(2 / 8)
    missing = maximum_entropy("gap", 0.3, [2, 0], 6, relevant=[2, 1])
    with pytest.raises(ValueError, match="the list has no document of grade 2 or higher"):
        missing.error([1, 1, 0, 0, 0, 0], rel=2)


@pytest.mark.parametrize(
    ("grades", "rel", "message"),
    [
        ([2, 2, 1, 0, 0, 0], 1, "grades are not those of the distribution"),
        ([2, 1, 1, 0, 0, 0.5], 1, "grades are not those of the distribution"),
        ([2, 1, 1, 0, 0, 0], 3, "no document of grade rel=3 or higher"),
        ([2, 1, 1, 0, 0, 0], 0, "rel=0"),
    ],
)
def test_curves_of_other_lists_are_refused(grades, rel, message):
    with pytest.raises(ValueError, match=message):
        maximum_entropy("gap", 0.6, [2, 1], 6).error(grades, rel)


# the study


def ranked_labels(qrels, run):
    """Labels in rank order by query, NaN where not judged."""
    labels = qrels.to_frame().set_index(["qid", "docid"])["label"]
    frame = run.to_frame()
    frame["label"] = labels.reindex(list(zip(frame.qid, frame.docid, strict=True))).to_numpy()
    return {qid: part.label.to_numpy() for qid, part in frame.groupby("qid")}


@pytest.mark.parametrize("condensed", [False, True])
@pytest.mark.parametrize("depth", [None, 30])
def test_study_is_the_single_problem_on_each_list(condensed, depth):
    qrels, runs, *_ = made(n_queries=4)
    names = ["gap(thresholds=[0.3,0.7])", "ndcg", "q", "precision@10"]
    found = study(qrels, runs, names, depth=depth, condensed=condensed, min_retrieved=3)
    assert found.converged.all()
    assert len(found.lists) == 8
    everything = {run.name: ranked_labels(qrels, run) for run in runs}
    all_labels = qrels.to_frame().groupby("qid")["label"]
    totals = {q: [int((part == g).sum()) for g in (1, 2)] for q, part in all_labels}
    for i, (run, qid, ranks) in enumerate(found.lists.itertuples(index=False)):
        labels = everything[run][qid]
        labels = labels[~np.isnan(labels)] if condensed else np.nan_to_num(labels)
        labels = labels[:depth]
        assert len(labels) == ranks
        retrieved = [int((labels == g).sum()) for g in (1, 2)]
        for m, name in enumerate(names):
            one = maximum_entropy(name, found.values[i, m], retrieved, ranks, relevant=totals[qid])
            for t, rel in enumerate((1, 2)):
                assert found.errors[i, m, t] == pytest.approx(one.error(labels, rel), abs=1e-6)


def test_tables_of_a_study():
    qrels, runs, *_ = made()
    lines = []
    found = study(qrels, runs, ["gap", "ndcg"], progress=lines.append)
    assert lines == ["2 of 2 runs: gap, 24 lists", "2 of 2 runs: ndcg, 24 lists"]
    frame = found.to_frame()
    assert frame.shape == (24, 4)
    pd.testing.assert_series_equal(
        frame.mean(), found.mean.stack(), check_names=False, check_index_type=False
    )
    assert found.by("qid").shape == (12, 4)
    assert list(found.by("run").index) == ["0.5", "1.5"]
    differences = found.differences("gap", n_resamples=200)
    assert (differences.loc["gap"] == 0).all(axis=None)
    one = differences.loc["ndcg"]
    np.testing.assert_allclose(one.difference, found.mean.loc["ndcg"] - found.mean.loc["gap"])
    assert ((one.low <= one.difference) & (one.difference <= one.high)).all()
    with pytest.raises(ValueError, match="unknown metric of the study 'gpa': did you mean 'gap'"):
        found.differences("gpa")
    with pytest.raises(ValueError, match="what='document'"):
        found.by("document")
    text = repr(found)
    assert "24 lists of 2 runs and 12 queries, depth 1000; 0 left out" in text
    assert "converge" not in text


def test_study_leaves_out_lists_with_few_documents():
    qrels, runs, *_ = made(n_docs=12)
    found = study(qrels, runs, ["gap"], min_retrieved=3)
    assert 0 < found.n_left_out < 24
    assert found.n_left_out + len(found.lists) == 24
    assert found.lists.groupby(["run", "qid"]).ngroups == len(found.lists)
    with pytest.raises(ValueError, match="no list has 50 documents of each label above 0"):
        study(qrels, runs, ["gap"], min_retrieved=50)


def test_missing_queries_of_a_run_do_not_count():
    qrels, runs, *_ = made()
    short = runs[0].to_frame().query("qid in ['0', '1']")
    part = trec.Run.from_arrays(short.qid, short.docid, short.score, name="short")
    found = study(qrels, {"a": runs[1], "b": part}, ["gap"])
    assert found.lists.run.tolist() == ["a"] * 12 + ["b"] * 2
    assert found.n_left_out == 0


def test_a_metric_without_information_has_the_error_of_no_metric():
    """LETOR's rule makes the nDCG of short lists 0."""
    qrels, runs, *_ = made(n_docs=40)
    found = study(qrels, runs, ["ndcg(discount=letor)@100", "gap", "ndcg", "recall"])
    assert (found.values[:, 0] == 0).all()
    np.testing.assert_allclose(found.errors[:, 0], found.uninformed)
    np.testing.assert_allclose(found.errors[:, 3], found.uninformed)
    assert (found.mean.loc[["gap", "ndcg"]] < found.uninformed.mean(axis=0)).all(axis=None)


def test_bad_input_of_a_study():
    qrels, runs, *_ = made()
    empty = trec.Qrels.from_arrays(["0", "0"], ["0", "1"], [0, 0])
    graded = trec.Qrels.from_arrays(["0"] * 60, range(60), np.arange(60))
    for changes, message in [
        ({"depth": 0}, "depth=0 must be at least 1"),
        ({"min_retrieved": 0}, "min_retrieved=0 must be at least 1"),
        ({"condensed": "no"}, "condensed='no'"),
        ({"rel": [3]}, "rel=3 is above all labels"),
        ({"rel": [0]}, "rel=0"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": ["gap", "gap"]}, "given twice"),
        ({"metrics": ["gap(condensed=True)"]}, "pass condensed=True to the study"),
        ({"metrics": ["judged"]}, "distinguishes unjudged documents"),
        ({"metrics": "err"}, "not a sum over documents"),
        ({"qrels": empty}, "no label above 0"),
        ({"qrels": graded}, r"59 labels above 0 .*: pass some of them as rel="),
    ]:
        arguments = {"qrels": qrels, "runs": runs, "metrics": ["gap"]} | changes
        with pytest.raises((ValueError, TypeError), match=message):
            study(**arguments)


# thresholds


def test_grid_of_thresholds():
    assert threshold_grid(2, 2) == [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    assert threshold_grid(1, 5) == [(1.0,)]
    grid = threshold_grid(3)
    assert len(grid) == len(set(grid)) == 66
    np.testing.assert_allclose(np.sum(grid, axis=1), 1)
    assert np.min(grid) == 0
    with pytest.raises(ValueError, match="92378 candidates"):
        threshold_grid(10, 10)


def test_selection_among_candidates_by_the_mean_of_the_curves():
    qrels, runs, *_ = made()
    candidates = [[0.1, 0.9], (0.5, 0.5), np.array([0.9, 0.1])]
    choice = select_thresholds(qrels, runs, candidates)
    found = study(qrels, runs, [skrank.metric("gap", thresholds=g) for g in candidates])
    criterion = found.mean.mean(axis=1).to_numpy()
    np.testing.assert_allclose(choice.table["criterion"], criterion)
    assert choice.thresholds == tuple(candidates[int(np.argmin(criterion))])
    assert choice.metric == skrank.metric("gap", thresholds=choice.thresholds)


def test_cross_validated_error_literally():
    qrels, runs, *_ = made(n_queries=8)
    choice = select_thresholds(qrels, runs, n_steps=4)
    criterion = choice.study.errors.mean(axis=2)
    queries = choice.study.lists["qid"].to_numpy()
    held_out = np.empty(len(queries))
    for query in np.unique(queries):
        out = queries == query
        chosen = criterion[~out].mean(axis=0).argmin()
        held_out[out] = criterion[out, chosen]
    assert choice.cross_validated == pytest.approx(held_out.mean())
    assert f"cross-validated over queries {choice.cross_validated:.4f}" in repr(choice)


def test_a_choice_is_compared_with_balanced_thresholds():
    """For a single relevant label, the best GAP has most of its weight on this label."""
    qrels, runs, *_ = made(n_queries=60, unjudged=0)
    top, low = (select_thresholds(qrels, runs, rel=[rel], n_steps=4) for rel in (2, 1))
    assert top.thresholds[1] >= 0.75
    assert low.thresholds[0] >= 0.75
    assert (top.balanced, top.better_than_balanced) == ((0.5, 0.5), True)
    assert ": better than balanced thresholds (0.5, 0.5)" in repr(top)
    assert list(top.table.columns) == [2.0, "criterion"]
    assert top.table["criterion"].min() <= top.cross_validated < top.table["criterion"][(0.5, 0.5)]
    balanced = select_thresholds(qrels, runs, [(0.5, 0.5)])
    assert "not better than balanced thresholds (0.5, 0.5)" in repr(balanced)
    one_query = select_thresholds(*made(n_queries=1, unjudged=0)[:2], n_steps=2)
    assert np.isnan(one_query.cross_validated)
    assert not one_query.better_than_balanced


def test_bad_input_of_the_selection():
    qrels, runs, _, qid = made()
    halves = trec.Qrels.from_arrays(qid, np.tile(np.arange(50), 12), np.full(600, 0.5))
    for judgments, candidates, message in [
        (qrels, [[0.5, 1.0]], r"thresholds sum to 1\.5"),
        (qrels, [[1.0]], "do not cover the grades"),
        (qrels, [], "metrics is empty"),
        (halves, None, "labels of the qrels must be whole numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            select_thresholds(judgments, runs, candidates)


# clicks


def test_shares_of_clicks_by_hand():
    grades = [0, 1, 1, 2, 3]
    clicks = [9, 2, 3, 10, 5]  # clicks on grade 0 do not count
    assert thresholds_from_clicks(grades, clicks) == (0.25, 0.5, 0.25)
    assert thresholds_from_clicks(grades, clicks, max_grade=4) == (0.25, 0.5, 0.25, 0.0)
    assert thresholds_from_clicks([1, 2, 2], [True, False, True]) == (0.5, 0.5)


def test_rises_of_click_rates_by_hand():
    grades, clicks, shown = [0, 1, 1, 2], [10, 30, 30, 50], [100, 100, 100, 100]
    found = thresholds_from_clicks(grades, clicks, shown=shown, method="rate")
    np.testing.assert_allclose(found, [0.2 / 0.4, 0.2 / 0.4])
    falling = thresholds_from_clicks([0, 1, 2, 3], [0, 40, 20, 60], shown=[100] * 4, method="rate")
    np.testing.assert_allclose(falling, [0.3 / 0.6, 0, 0.3 / 0.6])  # rates .3, .3, .6


@pytest.mark.parametrize(
    ("grades", "clicks", "options", "message"),
    [
        ([1, 2], [1], {}, "clicks has 1 rows and grades has 2"),
        ([1, 1.5], [1, 1], {}, "grades of row 1 is 1.5"),
        ([1, -1], [1, 1], {}, "grades of row 1 is -1"),
        ([1, 2], [1, -1], {}, "clicks of row 1 is -1"),
        ([0, 0], [1, 1], {}, "all grades are 0"),
        ([0, 1], [1, 0], {}, "no document above grade 0 was clicked"),
        ([1, 3], [1, 1], {"max_grade": 2}, "grade 3 of row 1 is above max_grade=2"),
        ([1, 2], [1, 2], {"shown": [1, 1]}, "row 1 has 2 clicks and was shown 1 times"),
        ([0, 1], [0, 2], {"method": "rate"}, "pass the number of views, shown="),
        ([0, 2], [0, 1], {"method": "rate"}, "no document of grade 1 was shown"),
        ([0, 1], [1, 0], {"method": "rate"}, "does not rise"),
        ([1, 2], [1, 1], {"method": "rates"}, "method='rates'"),
        ([1, 10**9], [1, 1], {}, "bin the labels"),
    ],
)
def test_bad_clicks(grades, clicks, options, message):
    with pytest.raises(ValueError, match=message):
        thresholds_from_clicks(grades, clicks, **options)
