"""What the value of a metric tells of a list: solver, curves, study, thresholds, display."""

from __future__ import annotations

import dataclasses
from itertools import permutations
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import skrank
from skrank import informativeness, trec
from skrank._engine.judgments import judge
from skrank._engine.plan import Plan
from skrank._engine.quadratic import QuadraticTables
from skrank.informativeness import (
    maximum_entropy,
    select_thresholds,
    study,
    threshold_grid,
    thresholds_from_clicks,
)
from skrank.plotting import InformativenessDisplay
from tests.helpers.catalogue import CATALOGUE

matplotlib.use("Agg")
ROOT = Path(__file__).resolve().parents[2]


def entropy(p):
    p = np.maximum(p, 1e-300)
    return -np.sum(p * np.log(p))


def expected_gap(p, g, relevant):
    """Literal definition: a document is relevant to threshold j with probability P(grade >= j)."""
    total = 0.0
    for j, share in enumerate(g, start=1):
        at_least = p[:, j:].sum(axis=1)
        for n in range(len(p)):
            total += share * at_least[n] / (n + 1) * (1 + at_least[:n].sum())
    return total / (np.cumsum(g) @ relevant)


def expected_dcg(p):
    return np.sum((p @ (2.0 ** np.arange(p.shape[1]) - 1)) / np.log2(2 + np.arange(len(p))))


def slsqp(expected, value, retrieved, n_ranks, seed=0):
    """The same problem, by a general solver."""
    counts = np.concatenate(([n_ranks - sum(retrieved)], retrieved))
    shape = (n_ranks, len(counts))
    rng = np.random.default_rng(seed)
    start = 0.7 * counts / n_ranks + 0.3 * rng.dirichlet(np.ones(len(counts)), n_ranks)
    rows = np.kron(np.eye(n_ranks), np.ones(len(counts)))
    columns = np.tile(np.eye(len(counts)), n_ranks)[1:]
    linear = np.vstack([rows, columns])
    sums = np.concatenate([np.ones(n_ranks), counts[1:]])
    found = minimize(
        lambda z: -entropy(z),
        start.ravel(),
        jac=lambda z: 1 + np.log(np.maximum(z, 1e-300)),
        bounds=[(1e-12, 1)] * start.size,
        constraints=[
            {"type": "eq", "fun": lambda z: linear @ z - sums, "jac": lambda z: linear},
            {"type": "eq", "fun": lambda z: expected(z.reshape(shape)) - value},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return found.x.reshape(shape), found.success


# the solver
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "retrieved", "n_ranks", "g"),
    [
        (0.8, [2, 1], 6, (0.5, 0.5)),
        (0.45, [2, 1], 6, (0.5, 0.5)),  # below that of even spread
        (0.6, [3, 2], 12, (0.9, 0.1)),
        (0.95, [2, 3], 10, (0.1, 0.9)),
        (0.5, [1, 2, 2], 12, (0.2, 0.5, 0.3)),
        (0.7, [4], 15, (1.0,)),
    ],
)
def test_gap_equals_a_general_solver(value, retrieved, n_ranks, g):
    found = maximum_entropy(skrank.metric("gap", thresholds=g), value, retrieved, n_ranks)
    assert found.converged
    others = [
        slsqp(lambda p: expected_gap(p, g, retrieved), value, retrieved, n_ranks, seed)
        for seed in range(2)
    ]
    solved = [p for p, success in others if success]
    assert solved
    best = max(solved, key=entropy)
    assert entropy(best) == pytest.approx(found.entropy, abs=1e-6)
    np.testing.assert_allclose(found.probabilities, best, atol=1e-6)
    # no start of the general solver finds more
    assert max(map(entropy, solved)) < found.entropy + 1e-6


