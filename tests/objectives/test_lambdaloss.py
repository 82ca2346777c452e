"""LambdaLoss: literal definitions, and comparison with LambdaRank."""

import math

import numpy as np
import pytest

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank import LambdaLoss, LambdaRank
from tests.helpers.lambdaloss_cases import (
    METRICS,
    OPTIONS,
    STABLE,
    close,
    exp2,
    finite,
    gradient,
    literal_query,
    log2_discount,
    pair_weight,
    step,
)


def literal(name, data, **options):
    grad, hess = np.zeros(len(data.groups)), np.zeros(len(data.groups))
    for query, (scores, labels) in zip(data.ids, data.queries(), strict=True):
        rows = data.groups == query
        labels = np.array([math.nan if label is None else label for label in labels], float)
        grad[rows], hess[rows] = literal_query(name, labels, np.asarray(scores), **options)
    return grad, hess


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", METRICS)
def test_gradients_are_the_literal_double_loop(name, options):
    for seed, how in enumerate(({}, {"levels": 3}, {"scattered": False, "longest": 12})):
        data = finite(seed, **how)
        expected = literal(name, data, **options)
        assert expected[0].any()
        close(gradient(name, data, **options), expected)


@pytest.mark.parametrize("name", ["ndcg", "ndcg@3", "ndcg(discount=jk,base=3.0)@1"])
@pytest.mark.parametrize("weights", ["ndcg_loss2++", "ndcg_loss2"])
def test_finite_differences_of_the_cost_at_fixed_weights(name, weights):
    rng = np.random.default_rng(8)
    labels, scores = rng.integers(0, 4, 9).astype(float), rng.normal(size=9)
    labels[0] = 3
    gain, discount, k, _ = METRICS[name]
    order = np.argsort(-scores)
    rank = np.empty(9, int)
    rank[order] = np.arange(1, 10)
    gains = np.array([gain(label) for label in labels])
    gains = gains / sum(
        g * discount(r + 1) for r, g in enumerate(sorted(gains, reverse=True)) if r < (k or 9)
    )

    def weight(i, j):
        upper, lower = sorted((rank[i], rank[j]))
        return pair_weight(name, weights, 10.0, (gains[i], gains[j]), upper, lower)

    fixed = {(i, j): weight(i, j) for i in range(9) for j in range(9) if labels[i] > labels[j]}

    def cost(s):
        return sum(w * np.log1p(np.exp(s[j] - s[i])) for (i, j), w in fixed.items())

    grad, hess = LambdaLoss(name, weights=weights)(labels, scores)
    for i in range(9):
        change = np.zeros(9)
        change[i] = 1e-4
        up, here, down = cost(scores + change), cost(scores), cost(scores - change)
        assert grad[i] == pytest.approx((up - down) / 2e-4, abs=1e-6)
        assert hess[i] == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-5)


def test_weights_of_pairs_in_the_wrong_order_bound_the_loss():
    rng = np.random.default_rng(0)
    ratios = []
    for n in (2, 3, 5, 9, 30):
        for _ in range(30):
            labels = np.append(rng.integers(0, 4, n - 1), 3)
            loss = 1 - skrank.metric("ndcg")(labels, -np.arange(n))
            gains = [exp2(label) for label in labels]
            best = sum(g * log2_discount(r + 1) for r, g in enumerate(sorted(gains)[::-1]))
            bound = sum(
                pair_weight("ndcg", "ndcg_loss2", 1, (gains[a], gains[b]), a + 1, b + 1) / best
                for a in range(n)
                for b in range(a + 1, n)
                if gains[a] < gains[b]
            )
            assert bound >= loss - 1e-12
            if loss > 0:
                ratios.append(bound / loss)
    assert min(ratios) < 1.01  # the bound is tight


@pytest.mark.parametrize("k", [1, 3, 10])
def test_steps_above_a_document_sum_to_what_it_loses(k):
    for rank in range(2, 20):
        steps = sum(step(log2_discount, k, above, rank) for above in range(1, rank))
        assert steps == pytest.approx(1 - (log2_discount(rank) if rank <= k else 0))


# ---------------------------------------------------------------------- next to LambdaRank


@pytest.mark.parametrize(
    "name", ["ndcg", "ndcg@3", "dcg(gain=linear)@700", "ndcg(discount=letor)@5"]
)
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("level", [None, 5])
def test_without_the_bound_it_is_lambdarank(name, norm, level):
    options = {"norm": norm, "truncation_level": level}
    for seed, how in enumerate(({}, {"n_queries": 3, "longest": 1500})):
        data = finite(seed, **how)
        expected = LambdaRank(name, **STABLE, **options)(
            data.relevance, data.scores, groups=data.groups
        )
        close(gradient(name, data, mu=0, **options), expected)


def test_far_down_the_list_it_tells_neighbours_apart():
    n = 200
    labels = np.zeros(n)
    labels[-1] = 1  # at rank 200
    ratio = {}
    for objective in (LambdaRank("ndcg", norm=False), LambdaLoss("ndcg")):
        grad, _ = objective(labels, -1e-3 * np.arange(n))
        ratio[type(objective)] = grad[-2] / grad[0]  # of ranks n - 1 and 1
    assert ratio[LambdaRank] < 0.01
    assert ratio[LambdaLoss] > 1
