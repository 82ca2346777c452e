"""GroupedRanker with HistGradientBoosting: validation on whole queries instead of single rows."""

from __future__ import annotations

from inspect import signature

import numpy as np
from sklearn.base import clone

from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Table
from skrank.rankers._fit import EstimatorKind, Fit, Log, Validator
from skrank.rankers._rows import Part


class HistGradientBoosting(EstimatorKind):
    """Regressors and classifiers of scikit-learn that boost on histograms.

    Their predictions use all trained rounds. After early stopping, the estimator is trained again
    with the best number of rounds.
    """

    rounds_parameter = "max_iter"
    follows_metrics = True

    def train(self, fit: Fit) -> None:
        estimator, train = fit.estimator, fit.train
        if fit.valid is not None:
            scores, fit.log = _values_of_rounds(fit, fit.valid)
            estimator.set_params(max_iter=int(np.argmax(scores)) + 1)
        elif estimator.early_stopping is True:
            raise ValueError(
                "early_stopping=True of HistGradientBoosting holds out single rows, which splits "
                "queries: give validation_fraction to GroupedRanker instead."
            )
        estimator.set_params(early_stopping=False)
        estimator.fit(train.X, train.y, sample_weight=train.weights, **fit.arguments)
        fit.best_iteration = estimator.n_iter_


def _values_of_rounds(fit: Fit, valid: Part) -> tuple[np.ndarray, Log]:
    """Validation score after each round (higher is better), and the log of all metrics."""
    train, estimator = fit.train, clone(fit.estimator)
    if "X_val" not in signature(estimator.fit).parameters:
        raise ValueError(
            "HistGradientBoosting takes validation rows since scikit-learn 1.7: update it, or "
            "leave validation_fraction and X_val unset."
        )
    scorer = _ValidationScorer(Validator(valid, fit.metrics), valid.y) if fit.metrics else None
    estimator.set_params(early_stopping=True, n_iter_no_change=fit.patience or estimator.max_iter)
    if scorer is not None:
        estimator.set_params(scoring=scorer)
    estimator.fit(
        train.X, train.y, sample_weight=train.weights, **fit.arguments,
        X_val=valid.X, y_val=valid.y, sample_weight_val=valid.weights,
    )  # fmt: skip
    scores = estimator.validation_score_[1:]  # [0] is from before the first round
    return scores, {"loss": (-scores).tolist()} if scorer is None else scorer.log_of(len(scores))


class _ValidationScorer:
    """`scoring` of HistGradientBoosting by the first metric on the validation rows.

    HistGradientBoosting calls it before the first round and after each round, first with training
    rows and then with the validation rows. Only values of validation rows decide when to stop.
    """

    def __init__(self, metrics: Validator, y: np.ndarray) -> None:
        self.metrics = metrics
        self.y = y
        self.values: Log = {name: [] for name in metrics.plans}

    def __call__(
        self, estimator: Estimator, X: Table, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            return 0.0  # training rows
        for name, value in self.metrics.means(predicted_scores(estimator, X)).items():
            self.values[name].append(value)
        name, plan = next(iter(self.metrics.plans.items()))
        return self.values[name][-1] * (1 if plan.metric.greater_is_better else -1)

    def log_of(self, n_rounds: int) -> Log:
        """Values on the validation rows after each round.

        If training rows have the same labels, they were measured too, first in each round.
        """
        log = {}
        for name, values in self.values.items():
            per_round = len(values) // (1 + n_rounds)  # 1 or 2; the first is before round 1
            log[name] = values[per_round - 1 :: per_round][1:]
        return log
