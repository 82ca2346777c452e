"""What the training of every kind of estimator shares: its form, its result, its validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.judgments import Judgments
from skrank._engine.ranking import Ranking
from skrank._typing import Estimator, Options, Table
from skrank.metrics import Metric
from skrank.rankers._rows import Part
from skrank.rankers._task import Task

VALIDATION = "validation"  # the name of the validation part in logs

Log = dict[str, list[float]]  # values per round, by the name of the metric
InverseLink = Callable[[np.ndarray], np.ndarray]  # from margins to predictions
P = TypeVar("P")


def identity(margins: np.ndarray) -> np.ndarray:
    """The inverse link of objectives whose predictions are their margins."""
    return margins


class Fitting(NamedTuple, Generic[P]):
    """What is asked of a kind of estimator.

    Attributes
    ----------
    estimator : estimator
        To be trained, and changed at will.
    train, valid
        Rows to train on, and rows to validate on or None.
    task : Task
    params : dict
        Further parameters for the estimator's own `fit`.
    """

    estimator: Estimator
    train: P
    valid: P | None
    task: Task
    params: Options


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator, the rounds that its predictions use, and its values per round.

    Its scores come on top of those of `init`, if there is one, times `init_factor`.
    """

    estimator: Estimator
    best_iteration: int | None = None
    evals: Mapping[str, list[float]] = field(default_factory=dict)
    init: Estimator | None = None
    init_factor: float = 0.0


@dataclass(frozen=True)
class Backend:
    """How a kind of estimator is trained, and what it can do.

    Attributes
    ----------
    fit : function of a Fitting
    rounds : str or None
        Parameter of the estimator that says how many rounds to train, if there are rounds.
    ranks : bool
        It trains on queries.
    trains_objective : bool
        It can train on an Objective.
    takes_metrics : bool
        Its early stopping can follow a Metric.
    margins : function of a fitted estimator and features, or None
        What its rounds add to scores that they started from; None if it cannot start from scores.
    inverse_link : function of an estimator
        The function by which it makes predictions of margins, such as exp for counts.
    validates : bool
        It can be validated on held-out queries while it trains.
    """

    fit: Callable[[Fitting[Part]], Fitted]
    rounds: str | None = None
    ranks: bool = False
    trains_objective: bool = False
    takes_metrics: bool = False
    margins: Callable[[Estimator, Table], np.ndarray] | None = None
    inverse_link: Callable[[Estimator], InverseLink] = lambda _: identity
    validates: bool = True


class HeldOut:
    """Metrics on the validation part, one sort per round; LightGBM calls it as it is."""

    def __init__(self, part: Part, metrics: Mapping[str, Metric]) -> None:
        judgments = Judgments(part.y, part.queries)
        self.weights = part.query_weights
        if self.weights is not None and not 1e-100 < self.weights.max() < 1e100:
            # ratios count: the largest doubles have no sum, the smallest no products
            self.weights = self.weights / (self.weights.max() or 1.0)
        self.plans = {name: one.bind(judgments) for name, one in metrics.items()}
        for name, plan in self.plans.items():
            if plan.empty.all():
                raise ValueError(
                    f"no validation query has a relevant document, so {name} cannot decide when to "
                    "stop: hold out more queries, or give others as X_val."
                )
        self.judgments = judgments

    def __deepcopy__(self, _: object) -> HeldOut:
        return self  # LightGBM copies metrics; nothing in here changes

    def means(self, scores: ArrayLike) -> dict[str, float]:
        """Mean over queries of each metric, by name."""
        ranking = Ranking(self.judgments, scores)
        return {
            name: plan.mean(ranking, plan.values(ranking), self.weights)
            for name, plan in self.plans.items()
        }

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> list[tuple[str, float, bool]]:
        """Name, value and direction of each metric."""
        means = self.means(y_pred)
        return [(name, means[name], self.plans[name].metric.greater_is_better) for name in means]


def started(fitting: Fitting[Part], name: str) -> Fitting[Part]:
    """Rows with the scores that `fit` was given to start from under the estimator's own name.

    Taken out of the parameters; both parts start where one does.
    """
    train, valid = fitting.train, fitting.valid
    start = fitting.params.pop(name, None)
    if start is None:
        return fitting
    if train.start is not None:
        raise ValueError(
            f"there are {name}= of fit and init of GroupedRanker: give one of the two."
        )
    if valid is not None:
        if name not in valid.params:
            raise ValueError(
                f"{name}= is for the training rows, and those of X_val have none: hold out a "
                "validation_fraction of the training rows instead."
            )
        valid = replace(valid, start=np.asarray(valid.params[name]))
    return fitting._replace(train=replace(train, start=np.asarray(start)), valid=valid)
