"""What a GroupedRanker trains and stops on, from its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from skrank import _validation as check
from skrank._typing import Estimator
from skrank.evaluation._evaluate import unique_metrics
from skrank.metrics import Metric
from skrank.objectives import Objective, as_objective

_OWN_METRIC = "ndcg@10"  # early stopping of rankers whose objective is their own
_USUAL_ROUNDS = 50  # without improvement, unless another number is given


@dataclass(frozen=True)
class Task:
    """What to train and to stop on.

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

    def on_scale(self, max_grade: int) -> Task:
        """The same on the scale of all labels, whichever part has the highest."""
        objective = None if self.objective is None else self.objective.on_scale(max_grade)
        metrics = {name: one.on_scale(max_grade) for name, one in self.metrics.items()}
        return Task(objective, metrics, self.rounds)


def task_of(ranker: Estimator, *, trains_objective: bool) -> Task:
    """The task of a GroupedRanker; `trains_objective` says if its estimator can."""
    check.check_objective_name(ranker.objective)
    trained_on = None if ranker.objective is None else as_objective(ranker.objective)
    chosen, rounds = ranker.eval_metric, ranker.early_stopping_rounds
    if chosen is None and trained_on is not None:
        chosen = metric_of(trained_on)
    if chosen is None and trains_objective and not _has_own_metric(ranker.estimator):
        chosen = _OWN_METRIC
    metrics = {} if chosen is None else unique_metrics(chosen)
    return Task(trained_on, metrics, _USUAL_ROUNDS if isinstance(rounds, str) else rounds)


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; of a mixture that of the first part which has one."""
    return next((one.metric for _, one in objective.terms if hasattr(one, "metric")), None)


def _has_own_metric(estimator: Estimator) -> bool:
    params = estimator.get_params(deep=False)
    return any(params.get(name) for name in ("metric", "metrics", "eval_metric"))
