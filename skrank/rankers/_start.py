"""What boosting starts from: a ranker whose scores the rounds add to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Table
from skrank.rankers._backends import backend_of
from skrank.rankers._dask import cloned
from skrank.rankers._linear import LinearRanker
from skrank.rankers._rows import Part
from skrank.rankers._task import Task, metric_of
from skrank.rankers._training import Backend, Fitted, Fitting, HeldOut

_FLAT = 1e-9  # spread, as a share of the scores, of those that differ by rounding only


def scores_of(init: Estimator, factor: float, X: Table) -> np.ndarray:
    """Scores that boosting starts from."""
    return factor * np.asarray(predicted_scores(init, X), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Boosting:
    """The training of an estimator, from the scores of another one if there is an `init`.

    Attributes
    ----------
    ranker : GroupedRanker
        Whose estimator is cloned, and which has the `init`.
    backend : Backend
        Of the estimator.
    task : Task
    """

    ranker: Estimator
    backend: Backend
    task: Task

    def train(self, train: Part, valid: Part | None, rounds: int | None = None) -> Fitted:
        """Train on rows, for as many rounds as are best on others, or for so many."""
        init, factor = self._fit_init(train)
        if factor:
            train = replace(train, start=scores_of(init, factor, train.X))
            valid = valid and replace(valid, start=scores_of(init, factor, valid.X))
        estimator = cloned(self.ranker.estimator)
        if rounds is not None and self.backend.rounds is not None:
            # the start alone may be best: one round is trained then, and not used
            estimator.set_params(**{self.backend.rounds: max(rounds, 1)})
            if "early_stopping_rounds" in estimator.get_params(deep=False):
                estimator.set_params(early_stopping_rounds=None)
        fitting = Fitting(estimator, train, valid, self.task, dict(train.params))
        fitted = replace(self.backend.fit(fitting), init=init, init_factor=factor)
        if rounds == 0:
            return replace(fitted, best_iteration=0)
        return fitted if valid is None else self._with_round_0(fitted, valid)

    def _fit_init(self, train: Part) -> tuple[Estimator, float]:
        """The fitted start, and what its scores are multiplied by; 0 where they rank nothing."""
        init, scale = self.ranker.init, self.ranker.init_scale
        if init is None:
            return None, 0.0
        if isinstance(init, str):
            objective = self.task.objective and metric_of(self.task.objective)
            init = LinearRanker(objective or "gap")
        fitting = Fitting(clone(init), train, None, Task(None, {}, None), {})
        fitted = backend_of(init).fit(fitting).estimator
        if scale is None:
            return fitted, 1.0
        spread = _spread(scores_of(fitted, 1.0, train.X), train)
        return fitted, scale / spread if spread > 0 else 0.0

    def _with_round_0(self, fitted: Fitted, valid: Part) -> Fitted:
        """The log with the start before the first round, which may turn out the best one."""
        if not self.task.metrics or valid.start is None:
            return fitted
        means = HeldOut(valid, self.task.metrics).means(valid.start)
        evals = {name: [means[name], *values] for name, values in fitted.evals.items()}
        name, one = next(iter(self.task.metrics.items()))
        best = max(evals[name]) if one.greater_is_better else min(evals[name])
        rounds = 0 if evals[name][0] == best else fitted.best_iteration
        return replace(fitted, evals=evals, best_iteration=rounds)


def _spread(scores: np.ndarray, train: Part) -> float:
    """Standard deviation inside queries, or of all rows where queries do not matter."""
    rest = scores - scores.mean() if train.known is None else train.known.centered(scores)
    spread = float(np.sqrt(np.mean(rest**2)))
    return spread if spread > _FLAT * np.abs(scores).max() else 0.0