def test_probabilities_equal_a_general_solver_to_six_digits():
    g, retrieved = (0.4, 0.6), [2, 2]
    found = maximum_entropy(skrank.metric("gap", thresholds=g), 0.75, retrieved, 8)
    other, success = slsqp(lambda p: expected_gap(p, g, retrieved), 0.75, retrieved, 8)
    assert success
    np.testing.assert_allclose(found.probabilities, other, atol=1e-6)


def test_dcg_equals_a_general_solver():
    value = 5.0
    found = maximum_entropy("dcg", value, [3, 2], 12)
    other, success = slsqp(expected_dcg, value, [3, 2], 12)
    assert success
    assert found.entropy == pytest.approx(entropy(other), abs=1e-6)
    np.testing.assert_allclose(found.probabilities, other, atol=2e-6)


def random_list(seed, n_ranks=60, n_grades=4, noise=1.5):
    rng = np.random.default_rng(seed)
    grades = rng.choice(n_grades, n_ranks, p=[0.6, *[0.4 / (n_grades - 1)] * (n_grades - 1)])
    return grades[np.argsort(-(grades + noise * rng.normal(size=n_ranks)))]


QUADRATIC = [
    point.settled
    for point in CATALOGUE
    if isinstance(Plan(point.settled, judge([3.0, 2, 1, 0]), max_grade=3).tables, QuadraticTables)
    and point.settled.names[0] not in ("judged", "rbp_residual", "mixture")
    and not point.settled.condensed
]


@pytest.mark.parametrize("metric", QUADRATIC, ids=str)
def test_the_value_of_a_list_is_met(metric):
    """Every metric of the family: the constraints hold, and so does stationarity of the result."""
    grades = random_list(0)
    scores = -np.arange(60.0)
    if "max_grade" in [field.name for field in dataclasses.fields(metric)]:
        metric = skrank.metric(metric, max_grade=3)
    value = metric(grades, scores)
    retrieved = np.bincount(grades, minlength=4)[1:]
    found = maximum_entropy(metric, value, retrieved, 60)
    assert found.converged
    assert found.expected == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(found.probabilities.sum(axis=0), found.retrieved, atol=1e-7)
    assert found.probabilities.min() >= 0
    # a list is itself a distribution with this mean
    assert 0 <= found.entropy <= entropy(np.tile(found.retrieved / 60, (60, 1))) + 1e-9


@pytest.mark.parametrize("n_ranks", [1, 2, 5, 30, 300])
@pytest.mark.parametrize("noise", [0.01, 1.0, 5.0, -3.0])
def test_convergence_from_the_worst_list_to_the_best(n_ranks, noise):
    for seed in range(8):
        grades = random_list(seed, n_ranks, 3, noise)
        retrieved = np.bincount(grades, minlength=3)[1:]
        if retrieved.sum() == 0:
            continue
        g = np.random.default_rng(seed).dirichlet([0.5, 0.5])
        metric = skrank.metric("gap", thresholds=g / g.sum())
        value = metric(grades, -np.arange(float(n_ranks)))
        if np.isnan(value):
            continue
        found = maximum_entropy(metric, value, retrieved, n_ranks)
        assert found.converged
        assert abs(found.expected - value) < 1.1e-5


def test_expected_value_is_that_of_random_lists():
    found = maximum_entropy("gap", 0.6, [4, 3], 20)
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(4000):
        grades = (rng.random((20, 1)) > np.cumsum(found.probabilities, axis=1)).sum(axis=1)
        gains = np.array([0, 0.5, 1])[grades]
        pairs = np.minimum.outer(gains, gains)
        total += np.sum(np.tril(pairs).sum(axis=1) / np.arange(1, 21)) / (0.5 * 4 + 1.0 * 3)
    assert total / 4000 == pytest.approx(0.6, abs=0.01)


def test_better_documents_come_earlier_when_the_value_is_high():
    found = maximum_entropy("gap", 0.9, [5, 5], 40)
    assert (np.diff(found.probabilities[:, 2]) < 1e-12).all()
    assert (np.diff(found.probabilities[:, 0]) > -1e-12).all()
    recall, precision = found.precision_recall()
    assert (np.diff(recall) > 0).all()
    assert (np.diff(precision) < 1e-12).all()
    assert recall[-1] == pytest.approx(1)


