"""What boosting starts from: a ranker whose scores the rounds add to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

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


def is_trained_on_queries(init: str | Estimator | None) -> bool:
    """Whether the start of a GroupedRanker, its `init`, is a ranker itself."""
    return isinstance(init, str) or (init is not None and backend_of(init).ranks)


def predictions(fitted: Fitted, X: Table) -> np.ndarray:
    """What a fitted estimator predicts when its rounds add to the start, if there is one.

    The start is part of the margin, as `base_margin` of XGBoost is, `init_score` of LightGBM and
    `baseline` of CatBoost: the inverse link of the objective is applied to the sum.
    """
    if not fitted.init_factor:
        return predicted_scores(fitted.estimator, X)
    backend = backend_of(fitted.estimator)
    assert backend.margins is not None
    margins = scores_of(fitted.init, fitted.init_factor, X)
    if fitted.best_iteration != 0:
        margins = margins + backend.margins(fitted.estimator, X)
    with np.errstate(over="ignore"):  # inf, as of the estimator
        return backend.inverse_link(fitted.estimator)(margins)


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
            train = replace(train, start=_finite_scores(init, factor, train.X))
            valid = valid and replace(valid, start=_finite_scores(init, factor, valid.X))
        estimator = cloned(self.ranker.estimator)
        if rounds is not None and self.backend.rounds is not None:
            # the start alone may be best: one round is trained then, and not used
            estimator.set_params(**{self.backend.rounds: max(rounds, 1)})
            if "early_stopping_rounds" in estimator.get_params(deep=False):
                estimator.set_params(early_stopping_rounds=None)
        fitting = Fitting(estimator, train, valid, self.task, dict(train.params))
        fitted = replace(self.backend.fit(fitting), init=init, init_factor=factor)
        if factor:
            self._check_link(fitted.estimator, train.X)
        if rounds == 0 and factor:
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
        spread = _spread(_finite_scores(fitted, 1.0, train.X), train)
        return fitted, scale / spread if spread > 0 else 0.0

    def _check_link(self, estimator: Estimator, X: Table) -> None:
        """An estimator that predicts the inverse link of its margin, as far as some rows show."""
        assert self.backend.margins is not None
        some = _safe_indexing(X, np.arange(min(8, X.shape[0])))
        expected = self.backend.inverse_link(estimator)(self.backend.margins(estimator, some))
        if not np.allclose(predicted_scores(estimator, some), expected, 1e-3, equal_nan=True):
            raise ValueError(
                f"init cannot start {type(estimator).__name__}, for skrank does not know how it "
                "predicts from the margin to which its rounds add. Leave init unset, or choose "
                "another objective."
            )

    def _with_round_0(self, fitted: Fitted, valid: Part) -> Fitted:
        """The log with the start before the first round, which may turn out the best one."""
        if not self.task.metrics or valid.start is None:
            return fitted
        start = predictions(replace(fitted, best_iteration=0), valid.X)
        means = HeldOut(valid, self.task.metrics).means(start)
        evals = {name: [means[name], *values] for name, values in fitted.evals.items()}
        name, one = next(iter(self.task.metrics.items()))
        best = max(evals[name]) if one.greater_is_better else min(evals[name])
        rounds = 0 if evals[name][0] == best else fitted.best_iteration
        return replace(fitted, evals=evals, best_iteration=rounds)


def _finite_scores(init: Estimator, factor: float, X: Table) -> np.ndarray:
    """Scores that boosting starts from, which boosters would take as they are."""
    scores = scores_of(init, factor, X)
    bad = scores[~np.isfinite(scores)]
    if len(bad):
        raise ValueError(
            f"init={type(init).__name__} scores {len(bad)} rows as {bad[0]}, and boosting starts "
            "from finite scores: give another init, or fill in what is missing in X."
        )
    return scores


def _spread(scores: np.ndarray, train: Part) -> float:
    """Standard deviation inside queries, or of all rows where queries do not matter."""
    largest = float(np.abs(scores).max()) or 1.0
    scores = scores / largest  # squares of scores as they are may be no doubles
    rest = scores - scores.mean() if train.known is None else train.known.centered(scores)
    spread = float(np.sqrt(np.mean(rest**2)))
    return spread * largest if spread > _FLAT else 0.0
