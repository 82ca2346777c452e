"""Moments of metrics under random labels equal sums over all label vectors."""

import itertools

import numpy as np
import pytest

import skrank
from skrank.active import ActiveEvaluator, Design
from skrank.extending import plain_up_to
from skrank.metrics import registered
from tests.helpers.campaigns import label_moments

EXACT = [
    "dcg", "dcg@3", "dcg(gain=linear)", "dcg(discount=romip)@3", "cg", "cg@2",
    "rbp", "rbp(p=0.5)@3", "precision@3", "precision(rel=2)@7",
    "err", "err(max_grade=4)@3", "pfound", "pfound(p_rel=yandex)@4",
    "rr", "rr(rel=2)@3", "rr(ruler=romip)", "success@2",
]  # fmt: skip
GRADES = [0.0, 1.0, 2.0]


def enumerated(metric, scores, probabilities, grades):
    """Mass, mean and mean square of one query, as sums over all label vectors."""
    n, n_grades = probabilities.shape
    codes = np.array(list(itertools.product(range(n_grades), repeat=n)))
    chance = np.prod(probabilities[np.arange(n), codes], axis=1)
    labels = np.asarray(grades)[codes].ravel()
    qid = np.repeat(np.arange(len(codes)), n)
    with plain_up_to(-1):
        values = [metric.per_query(labels, np.tile(s, len(codes)), groups=qid) for s in scores]
    value = values[0] if len(values) == 1 else values[0] - values[1]
    value = value.to_numpy()
    counts = ~np.isnan(value)
    value = np.where(counts, value, 0.0)
    return chance @ counts, chance @ value, chance @ value**2


def cases(random, n=4):
    """Scores of two rankers and label probabilities; also certain labels and -inf scores."""
    for kind in ("plain", "certain", "missing", "missing twice"):
        probabilities = random.dirichlet([0.6] * len(GRADES), n)
        scores = random.random((2, n))
        if kind == "certain":
            probabilities[1], probabilities[3] = [0, 0, 1], [1, 0, 0]
        if kind.startswith("missing"):
            scores[0, 1] = -np.inf
        if kind == "missing twice":
            scores[1, 3:] = -np.inf
        yield scores, probabilities


def fixed(name):
    """The metric with `max_grade` of the pool, as a label vector may lack the highest grade."""
    metric = skrank.metric(name)
    if getattr(metric, "max_grade", 0) is None and "thresholds" not in name:
        metric = skrank.metric(metric, max_grade=2)
    return metric


def counted(name):
    """The metric as in campaigns: with ``empty=0`` if it is not normalised."""
    design = Design(grades=GRADES)
    return ActiveEvaluator(np.arange(4.0), np.zeros(4), metric=fixed(name), design=design).metric


@pytest.mark.parametrize("n_rankers", [1, 2])
@pytest.mark.parametrize("name", [*EXACT, "r_precision(multiple=0.2)", *sorted(registered())])
def test_exact_moments_equal_enumeration(name, n_rankers):
    """Also of every metric that `GradedMetric` takes for a sum over ranks."""
    try:
        metric = counted(name)
    except ValueError:
        assert name in registered()  # not a mean over queries, or without a cut-off
        return
    queries = list(cases(np.random.default_rng(0)))
    scores = np.concatenate([scores for scores, _ in queries], axis=1)[:n_rankers]
    found = label_moments(
        fixed(name),
        scores[0],
        np.repeat(np.arange(len(queries)), 4),
        other=scores[1] if n_rankers == 2 else None,
        label_model=np.concatenate([probabilities for _, probabilities in queries]),
        n_label_draws=1,
    )
    if found.method == "exact":
        for query, case in enumerate(queries):
            expected = enumerated(metric, case[0][:n_rankers], case[1], GRADES)
            got = (found.mass[query], found.first[query], found.second[query])
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    if name in EXACT:
        assert found.method == "exact"


def test_cascade_of_long_lists_neither_underflows_nor_loses_digits():
    """The expected product of two equal lists is the expected square."""
    random = np.random.default_rng(1)
    scores = random.standard_normal(1500)
    probabilities = random.dirichlet([0.2] * 5, 1500)
    one = label_moments("err", scores, np.zeros(1500), label_model=probabilities)
    zero = label_moments("err", scores, np.zeros(1500), other=scores, label_model=probabilities)
    assert zero.first[0] == 0
    assert zero.second[0] < 1e-14
    other = label_moments("err", -scores, np.zeros(1500), label_model=probabilities)
    both = label_moments("err", scores, np.zeros(1500), other=-scores, label_model=probabilities)
    assert both.first[0] == pytest.approx(one.first[0] - other.first[0], rel=1e-12)


@pytest.mark.parametrize("name", ["ndcg", "q", "gap", "ap(empty=1)", "bpref"])
@pytest.mark.parametrize("n_rankers", [1, 2])
def test_monte_carlo_converges_to_enumeration(name, n_rankers):
    random = np.random.default_rng(4)
    scores, probabilities = next(cases(random))
    metric = counted(name)
    second = scores[1] if n_rankers == 2 else None
    found = label_moments(
        fixed(name), scores[0], np.zeros(4), other=second, label_model=probabilities,
        n_label_draws=40_000,
    )  # fmt: skip
    expected = enumerated(metric, scores[:n_rankers], probabilities, GRADES)
    got = (found.mass[0], found.first[0], found.second[0])
    assert np.abs(np.subtract(got, expected)).max() < 0.01


def test_grades_need_not_be_consecutive_nor_start_at_0():
    random = np.random.default_rng(6)
    grades, scores = [1.0, 2.0, 4.0], random.random(4)
    probabilities = random.dirichlet([1.0] * 3, 4)
    for metric in (skrank.metric("dcg", empty=0), skrank.metric("err", empty=0, max_grade=4)):
        found = label_moments(metric, scores, np.zeros(4), label_model=probabilities, grades=grades)
        expected = enumerated(metric, [scores], probabilities, grades)
        got = (found.mass[0], found.first[0], found.second[0])
        np.testing.assert_allclose(got, expected, atol=1e-12)