def test_entropy_falls_towards_the_ends():
    values = [0.35, 0.5, 0.65, 0.8, 0.95]
    entropies = [maximum_entropy("gap", value, [3, 3], 20).entropy for value in values]
    flat = entropy(np.tile([14 / 20, 3 / 20, 3 / 20], (20, 1)))
    assert max(entropies) <= flat + 1e-9
    top = int(np.argmax(entropies))
    assert (np.diff(entropies[: top + 1]) > 0).all()
    assert (np.diff(entropies[top:]) < 0).all()


def test_ideal_value_gives_the_ideal_list():
    found = maximum_entropy("gap", 1.0, [2, 1], 8)
    assert found.expected == pytest.approx(1, abs=2e-5)
    assert found.probabilities.argmax(axis=1).tolist() == [2, 1, 1, 0, 0, 0, 0, 0]
    value = skrank.metric("gap")([0, 0, 0, 0, 0, 1, 1, 2], -np.arange(8.0))
    worst = maximum_entropy("gap", value, [2, 1], 8)
    assert worst.probabilities.argmax(axis=1).tolist() == [0, 0, 0, 0, 0, 1, 1, 2]


def test_metrics_that_tell_nothing_leave_an_even_spread():
    found = maximum_entropy("recall", 1.0, [2, 1], 6)
    np.testing.assert_allclose(found.probabilities, np.tile([0.5, 1 / 3, 1 / 6], (6, 1)))
    everything = maximum_entropy("ap", 1.0, [3], 3)
    np.testing.assert_allclose(everything.probabilities, np.tile([0, 1], (3, 1)))


def test_point_mass_is_average_precision():
    for rel in (1, 2):
        g = np.eye(2)[rel - 1]
        gap = maximum_entropy(skrank.metric("gap", thresholds=g), 0.6, [4, 4], 30)
        ap = maximum_entropy(skrank.metric("ap", rel=rel), 0.6, [4, 4], 30)
        np.testing.assert_allclose(gap.probabilities, ap.probabilities, atol=1e-8)


# what cannot be
# ------------------------------------------------------------------------------------------------


def test_reach_is_that_of_all_orders():
    grades = [2, 1, 1, 0, 0]
    for name in ("gap", "ndcg", "q", "precision@2", "ap", "rbp"):
        metric = skrank.metric(name)
        orders = {metric(list(order), [5, 4, 3, 2, 1]) for order in set(permutations(grades))}
        for end in (min(orders), max(orders)):
            assert maximum_entropy(metric, end, [2, 1], 5).converged
        for beyond in (min(orders) - 1e-6, max(orders) + 1e-6):
            with pytest.raises(ValueError, match=r"is beyond reach: .* between"):
                maximum_entropy(metric, beyond, [2, 1], 5)


def test_value_beyond_reach():
    with pytest.raises(ValueError, match=r"gap = 1.2 is beyond reach: .* between 0.\d+ and 1\."):
        maximum_entropy("gap", 1.2, [2, 1], 6)
    # 0.9 is possible where all documents were retrieved, and not where half of them were
    assert maximum_entropy("gap", 0.9, [2, 1], 6).converged
    with pytest.raises(ValueError, match=r"between 0.131667 and 0.4"):
        maximum_entropy("gap", 0.9, [2, 1], 6, relevant=[4, 3])
    with pytest.raises(ValueError, match="beyond reach"):
        maximum_entropy("gap", 0.05, [2, 1], 6)


