"""Informativeness of metrics: distributions, curves, the study, and thresholds."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

import skrank
from skrank import trec
from skrank.informativeness import (
    maximum_entropy,
    select_thresholds,
    study,
    threshold_grid,
)
from tests.helpers.informativeness_cases import made, random_list


def entropy(p):
    p = np.maximum(p, 1e-300)
    return -np.sum(p * np.log(p))


def expected_gap(p, g, relevant):
    """Expected GAP by its definition: P(relevant at threshold j) = P(grade >= j)."""
    total = 0.0
    for j, share in enumerate(g, start=1):
        at_least = p[:, j:].sum(axis=1)
        for n in range(len(p)):
            total += share * at_least[n] / (n + 1) * (1 + at_least[:n].sum())
    return total / (np.cumsum(g) @ relevant)


def slsqp(g, value, retrieved, n_ranks, seed):
    """The solution of the same problem by scipy's SLSQP."""
    counts = np.array([n_ranks - sum(retrieved), *retrieved])
    chances = np.random.default_rng(seed).dirichlet(np.ones(len(counts)), n_ranks)

    def violations(z):
        p = z.reshape(chances.shape)
        beyond = expected_gap(p, g, retrieved) - value
        return [*(p.sum(axis=1) - 1), *(p.sum(axis=0) - counts)[1:], beyond]

    found = minimize(
        lambda z: -entropy(z),
        (0.7 * counts / n_ranks + 0.3 * chances).ravel(),
        jac=lambda z: 1 + np.log(np.maximum(z, 1e-300)),
        bounds=[(1e-12, 1)] * chances.size,
        constraints={"type": "eq", "fun": violations},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-15},
    )
    return found.x.reshape(chances.shape), found.success


# distributions


@pytest.mark.parametrize(
    ("value", "retrieved", "n_ranks", "g"),
    [
        (0.8, [2, 1], 6, (0.5, 0.5)),
        (0.45, [2, 1], 6, (0.5, 0.5)),  # below the value of the uniform distribution
        (0.95, [2, 3], 10, (0.1, 0.9)),
        (0.5, [1, 2, 2], 12, (0.2, 0.5, 0.3)),
    ],
)
def test_gap_equals_a_general_solver(value, retrieved, n_ranks, g):
    found = maximum_entropy(skrank.metric("gap", thresholds=g), value, retrieved, n_ranks)
    assert found.converged
    solutions = (slsqp(g, value, retrieved, n_ranks, seed) for seed in range(2))
    other = next(p for p, success in solutions if success and entropy(p) > found.entropy - 1e-6)
    assert entropy(other) == pytest.approx(found.entropy, abs=1e-6)
    np.testing.assert_allclose(found.probabilities, other, atol=1e-6)


@pytest.mark.parametrize(
    "name",
    ["gap", "gap(normalize=ideal)@3", "ap", "ndcg", "ndcg(discount=jk,base=3)@3", "dcg", "cg@9",
     "precision@3", "recall@3", "r_precision", "rbp(p=0.5)@3", "q", "q(beta=10)@3"],
)  # fmt: skip
def test_the_result_satisfies_the_constraints(name):
    grades = random_list(0)
    scores = -np.arange(60.0)
    metric = skrank.metric(name).on_scale(3)
    value = metric(grades, scores)
    retrieved = np.bincount(grades, minlength=4)[1:]
    found = maximum_entropy(metric, value, retrieved, 60)
    assert found.converged
    assert found.expected == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(found.probabilities.sum(axis=0), found.retrieved, atol=1e-7)
    assert found.probabilities.min() >= 0
    # a list is a distribution of entropy 0 with this mean
    assert 0 <= found.entropy <= entropy(np.tile(found.retrieved / 60, (60, 1))) + 1e-9


def test_reach_is_that_of_all_orders():
    grades = [2, 1, 1, 0, 0]
    for name in ("gap", "ndcg", "q", "precision@2", "ap", "rbp"):
        metric = skrank.metric(name)
        orders = {metric(list(order), [5, 4, 3, 2, 1]) for order in set(permutations(grades))}
        for end in (min(orders), max(orders)):
            assert maximum_entropy(metric, end, [2, 1], 5).converged
        for beyond in (min(orders) - 1e-6, max(orders) + 1e-6):
            with pytest.raises(ValueError, match=name.partition("@")[0]):
                maximum_entropy(metric, beyond, [2, 1], 5)


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_error_equals_its_literal_definition(rel):
    grades = random_list(3)
    value = skrank.metric("gap")(grades, -np.arange(60.0))
    found = maximum_entropy("gap", value, np.bincount(grades)[1:], 60)
    cumulated = np.append(0, np.cumsum(found.probabilities[:, rel:].sum(axis=1)))
    ranks = np.flatnonzero(grades >= rel) + 1
    hits = np.arange(1, len(ranks) + 1)
    inferred = np.interp(hits - 1e-9, cumulated, np.arange(len(cumulated)))
    expected = np.sqrt(np.mean((hits / ranks - hits / inferred) ** 2))
    assert found.error(grades, rel) == pytest.approx(expected, abs=1e-6)


def test_curve_has_the_recall_of_the_whole_query():
    found = maximum_entropy("gap", 0.3, [2, 2], 10, relevant=[4, 8])
    assert found.precision_recall()[0][-1] == pytest.approx(4 / 12)
    assert found.precision_recall(rel=2)[0][-1] == pytest.approx(2 / 8)


