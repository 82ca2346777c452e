"""The literal definitions against Sakai's families and LightGBM; ties and lambdas by hand.

Metrics are compared with other tools, and with the literal definitions, in other files.
"""

import itertools
import math
import random
from functools import partial

import pytest

from tests.helpers import reference as ref
from tests.helpers.reference_cases import close, queries

# ---------------------------------------------------------------------- Sakai


def bpref_as_printed(ranked, unretrieved, denominator):
    """Sakai 2007, equation 1: members of the first R judged non-relevant documents above D."""
    everything = ref.judged_labels(ranked, unretrieved)
    r = sum(1 for y in everything if y >= 1)
    n = len(everything) - r
    first = [i for i, y in enumerate(ranked) if y == 0][:r]
    total = 0.0
    for i, y in enumerate(ranked):
        if y is not None and y >= 1:
            above = sum(1 for j in first if j < i)
            total += 1 - (above / denominator(r, n) if above else 0)
    return total / r


def test_bpref_family():
    for ranked, rest in queries(400, seed=10):
        how = {"unretrieved": rest}
        names = ("trec", "romip", "10", "n", "old")
        value = {name: ref.bpref(ranked, variant=name, **how) for name in names}
        relevant = ref.count_relevant(ranked + rest, 1)
        other = len(ref.judged_labels(ranked, rest)) - relevant
        assert value["trec"] == close(bpref_as_printed(ranked, rest, min))
        assert value["romip"] == close(bpref_as_printed(ranked, rest, lambda r, n: r))
        assert relevant > other or value["trec"] == close(value["romip"])
        assert relevant < other or value["trec"] == close(value["n"])
        ordered = [value[v] for v in ("old", "trec", "romip", "10")]
        assert all(x <= y + 1e-12 for x, y in itertools.pairwise(ordered))


def test_binary_rpref_is_bpref_and_average_precision():
    for ranked, rest in queries(400, seed=11, grades=1):
        how = {"unretrieved": rest}
        for variant in ("n", "relative"):
            expected = ref.bpref(ranked, variant=variant, **how)
            assert ref.rpref(ranked, variant=variant, max_grade=1, **how) == close(expected)
        average = ref.ap(ref.condense(ranked), **how)
        assert ref.rpref(ranked, variant="relative2", max_grade=1, **how) == close(average)


def test_ideal_lists_of_the_relative_variants():
    for ranked, rest in queries(200, seed=12, unjudged=False):
        ideal = sorted(ranked + rest, reverse=True)
        relevant = ref.count_relevant(ideal, 1)
        assert ref.bpref(ideal, variant="relative") == close((relevant - 1) / relevant)
        value = ref.rpref(ideal, variant="relative", max_grade=3)
        assert value == close((sum(ideal) - ideal[0]) / sum(ideal))


def test_the_flaw_of_the_relative_variants_at_ranks_1_and_2():
    relative = partial(ref.rpref, variant="relative", max_grade=3)
    assert relative([3, 0]) == relative([0, 3]) == 0
    assert ref.bpref([1], variant="relative") == ref.bpref([0, 1], variant="relative") == 0
    assert relative([1, 3]) > 0


def test_q_measure_without_beta_is_average_precision():
    for ranked, rest in queries(200, seed=13):
        for k in (None, 3):
            how = {"unretrieved": rest, "k": k}
            assert ref.q(ranked, beta=0, **how) == close(ref.ap(ranked, **how))
    assert ref.q([3, 2, 1, 0]) == close(1.0)


def test_q_measure_of_pyntcireval_s_example():
    ranked, rest = [0, 1, 0, 0, 2], [1, 1, 1, 1]
    assert ref.q(ranked, unretrieved=rest) == close(0.14242, abs=5e-6)
    assert ref.ap(ranked, unretrieved=rest) == close(0.15)
    assert ref.q(ranked, unretrieved=rest, k=3, normalize="ideal") == close(0.13333, abs=5e-6)


def test_condensed_metrics_do_not_see_unjudged_documents():
    assert ref.from_array([math.nan, 1]) == [None, 1.0]
    assert ref.condense([None, 1, None, 0]) == [1, 0]
    assert ref.bpref([None, 0, None, 1]) == ref.bpref([0, 1])
    assert ref.ap([None, 0, 1]) == close(1 / 3)
    assert ref.judged([None, 1, 0, 0], k=2) == 0.5


# ---------------------------------------------------------------------- LightGBM


def lightgbm_gradients(labels, scores, parameters, copies=200):
    """LightGBM's own gradient and hessian, read from the leaf of one document at two l2 penalties.

    A leaf is -g / (h + l2). LightGBM refuses leaves that hold little of the hessian, hence many
    copies of the query.
    """
    lgb = pytest.importorskip("lightgbm")
    np = pytest.importorskip("numpy")
    n, outputs = len(labels), []
    fixed = {"objective": "lambdarank", "num_leaves": 2, "learning_rate": 1.0, "verbose": -1}
    fixed |= {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0, "num_threads": 1, **parameters}
    query = {"label": np.tile(labels, copies), "group": [n] * copies}
    query["init_score"] = np.tile(scores, copies)
    for l2 in (0.5, 2.0):
        outputs.append([])
        for row in range(n):  # a tree that can only split this document off
            params = {**fixed, "lambda_l2": l2 * copies}
            one = lgb.Dataset(np.tile(np.eye(n)[:, [row]], (copies, 1)), params=params, **query)
            tree = lgb.train(params, one, num_boost_round=1)
            outputs[-1].append(tree.predict(np.ones((1, 1)), raw_score=True)[0])
    hess = [(2.0 * y - 0.5 * x) / (x - y) for x, y in zip(*outputs, strict=True)]
    grad = [-x * (h + 0.5) for x, h in zip(outputs[0], hess, strict=True)]
    return grad, hess