@pytest.mark.parametrize("name", ["err", "rr", "bpref", "infap", "iprec", "0.5*gap+0.5*ndcg"])
def test_metrics_of_other_families_are_refused(name):
    with pytest.raises(TypeError, match="no sum over documents and pairs of documents"):
        maximum_entropy(name, 0.5, [2, 1], 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"value": np.nan}, "value=nan must be a number"),
        ({"value": "high"}, "value='high' must be a number"),
        ({"n_ranks": 0}, "n_ranks=0 must be at least 1"),
        ({"n_ranks": 2}, r"3 documents for 2 ranks: count those of the list .* relevant="),
        ({"retrieved": [2, -1]}, "retrieved=.* whole numbers"),
        ({"retrieved": [1.5]}, "retrieved=.* whole numbers"),
        ({"retrieved": []}, "retrieved=.* at least one number"),
        ({"retrieved": 3}, "retrieved=3 must be a sequence"),
        ({"relevant": [2]}, "relevant has 1 grades and retrieved has 2"),
        ({"relevant": [1, 1]}, "relevant has 1 documents of grade 1 and retrieved has 2"),
        ({"retrieved": [0, 0]}, "no relevant document"),
        ({"metric": "gpa"}, "unknown metric 'gpa'"),
        ({"metric": "gap(thresholds=[1])"}, "label 2"),
    ],
)
def test_bad_input(arguments, message):
    given = {"metric": "gap", "value": 0.5, "retrieved": [2, 1], "n_ranks": 6} | arguments
    with pytest.raises(ValueError, match=message):
        maximum_entropy(**given)


# curves
# ------------------------------------------------------------------------------------------------


def test_error_by_hand():
    """AP of one relevant document at rank 2 of 2: it is at rank 2 for certain, but for 1e-5."""
    found = maximum_entropy("ap", 0.5, [1], 2)
    assert found.error([0, 1]) == pytest.approx(0, abs=1e-3)
    even = maximum_entropy("recall", 1.0, [2], 4)  # half a document a rank: hits at ranks 2 and 4
    assert even.error([1, 0, 0, 1]) == pytest.approx(np.sqrt(((1 - 1 / 2) ** 2 + 0) / 2))
    thirds = maximum_entropy("recall", 1.0, [2], 5)  # hits at ranks 2.5 and 5
    assert thirds.error([0, 1, 1, 0, 0]) == pytest.approx(
        np.sqrt(((1 / 2 - 1 / 2.5) ** 2 + (2 / 3 - 2 / 5) ** 2) / 2)
    )


def literal_error(p, grades, rel):
    cumulated = np.concatenate(([0], np.cumsum(p[:, rel:].sum(axis=1))))
    squares, hits = [], 0
    for rank, grade in enumerate(grades, start=1):
        if grade >= rel:
            hits += 1
            place = np.interp(hits - 1e-9, cumulated, np.arange(len(cumulated)))
            squares.append((hits / rank - hits / place) ** 2)
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


