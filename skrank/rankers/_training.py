"""What the training of every kind of estimator shares: the task, its result, its validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._engine.judgments import Judgments
from skrank._engine.ranking import Ranking
from skrank.metrics import Metric
from skrank.objectives import Objective
from skrank.rankers._rows import Part

VALIDATION = "validation"  # the name of the validation part in logs

Log = dict[str, list[float]]  # values per round, by the name of the metric


@dataclass(frozen=True)
class Task:
    """What to train and to validate on.

    Attributes
    ----------
    objective : Objective or None
        None: the estimator's own.
    metrics : dict of str to Metric
        By the name that the user gave; the first decides when to stop. Empty: the estimator's own.
    rounds : int or None
        Rounds without improvement before the stop; None: train to the end.
    """

    objective: Objective | None
    metrics: dict[str, Metric]
    rounds: int | None


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator, the rounds that its predictions use, and its values per round.

    Its scores come on top of those of `init`, if there is one, times `init_factor`.
    """

    estimator: Any
    best_iteration: int | None = None
    evals: Mapping[str, list[float]] = field(default_factory=dict)
    init: Any = None
    init_factor: float = 0.0


# An estimator, the rows to train on, those to validate on, the task, and further parameters for the
# estimator's own `fit`.
Fit = Callable[[Any, Part, Part | None, Task, dict[str, Any]], Fitted]


@dataclass(frozen=True)
class Backend:
    """How a kind of estimator is trained, and what it can do.

    Attributes
    ----------
    fit : Fit
    rounds : str or None
        Parameter of the estimator that says how many rounds to train, if there are rounds.
    ranks : bool
        It trains on queries.
    trains_objective : bool
        It can train on an Objective.
    takes_metrics : bool
        Its early stopping can follow a Metric.
    takes_start : bool
        It can start from given scores.
    """

    fit: Fit
    rounds: str | None = None
    ranks: bool = False
    trains_objective: bool = False
    takes_metrics: bool = False
    takes_start: bool = False


class HeldOut:
    """Metrics on the validation part, one sort per round; LightGBM calls it as it is."""

    def __init__(self, part: Part, metrics: Mapping[str, Metric]) -> None:
        judgments = Judgments(part.y, part.queries)
        self.weights = part.query_weights
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
