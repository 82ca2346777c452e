"""check_objective, and the properties of an objective."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._engine.judgments import judge
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective
from skrank.testing._lists import ScoredLists, make_lists
from skrank.testing._properties import (
    assume,
    check_boosters,
    check_copies,
    close,
    hold,
    judged_lists,
    run,
)


@dataclass(frozen=True, eq=False)
class ObjectiveCase:
    """An objective, and the arguments of `check_objective`."""

    objective: Objective
    shift_invariant: bool
    random: bool

    @cached_property
    def data(self) -> ScoredLists:
        """Lists without ties, some of whose documents have no label."""
        return make_lists(31, missing=0, n_queries=12, longest=9, special=False)

    def gradient(self, data: ScoredLists, **options: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and hessian from a call of the objective.

        `data` may be a part of `self.data`, whose highest grade is used.
        """
        objective = self.objective.on_scale(self.data.max_grade)
        return objective(data.relevance, data.scores, groups=data.groups, **options)

    def bound(self, data: ScoredLists, dtype: type = np.float64, times: int = 1) -> np.ndarray:
        """Gradient and hessian as boosters compute them, from the last of `times` equal calls."""
        judgments = judge(data.relevance, data.groups)
        bound = self.objective.on_scale(data.max_grade).bind(judgments)
        scores = judgments.queries.gather(data.scores)
        out: np.ndarray = np.full((2, len(scores)), np.nan, dtype)
        for _ in range(times):
            bound.gradient(scores, *out)
        return np.stack([judgments.queries.scatter(values) for values in out])


def gradients_are_numbers(case: ObjectiveCase) -> None:
    """Gradients are finite and hessians at least 0; some are not 0."""
    for data in (case.data, make_lists(32, levels=2).retrieved()):
        grad, hess = case.gradient(data)
        hold(np.isfinite(grad).all() and np.isfinite(hess).all(), "a gradient is not a number")
        hold((hess >= 0).all(), "a hessian is below 0")
        hold(grad.any() and hess.any(), "all gradients or all hessians are 0")


def gradients_balance(case: ObjectiveCase) -> None:
    """Gradients of a query sum to 0, and a shift of its scores, such as by 64, changes nothing."""
    assume(case.shift_invariant, "gradients depend on the scores, not on their differences alone")
    data = case.data
    grad, hess = case.gradient(data)
    for rows in data.rows_of_queries():
        query_grad = grad[rows]
        assert_allclose(query_grad.sum(), 0, atol=1e-9 * max(1, np.abs(query_grad).sum()))
    if not case.random:
        close(case.gradient(data.with_scores(data.scores + 64)), (grad, hess), 1e-7)


def queries_are_trained_on_alone(case: ObjectiveCase) -> None:
    """Gradients of a query do not depend on other queries, nor on the order of rows."""
    assume(not case.random, "random draws depend on the order of rows")
    together = np.stack(case.gradient(case.data))
    for rows in case.data.rows_of_queries():
        close(case.gradient(case.data.reordered(rows)), together[:, rows], 1e-9)
    shuffled = np.random.default_rng(0).permutation(len(case.data.groups))
    close(case.gradient(case.data.reordered(shuffled)), together[:, shuffled], 1e-9)


def weights_scale_gradients(case: ObjectiveCase) -> None:
    """The gradients of a query are multiplied by its weight."""
    data = case.data
    weight_of = {query: (0, 0.5, 1, 3)[number % 4] for number, query in enumerate(data.ids)}
    weights = np.array([weight_of[query] for query in data.groups], float)
    unweighted = np.stack(case.gradient(data))
    close(case.gradient(data, sample_weight=weights), weights * unweighted, 1e-9)


def gradients_are_those_of_the_loss(case: ObjectiveCase) -> None:
    """Gradients equal finite differences of `losses`."""
    assume(case.objective.is_function, "its gradient is not the gradient of a function")
    data = judged_lists(33, n_queries=4, longest=6)
    judgments = judge(data.relevance, data.groups)
    bound = case.objective.on_scale(data.max_grade).bind(judgments)

    def loss(scores: np.ndarray) -> float:
        grad, hess = np.empty(len(scores)), np.empty(len(scores))
        return float(bound.losses(scores, grad, hess).sum())

    grad = case.bound(data)[0]
    for row in range(len(grad)):
        step = np.zeros(len(grad))
        step[row] = 1e-5
        slope = (loss(data.scores + step) - loss(data.scores - step)) / 2e-5
        assert_allclose(grad[row], slope, rtol=1e-5, atol=1e-7)


def single_precision_is_close(case: ObjectiveCase) -> None:
    """Float32 values, as boosters use, are close to float64 values, which equal those of a call."""
    single, double = case.bound(case.data, np.float32), case.bound(case.data)
    assert_allclose(single, double, rtol=1e-4, atol=1e-5 * np.abs(double).max())
    assert_array_equal(double, np.stack(case.gradient(case.data)))


def gradients_are_a_function_of_scores(case: ObjectiveCase) -> None:
    """A further call with the same scores gives identical gradients."""
    assert_array_equal(case.bound(case.data, times=3), case.bound(case.data))


def scores_that_are_not_finite_are_refused(case: ObjectiveCase) -> None:
    """NaN and infinite scores raise an error."""
    for score in (np.nan, np.inf, -np.inf):
        scores = case.data.scores.copy()
        scores[3] = score
        try:
            case.gradient(case.data.with_scores(scores))
        except ValueError:
            continue
        raise AssertionError(f"a score of {score} raises no error")


def copies_are_equal(case: ObjectiveCase) -> None:
    """Pickled, copied and cloned objectives are equal, with equal hashes."""
    check_copies(case.objective)


def boosters_train_on_it(case: ObjectiveCase) -> None:
    """The callables for LightGBM and XGBoost return its gradients."""
    check_boosters(case.objective.on_scale(3))  # the highest grade of the lists that it makes


PROPERTIES = [
    gradients_are_numbers,
    gradients_balance,
    queries_are_trained_on_alone,
    weights_scale_gradients,
    gradients_are_those_of_the_loss,
    single_precision_is_close,
    gradients_are_a_function_of_scores,
    scores_that_are_not_finite_are_refused,
    copies_are_equal,
    boosters_train_on_it,
]


def check_objective(
    objective: str | Metric | Objective, *, shift_invariant: bool = True, random: bool = False
) -> list[str]:
    """Test the properties that every objective of skrank has.

    Gradients are finite and hessians at least 0. Gradients of a query depend on the query alone,
    sum to 0, scale with its weight, and equal finite differences of the loss, if there is a loss.
    Values in single precision are close to double, scores that are not finite are refused,
    gradients depend on no earlier call, copies are equal, and boosters, if installed, get the same
    gradients.

    Parameters
    ----------
    objective : str, Metric or Objective
    shift_invariant : bool
        True if only differences of scores matter, so that gradients of a query sum to 0, as for
        ranking; False for regression.
    random : bool
        True if gradients depend on random draws, and thus on the order of rows and on every change
        of the scores.

    Returns
    -------
    list of str
        The properties that were tested. Properties that do not apply are left out.

    Raises
    ------
    AssertionError
        If a property does not hold; the message names the first.

    Examples
    --------
    >>> import skrank
    >>> from skrank.testing import check_objective
    >>> "gradients are those of the loss" in check_objective(skrank.Softmax())
    True
    """
    chosen = as_objective(objective)
    shift_invariant = check.check_flag("shift_invariant", shift_invariant)
    case = ObjectiveCase(chosen, shift_invariant, check.check_flag("random", random))
    return run(chosen, PROPERTIES, case)