def test_curves_of_other_lists_are_refused():
    found = maximum_entropy("gap", 0.6, [2, 1], 6)
    with pytest.raises(ValueError, match="grades are not those of the distribution"):
        found.error([2, 2, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="grades are not those of the distribution"):
        found.error([2, 1, 1, 0, 0, 0.5])
    with pytest.raises(ValueError, match="rel=3: the query has no document"):
        found.error([2, 1, 1, 0, 0, 0], rel=3)
    with pytest.raises(ValueError, match="rel=0"):
        found.precision_recall(rel=0)


def test_result_prints():
    text = repr(maximum_entropy("gap", 0.6, [2, 1], 6))
    assert "6 ranks, 3 grades, gap = 0.6" in text
    assert "CONVERGED" not in text


# the study
# ------------------------------------------------------------------------------------------------


def made(n_queries=12, n_docs=50, n_grades=3, seed=0, noises=(0.5, 1.5), unjudged=0.1):
    """Runs that rank by noisy grades; some documents are not judged."""
    rng = np.random.default_rng(seed)
    qid, docid = np.repeat(np.arange(n_queries), n_docs), np.tile(np.arange(n_docs), n_queries)
    label = rng.choice(n_grades, n_queries * n_docs).astype(float)
    judged = np.where(rng.random(len(label)) < unjudged, np.nan, label)
    qrels = trec.Qrels.from_arrays(qid, docid, judged)
    runs = [
        trec.Run.from_arrays(qid, docid, label + noise * rng.normal(size=len(qid)), name=f"{noise}")
        for noise in noises
    ]
    return qrels, runs, judged.reshape(n_queries, -1), qid


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


def test_study_without_a_metric_knows_the_least():
    qrels, runs, *_ = made()
    found = study(qrels, runs, ["gap", "ndcg", "recall"], min_retrieved=5)
    uninformed = found.uninformed.mean(axis=0)
    assert (found.mean.loc["gap"] < uninformed).all()
    assert (found.mean.loc["ndcg"] < uninformed).all()
    np.testing.assert_allclose(found.mean.loc["recall"], uninformed)


def test_tables_of_a_study():
    qrels, runs, *_ = made()
    found = study(qrels, runs, ["gap", "ndcg"])
    frame = found.to_frame()
    assert frame.shape == (24, 4)
    pd.testing.assert_series_equal(
        frame.mean(), found.mean.stack(), check_names=False, check_index_type=False
    )
    assert found.by("qid").shape == (12, 4)
    assert list(found.by("run").index) == ["0.5", "1.5"]
    differences = found.differences("gap", n_resamples=200)
    assert (differences.loc["gap"] == 0).all(axis=None)
    below, above = differences.loc["ndcg"].low, differences.loc["ndcg"].high
    middle = differences.loc["ndcg"].difference
    np.testing.assert_allclose(middle, (found.mean.loc["ndcg"] - found.mean.loc["gap"]))
    assert (below <= middle).all()
    assert (middle <= above).all()
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
    with pytest.raises(ValueError, match="no list holds 50 documents of each label above 0"):
        study(qrels, runs, ["gap"], min_retrieved=50)


def test_missing_queries_of_a_run_do_not_count():
    qrels, runs, *_ = made()
    short = runs[0].to_frame().query("qid in ['0', '1']")
    part = trec.Run.from_arrays(short.qid, short.docid, short.score, name="short")
    found = study(qrels, {"a": runs[1], "b": part}, ["gap"])
    assert found.lists.run.tolist() == ["a"] * 12 + ["b"] * 2
    assert found.n_left_out == 0


def test_metric_that_is_not_defined_on_some_queries():
    """No list of the study lacks relevant documents, but LETOR's rule makes short lists 0."""
    qrels, runs, *_ = made(n_docs=40)
    found = study(qrels, runs, ["ndcg(discount=letor)@100", "gap"])
    assert (found.values[:, 0] == 0).all()
    np.testing.assert_allclose(found.errors[:, 0], found.uninformed)


def test_bad_input_of_a_study():
    qrels, runs, *_ = made()
    for changes, message in [
        ({"depth": 0}, "depth=0 must be at least 1"),
        ({"min_retrieved": 0}, "min_retrieved=0 must be at least 1"),
        ({"condensed": "no"}, "condensed='no'"),
        ({"rel": [3]}, "rel=3 is above all labels"),
        ({"rel": [0]}, "rel=0"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": ["gap", "gap"]}, "given twice"),
        ({"metrics": ["gap(condensed=True)"]}, "pass condensed=True for all of them"),
        ({"metrics": ["judged"]}, "tells documents that were not judged"),
    ]:
        with pytest.raises(ValueError, match=message):
            study(qrels, runs, **{"metrics": ["gap"], **changes})
    with pytest.raises(TypeError, match="no sum over documents"):
        study(qrels, runs, "err")
    empty = trec.Qrels.from_arrays(["0", "0"], ["0", "1"], [0, 0])
    with pytest.raises(ValueError, match="no label above 0"):
        study(empty, runs, ["gap"])


def test_study_tells_of_its_progress():
    qrels, runs, *_ = made()
    lines = []
    study(qrels, runs, ["gap", "ndcg"], progress=lines.append)
    assert lines == ["2 of 2 runs: gap, 24 lists", "2 of 2 runs: ndcg, 24 lists"]


# thresholds
# ------------------------------------------------------------------------------------------------


def test_grid_of_thresholds():
    assert threshold_grid(2, 2) == [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    assert threshold_grid(1, 5) == [(1.0,)]
    grid = threshold_grid(3)
    assert len(grid) == len(set(grid)) == 66
    np.testing.assert_allclose(np.sum(grid, axis=1), 1)
    assert np.min(grid) == 0
    with pytest.raises(ValueError, match="92378 candidates"):
        threshold_grid(10, 10)


def test_selection_finds_the_thresholds_that_matter():
    """Only one curve is asked for: the precision of the metric that knows it alone tells most."""
    qrels, runs, *_ = made(n_queries=20, unjudged=0)
    top = select_thresholds(qrels, runs, rel=[2], n_steps=4)
    assert top.thresholds[1] >= 0.75
    both = select_thresholds(qrels, runs, rel=[1], n_steps=4)
    assert both.thresholds[0] >= 0.75
    assert both.metric == skrank.metric("gap", thresholds=both.thresholds)
    assert list(both.table.columns) == [1.0, "criterion"]
    assert both.table["criterion"].idxmin() == both.thresholds
    assert "ThresholdChoice: gap(thresholds=" in repr(both)


def test_selection_among_candidates_by_the_mean_of_the_curves():
    qrels, runs, *_ = made()
    candidates = [[0.1, 0.9], (0.5, 0.5), np.array([0.9, 0.1])]
    choice = select_thresholds(qrels, runs, candidates)
    found = study(qrels, runs, [skrank.metric("gap", thresholds=g) for g in candidates])
    criterion = found.mean.mean(axis=1).to_numpy()
    np.testing.assert_allclose(choice.table["criterion"], criterion)
    assert choice.thresholds == tuple(candidates[int(np.argmin(criterion))])


def test_bad_input_of_the_selection():
    qrels, runs, _, qid = made()
    with pytest.raises(ValueError, match=r"thresholds sum to 1\.5"):
        select_thresholds(qrels, runs, [[0.5, 1.0]])
    with pytest.raises(ValueError, match="do not cover the grades"):
        select_thresholds(qrels, runs, [[1.0]])
    with pytest.raises(ValueError, match="metrics is empty"):
        select_thresholds(qrels, runs, [])
    halves = trec.Qrels.from_arrays(qid, np.tile(np.arange(50), 12), np.full(600, 0.5))
    with pytest.raises(ValueError, match="labels of the qrels must be whole numbers"):
        select_thresholds(halves, runs)


# clicks
# ------------------------------------------------------------------------------------------------


def test_shares_of_clicks_by_hand():
    grades = [0, 1, 1, 2, 3]
    clicks = [9, 2, 3, 10, 5]  # those on grade 0 do not count
    assert thresholds_from_clicks(grades, clicks) == (0.25, 0.5, 0.25)
    assert thresholds_from_clicks(grades, clicks, max_grade=4) == (0.25, 0.5, 0.25, 0.0)
    assert thresholds_from_clicks([1, 2, 2], [True, False, True]) == (0.5, 0.5)


def test_rises_of_click_rates_by_hand():
    grades, clicks, shown = [0, 1, 1, 2], [10, 30, 30, 50], [100, 100, 100, 100]
    found = thresholds_from_clicks(grades, clicks, shown=shown, method="rate")
    np.testing.assert_allclose(found, [0.2 / 0.4, 0.2 / 0.4])
    falling = thresholds_from_clicks([0, 1, 2, 3], [0, 40, 20, 60], shown=[100] * 4, method="rate")
    np.testing.assert_allclose(falling, [0.3 / 0.6, 0, 0.3 / 0.6])  # rates .3, .3, .6


def test_rates_recover_the_users_and_shares_need_not():
    """Users who click on what they find relevant, and now and then on anything."""
    rng = np.random.default_rng(0)
    g = np.array([0.5, 0.2, 0.3])
    grades = rng.choice(4, 40000, p=[0.6, 0.25, 0.1, 0.05])
    threshold = 1 + rng.choice(3, 40000, p=g)
    clicks = (grades >= threshold) | (rng.random(40000) < 0.1)
    rates = thresholds_from_clicks(grades, clicks, method="rate")
    np.testing.assert_allclose(rates, g, atol=0.04)
    shares = thresholds_from_clicks(grades, clicks)
    assert np.abs(np.subtract(shares, g)).max() > 0.1
    assert skrank.metric("gap", thresholds=shares).thresholds == shares


@pytest.mark.parametrize(
    ("grades", "clicks", "options", "message"),
    [
        ([1, 2], [1], {}, "clicks has 1 rows and grades has 2"),
        ([1, 1.5], [1, 1], {}, "grades of row 1 is 1.5"),
        ([1, -1], [1, 1], {}, "grades of row 1 is -1"),
        ([1, np.nan], [1, 1], {}, "grades of row 1 is nan"),
        ([1, 2], [1, -1], {}, "clicks of row 1 is -1"),
        ([0, 0], [1, 1], {}, "all grades are 0"),
        ([0, 1], [1, 0], {}, "no document above grade 0 was clicked"),
        ([1, 3], [1, 1], {"max_grade": 2}, "grade 3 of row 1 is above max_grade=2"),
        ([1, 2], [1, 2], {"shown": [1, 1]}, "row 1 has 2 clicks and was shown 1 times"),
        ([0, 1], [0, 2], {"method": "rate"}, "pass how often documents were shown="),
        ([0, 2], [0, 1], {"method": "rate"}, "no document of grade 1 was shown"),
        ([0, 1], [1, 0], {"method": "rate"}, "does not rise"),
        ([1, 2], [1, 1], {"method": "rates"}, "method='rates'"),
        ([], [], {}, "grades is empty"),
        ([1, 10**9], [1, 1], {}, "bin the labels"),
    ],
)
def test_bad_clicks(grades, clicks, options, message):
    with pytest.raises(ValueError, match=message):
        thresholds_from_clicks(grades, clicks, **options)


# display
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.usefixtures("closed_figures")
def test_display_shows_the_study():
    qrels, runs, *_ = made()
    candidates = [skrank.metric("gap", thresholds=(g, 1 - g)) for g in (0.75, 0.25, 0.5)]
    found = study(qrels, runs, [*candidates, "ndcg", "ap"])
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
        InformativenessDisplay(study(qrels, runs, ["gap", "ndcg"]))


@pytest.mark.usefixtures("closed_figures")
def test_display_of_more_than_two_grades():
    qrels, runs, *_ = made(n_grades=4)
    choice = select_thresholds(qrels, runs, n_steps=2)
    display = InformativenessDisplay(choice.study).plot(rel=[1])
    assert [text.get_text() for text in display.ax_.texts] == ["g_1 = 1", "g_2 = 1", "g_3 = 1"]
    expected = choice.study.mean.loc[[name for name in choice.study.metrics if "thresh" in name], 1]
    np.testing.assert_allclose(np.sort(display.scatter_.get_array()), np.sort(expected))
    assert len(expected) == 6


def test_display_of_four_grades_numbers_the_candidates():
    qrels, runs, *_ = made(n_grades=5)
    choice = select_thresholds(qrels, runs, n_steps=2)
    display = InformativenessDisplay(choice.study).plot(rel=[1], metrics=[])
    assert display.scatter_ is None
    assert display.lines_["gap", 1].get_xdata().tolist() == list(range(1, 11))
    np.testing.assert_array_equal(display.thresholds[0], [0, 0, 0, 1])


def test_module_comes_on_demand():
    assert skrank.informativeness is informativeness
    assert "informativeness" in dir(skrank)
