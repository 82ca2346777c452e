"""CatBoost under a GroupedRanker: its names for queries and weights, and metrics that know them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from skrank._boosters.adapters import import_booster
from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Options, Reduced, Table
from skrank.rankers._rows import Part
from skrank.rankers._training import (
    VALIDATION,
    Backend,
    Fitted,
    Fitting,
    HeldOut,
    InverseLink,
    Log,
    identity,
    started,
)

_NOT_MEASURED = -1.0  # for the training part; CatBoost writes values as JSON, which has no NaN


def fit_catboost(fitting: Fitting[Part], *, ranks: bool = False) -> Fitted:
    """Train a CatBoost estimator; for `ranks`, on queries."""
    estimator, train, valid, task, params = started(fitting, "baseline")
    followed = None
    if valid is not None:
        params["eval_set"] = import_booster("catboost").Pool(
            valid.X,
            valid.y,
            cat_features=params.get("cat_features") or estimator.get_params().get("cat_features"),
            baseline=valid.start,
            **_rows(valid, ranks, "weight"),
        )
        params["early_stopping_rounds"] = task.rounds
        if task.metrics:
            followed = _named_metric(next(iter(task.metrics)))
            followed.follow(valid, HeldOut(valid, task.metrics))
            estimator.set_params(eval_metric=followed)
    params |= _rows(train, ranks, "sample_weight") | {"baseline": train.start}
    estimator.fit(train.X, train.y, **params)
    evals = {} if valid is None else dict(estimator.get_evals_result().get(VALIDATION, {}))
    if followed is not None:
        evals = followed.release()
    return Fitted(estimator, int(estimator.tree_count_), evals)


def _rows(part: Part, ranks: bool, weight: str) -> Options:
    """Queries and weights of rows by CatBoost's names."""
    if not ranks:
        return {} if part.weights is None else {weight: part.weights}
    added: Options = {"group_id": part.queries.row_query}
    weights = part.query_weights
    if weights is not None:
        added["group_weight"] = np.repeat(weights, part.queries.sizes)
    return added


# CatBoost passes no queries to an eval metric, but all rows of a part at once, those of the
# validation part in the order in which they were given: a metric that has the judgments of that
# part needs the scores only. Objectives are called on blocks of rows, in an order of its own, so
# that there is no such way for them.


class _FollowedMetric:
    """Metrics on the validation part as CatBoost's `eval_metric`: the first decides.

    CatBoost takes the name of the class for that of the metric.
    """

    no_jit = True  # CatBoost would have numba compile the methods, and warn that it cannot
    held_out: HeldOut | None = None
    labels: np.ndarray | None = None

    def follow(self, part: Part, held_out: HeldOut) -> None:
        """Measure a validation part."""
        self.held_out, self.labels = held_out, part.y.astype(np.float32)
        # by place in memory: a training part may have the same labels, and is measured first
        self.logs: dict[int, list[dict[str, float]]] = {}

    def release(self) -> Log:
        """Values per round; the part is let go, for the fitted estimator keeps the metric."""
        rounds = list(self.logs.values())[-1]
        self.held_out = self.labels = None
        self.logs = {}
        return {name: [values[name] for values in rounds] for name in rounds[0]}

    def __reduce__(self) -> Reduced:
        return _named_metric, (type(self).__name__,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of one training>"

    def __deepcopy__(self, _: object) -> _FollowedMetric:
        return self  # CatBoost copies its parameters before it trains

    def is_max_optimal(self) -> bool:
        assert self.held_out is not None
        return next(iter(self.held_out.plans.values())).metric.greater_is_better

    def get_final_error(self, error: float, weight: float) -> float:
        return error

    def evaluate(
        self, approxes: Sequence[np.ndarray], target: np.ndarray, weight: ArrayLike | None
    ) -> tuple[float, float]:
        if self.held_out is None or self.labels is None:
            raise ValueError("this eval_metric has served its training: set another one, or None.")
        if not np.array_equal(target, self.labels):
            return _NOT_MEASURED, 1.0
        (scores,) = approxes
        means = self.held_out.means(scores)
        self.logs.setdefault(target.__array_interface__["data"][0], []).append(means)
        return next(iter(means.values())), 1.0


def _named_metric(name: str) -> _FollowedMetric:
    """A metric without data, of a class of this name."""
    return type(name, (_FollowedMetric,), {})()


def _margins(estimator: Estimator, X: Table) -> np.ndarray:
    return estimator.predict(X, prediction_type="RawFormulaVal")


def _inverse_link(estimator: Estimator) -> InverseLink:
    """That of a fitted model."""
    loss = str(estimator.get_all_params()["loss_function"])
    return np.exp if loss.partition(":")[0] in ("Poisson", "Tweedie") else identity


RANKER = Backend(
    partial(fit_catboost, ranks=True), "iterations", ranks=True, takes_metrics=True,
    margins=predicted_scores,
)  # fmt: skip
REGRESSOR = Backend(
    fit_catboost, "iterations", takes_metrics=True, margins=_margins, inverse_link=_inverse_link
)
CLASSIFIER = Backend(fit_catboost, "iterations")