def ranked_labels(qrels, run):
    """Labels in rank order by query, NaN where not judged."""
    labels = qrels.to_frame().set_index(["qid", "docid"])["label"]
    frame = run.to_frame()
    frame["label"] = labels.reindex(list(zip(frame.qid, frame.docid, strict=True))).to_numpy()
    return {qid: part.label.to_numpy() for qid, part in frame.groupby("qid")}


# the study


@pytest.mark.parametrize(("k", "condensed"), [(None, False), (30, True)])
def test_study_is_the_single_problem_on_each_list(k, condensed):
    qrels, runs, *_ = made(n_queries=4)
    names = ["gap(thresholds=[0.3,0.7])", "ndcg", "q", "precision@10"]
    found = study(qrels, runs, names, k=k, condensed=condensed, min_retrieved=3)
    assert found.converged.all()
    assert len(found.lists) == 8
    everything = {run.name: ranked_labels(qrels, run) for run in runs}
    all_labels = qrels.to_frame().groupby("qid")["label"]
    totals = {q: [int((part == g).sum()) for g in (1, 2)] for q, part in all_labels}
    for i, (run, qid, ranks) in enumerate(found.lists.itertuples(index=False)):
        labels = everything[run][qid]
        labels = labels[~np.isnan(labels)] if condensed else np.nan_to_num(labels)
        labels = labels[:k]
        assert len(labels) == ranks
        retrieved = [int((labels == g).sum()) for g in (1, 2)]
        for m, name in enumerate(names):
            one = maximum_entropy(name, found.values[i, m], retrieved, ranks, relevant=totals[qid])
            for t, rel in enumerate((1, 2)):
                assert found.errors[i, m, t] == pytest.approx(one.error(labels, rel), abs=1e-6)


def test_a_metric_without_information_has_the_error_of_no_metric():
    """LETOR's rule makes the nDCG of short lists 0."""
    qrels, runs, *_ = made(n_docs=40)
    found = study(qrels, runs, ["ndcg(discount=letor)@100", "gap", "ndcg", "recall"])
    assert (found.values[:, 0] == 0).all()
    np.testing.assert_allclose(found.errors[:, 0], found.uninformed)
    np.testing.assert_allclose(found.errors[:, 3], found.uninformed)
    assert (found.mean.loc[["gap", "ndcg"]] < found.uninformed.mean(axis=0)).all(axis=None)


# thresholds


def test_selection_and_cross_validated_error_literally():
    qrels, runs, *_ = made(n_queries=8)
    candidates = [[0.1, 0.9], (0.5, 0.5), np.array([0.9, 0.1])]
    choice = select_thresholds(qrels, runs, [*candidates, [0.5, 0.5]])  # one occurs twice
    found = study(qrels, runs, [skrank.metric("gap", thresholds=g) for g in candidates])
    means = found.mean.mean(axis=1).to_numpy()
    np.testing.assert_allclose(choice.table["criterion"], means)
    assert choice.thresholds == tuple(candidates[int(np.argmin(means))])
    assert choice.metric == skrank.metric("gap", thresholds=choice.thresholds)
    criterion = choice.study.errors.mean(axis=2)
    queries = choice.study.lists["qid"].to_numpy()
    held_out = np.empty(len(queries))
    for query in np.unique(queries):
        out = queries == query
        chosen = criterion[~out].mean(axis=0).argmin()
        held_out[out] = criterion[out, chosen]
    assert choice.cross_validated == pytest.approx(held_out.mean())


QRELS, RUNS, _, QID = made()
EMPTY = trec.Qrels.from_arrays(["0", "0"], ["0", "1"], [0, 0])
GRADED = trec.Qrels.from_arrays(["0"] * 60, range(60), np.arange(60))
HALVES = trec.Qrels.from_arrays(QID, np.tile(np.arange(50), 12), np.full(600, 0.5))


def solved(**changes):
    given = {"metric": "gap", "value": 0.5, "retrieved": [2, 1], "n_ranks": 6}
    return maximum_entropy(**given | changes)


def studied(metrics="gap", **changes):
    return study(**{"qrels": QRELS, "runs": RUNS, "metrics": metrics} | changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solved(value=np.nan), "value=nan"),
        *(
            (lambda name=name: solved(metric=name), name.partition("(")[0])
            for name in ("err", "rr", "bpref", "infap", "iprec", "ap(normalize=retrieved)")
        ),
        (lambda: solved(n_ranks=2), "relevant="),
        (lambda: solved(relevant=[1, 1]), "relevant="),
        (lambda: solved(retrieved=[0, 0]), "no relevant document"),
        (lambda: solved(metric="gap(thresholds=[1])"), "label 2"),
        (lambda: solved().error([2, 2, 1, 0, 0, 0]), "grades"),
        (lambda: solved().error([2, 1, 1, 0, 0, 0], 0), "rel=0"),
        (lambda: studied(min_retrieved=50), "50 documents"),
        (lambda: studied("gap(condensed=True)"), "condensed=True"),
        (lambda: studied("judged"), "judged"),
        (lambda: studied(qrels=EMPTY), "label"),
        (lambda: studied(qrels=GRADED), "rel="),
        (lambda: threshold_grid(10, 10), "92378 candidates"),
        (lambda: select_thresholds(QRELS, RUNS, [[0.5, 1.0]]), "thresholds"),
        (lambda: select_thresholds(HALVES, RUNS), "labels"),
    ],
)
def test_wrong_input(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
