"""Properties of training on a metric: swap deltas, and gradients of LambdaRank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from skrank._engine.judgments import judge
from skrank.metrics import Metric, Mixture
from skrank.objectives import LambdaRank
from skrank.testing._case import SEEDS, Case, Inapplicable, assume, close, hold, value_of_list
from skrank.testing._lists import make_lists, without_nan
from skrank.testing._orders import lambdas, swap_delta
from skrank.testing._use import boosters_train_on_it


def _objective(case: Case) -> LambdaRank:
    try:
        return LambdaRank(case.metric, tie_order="stable")
    except ValueError:
        raise Inapplicable("LambdaRank does not train on it") from None


def _refuse_mixture(metric: Metric) -> None:
    assume(not isinstance(metric, Mixture), "each part of a mixture has its own swap deltas")


def swap_deltas(metric: Metric, labels: np.ndarray) -> np.ndarray:
    """Change of the value of one list for every swap of ranks a < b, by the family's tables."""
    plan = metric.bind(judge(labels))
    return plan.tables.deltas(plan.judgments.codes) * plan.inverse[0] * plan.slope()[0]


def deltas_are_those_of_swaps(case: Case) -> None:
    """The swap delta of the tables equals the difference of values after and before the swap."""
    _refuse_mixture(case.metric)
    rng = np.random.default_rng(0)
    metric = case.metric.on_scale(3)
    unjudged = 0 if metric.condensed else np.nan
    value = value_of_list(metric)
    for n in (1, 2, 5, 8):
        for grades in ([0, 1, 2, 3, unjudged], [0, 0, 0, 3], [0, 2]):
            labels = rng.choice(np.array(grades, float), n)
            labels[rng.integers(n)] = 3
            found, ranked = swap_deltas(metric, labels), without_nan(labels)
            for a in range(n):
                for b in range(a + 1, n):
                    close(found[a, b], swap_delta(value, ranked, a + 1, b + 1), 1e-10)


def better_documents_gain_upwards(case: Case) -> None:
    """No swap that moves a better document up makes the list worse."""
    _refuse_mixture(case.metric)
    assume(case.monotone, "moving a better document up may lower the value")
    sign = 1 if case.metric.greater_is_better else -1
    rng = np.random.default_rng(2)
    for _ in range(20):
        labels = rng.integers(0, 4, 10)
        labels[0] = 3
        falls = sign * swap_deltas(case.metric, labels)[np.triu(np.greater.outer(labels, labels))]
        hold((falls <= 1e-15).all(), f"a swap of {labels.tolist()} changes it by {falls.max()}")


def gradients_are_the_double_loop(case: Case) -> None:
    """Gradients equal those of a double loop over pairs."""
    plain = _objective(case)
    _refuse_mixture(case.metric)
    for objective in (plain, replace(plain, norm=False, truncation_level=3)):
        data = make_lists(5, levels=4, longest=7).retrieved()
        metric = case.metric.on_scale(data.max_grade)
        value = value_of_list(metric)
        grad, hess = objective(data.relevance, data.scores, groups=data.groups)
        for query, (scores, labels) in zip(data.ids, data.queries(), strict=True):
            rows = data.groups == query
            plan = metric.bind(judge(data.relevance[rows]))
            best = plan.inverse_ideal(objective.ideal_cutoff)[0]
            norm = objective.norm
            expected = lambdas(
                value, scores, labels,
                normalizer=plan.inverse[0] / best if best else 0.0, signed=True,
                truncation_level=objective.truncation_level, score_norm=norm, sum_norm=norm,
            )  # fmt: skip
            close([grad[rows], hess[rows]], expected, 1e-9)


def gradients_balance(case: Case) -> None:
    """Gradients of a query sum to 0 and raise the best documents; hessians are not below 0."""
    objective = _objective(case)
    found = 0.0
    for seed in SEEDS:
        data = make_lists(seed, levels=6, n_queries=30, longest=20).retrieved()
        grad, hess = objective(data.relevance, data.scores, groups=data.groups)
        hold((hess >= 0).all(), "a hessian is below 0")
        for query in data.ids:
            rows = data.groups == query
            assert_allclose(grad[rows].sum(), 0, atol=1e-12 * max(1, np.abs(grad[rows]).sum()))
            labels = np.nan_to_num(data.relevance[rows])
            best, worst = grad[rows][labels == labels.max()], grad[rows][labels == labels.min()]
            hold((best <= 1e-15).all(), "a gradient lowers the best documents")
            hold((worst >= -1e-15).all(), "a gradient raises the worst documents")
        found += np.abs(grad).sum()
    hold(found, "all gradients are 0")


def it_serves_boosters(case: Case) -> None:
    """Both boosters train on it."""
    boosters_train_on_it(_objective(case).on_scale(3))


TRAINING = [
    ("swaps change it as its tables say", deltas_are_those_of_swaps),
    ("better documents gain by going up", better_documents_gain_upwards),
    ("gradients are the double loop over pairs", gradients_are_the_double_loop),
    ("gradients balance", gradients_balance),
    ("boosters train on it", it_serves_boosters),
]
