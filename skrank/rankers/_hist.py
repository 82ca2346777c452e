"""HistGradientBoosting under a GroupedRanker: by itself it holds out rows and keeps all rounds."""

from __future__ import annotations

from inspect import signature

import numpy as np
from sklearn.base import clone

from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Table
from skrank.rankers._rows import Part
from skrank.rankers._training import Backend, Fitted, Fitting, HeldOut, Log


class _HeldOutScorer:
    """The first metric as `scoring` of HistGradientBoosting.

    It is called for the training rows and then for the validation rows: before the first round and
    after each. Only the latter decide.
    """

    def __init__(self, held_out: HeldOut, y: np.ndarray) -> None:
        self.held_out = held_out
        self.y = y
        self.log: Log = {name: [] for name in held_out.plans}

    def __call__(
        self, estimator: Estimator, X: Table, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            return 0.0  # training rows
        for name, value, _ in self.held_out(y, predicted_scores(estimator, X)):
            self.log[name].append(value)
        name, plan = next(iter(self.held_out.plans.items()))
        return self.log[name][-1] * (1 if plan.metric.greater_is_better else -1)

    def rounds(self, count: int) -> Log:
        """Values on the validation rows after each of `count` rounds.

        There are more values than rounds where the training rows have the same labels and so were
        measured, too: the last value of each round is that of the validation rows.
        """
        after = {}
        for name, values in self.log.items():
            each = len(values) // (1 + count)  # the first is from before the first round
            after[name] = values[each - 1 :: each][1:]
        return after


def fit_hist(fitting: Fitting[Part]) -> Fitted:
    """Train HistGradientBoosting, a second time for as many rounds as were best."""
    estimator, train, valid, _, params = fitting
    evals: Log = {}
    if valid is not None:
        best, evals = _best_rounds(fitting, valid)
        estimator.set_params(max_iter=best)
    elif estimator.early_stopping is True:
        raise ValueError(
            "early_stopping=True of HistGradientBoosting holds out rows, which tears queries "
            "apart: give validation_fraction to GroupedRanker instead."
        )
    estimator.set_params(early_stopping=False)
    estimator.fit(train.X, train.y, sample_weight=train.weights, **params)
    return Fitted(estimator, estimator.n_iter_, evals)


def _best_rounds(fitting: Fitting[Part], valid: Part) -> tuple[int, Log]:
    """The number of rounds that is best on a validation part, and the values of all rounds."""
    estimator, train, _, task, params = fitting
    if "X_val" not in signature(estimator.fit).parameters:
        raise ValueError(
            "HistGradientBoosting takes validation rows since scikit-learn 1.7: update it, or "
            "leave validation_fraction and X_val unset."
        )
    whole = clone(estimator)
    scorer = _HeldOutScorer(HeldOut(valid, task.metrics), valid.y) if task.metrics else None
    whole.set_params(early_stopping=True, n_iter_no_change=task.rounds or estimator.max_iter)
    if scorer is not None:
        whole.set_params(scoring=scorer)
    whole.fit(
        train.X, train.y, sample_weight=train.weights, **params,
        X_val=valid.X, y_val=valid.y, sample_weight_val=valid.weights,
    )  # fmt: skip
    scores = whole.validation_score_[1:]  # the first is from before the first round
    evals = {"loss": (-scores).tolist()} if scorer is None else scorer.rounds(len(scores))
    return int(np.argmax(scores)) + 1, evals


BACKEND = Backend(fit_hist, "max_iter", takes_metrics=True)