@pytest.mark.parametrize("truncation_level", [3, 30])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_lambdas_are_lightgbm_s(truncation_level, norm, sigma):
    rng = random.Random(16)
    labels = [3, 0, 1, 2, 0, 1, 0, 2]
    scores = [rng.gauss(0, 1) for _ in labels]
    metric, normalizer = ref.objective(ref.dcg_sum, labels, truncation_level=truncation_level)
    grad, hess = ref.lambdas(
        metric,
        scores,
        labels,
        normalizer=normalizer,
        sigma=sigma,
        truncation_level=truncation_level,
        score_norm=norm,
        sum_norm=norm,
    )
    parameters = {"lambdarank_truncation_level": truncation_level, "lambdarank_norm": norm}
    theirs = lightgbm_gradients(labels, scores, {**parameters, "sigmoid": sigma})
    assert grad == pytest.approx(theirs[0], rel=2e-4, abs=1e-6)
    assert hess == pytest.approx(theirs[1], rel=2e-3, abs=1e-5)


# ---------------------------------------------------------------------- ties, lambdas


def test_ties():
    scores, labels = [1.0, 1.0, 0.0, -math.inf], [0, 1, 2, 3]
    assert list(ref.tie_orders(scores, labels)) == [[0, 1, 2], [1, 0, 2]]
    metric = partial(ref.gap, max_grade=3)
    assert ref.stable(metric, scores, labels) == metric([0, 1, 2], unretrieved=[3])
    worst, best = metric([0, 1, 2], unretrieved=[3]), metric([1, 0, 2], unretrieved=[3])
    assert ref.tie_expectation(metric, scores, labels) == close((worst + best) / 2)
    for which, value in (("worst", worst), ("best", best)):
        assert ref.tie_bound(metric, scores, labels, which) == value
        assert ref.label_ordered(metric, scores, labels, which) == value
    assert ref.tie_bound(ref.error, scores, labels, "best", greater_is_better=False) == 0.5


def test_a_constant_scorer_has_the_precision_of_chance():
    labels = [0, 1, 0, 2, 0, None]
    for k in (1, 2, 5):
        value = ref.tie_expectation(partial(ref.precision, k=k), [0.0] * 6, labels)
        assert value == close(2 / 6)


def test_lambdas_of_two_documents_by_hand():
    """Two documents in the wrong order: dAP = 1/2, distance 1, one pair."""
    p = 1 / (1 + math.exp(-1))
    metric, normalizer = ref.objective(ref.ap_numerator, [0, 1])
    plain = {"normalizer": normalizer, "score_norm": False, "sum_norm": False}
    grad, hess = ref.lambdas(metric, [1.0, 0.0], [0, 1], **plain)
    assert grad == close([0.5 * p, -0.5 * p])
    assert hess == close([0.5 * p * (1 - p)] * 2)
    grad, _ = ref.lambdas(metric, [1.0, 0.0], [0, 1], normalizer=normalizer)
    assert grad[0] == close(math.log2(1 + p / 1.01) / 2)


@pytest.mark.parametrize("numerator", [ref.dcg_sum, ref.ap_numerator, ref.q_numerator])
@pytest.mark.parametrize("truncation_level", [None, 2])
def test_lambdas_sum_to_zero_and_hessians_are_not_negative(numerator, truncation_level):
    rng = random.Random(17)
    for _ in range(20):
        labels = [rng.choice((0, 1, 2, 3)) for _ in range(6)]
        scores = [rng.choice((0.0, 0.5, 1.0, 2.0)) for _ in labels]
        how = {"truncation_level": truncation_level, "k": rng.choice((None, 3))}
        metric, normalizer = ref.objective(numerator, labels, **how)
        how = {"truncation_level": truncation_level, "normalizer": normalizer}
        grad, hess = ref.lambdas(metric, scores, labels, signed=True, **how)
        assert math.fsum(grad) == close(0.0)
        assert min(hess) >= 0


def test_normaliser_is_the_ideal_value_cut_at_the_truncation_level():
    labels = [0, 3, 1, 2, 0]
    _, normalizer = ref.objective(ref.gap_numerator, labels, truncation_level=2, max_grade=3)
    assert normalizer == close(1 + 2 / 3)
    _, normalizer = ref.objective(ref.ap_numerator, labels, truncation_level=2, k=1)
    assert normalizer == 1
    metric, _ = ref.objective(ref.dcg_sum, labels, truncation_level=2)
    assert metric(labels) == ref.dcg(labels)


def test_signed_lambdas_leave_out_the_pairs_that_q_measure_orders_wrongly():
    labels, scores = [0, 1, 3, 0], [4.0, 3.0, 2.0, 1.0]
    metric, normalizer = ref.objective(ref.q_numerator, labels)
    how = {"normalizer": normalizer, "sum_norm": False}
    plain, _ = ref.lambdas(metric, scores, labels, **how)
    signed, _ = ref.lambdas(metric, scores, labels, signed=True, **how)
    assert plain[3] > 0
    assert signed[3] < plain[3]


def test_lambdas_of_unretrieved_documents_are_0():
    metric, normalizer = ref.objective(ref.dcg_sum, [2, 0, 1])
    grad, hess = ref.lambdas(metric, [0.0, 1.0, -math.inf], [2, 0, 1], normalizer=normalizer)
    assert grad[2] == hess[2] == 0
    assert grad[0] < 0 < grad[1]
