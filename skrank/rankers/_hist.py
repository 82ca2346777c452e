"""GroupedRanker with HistGradientBoosting: validation on whole queries instead of single rows."""

from __future__ import annotations

from inspect import signature

import numpy as np
from sklearn.base import clone

from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Table
from skrank.rankers._fit import EstimatorKind, Fit, Log, Validator, validation_log
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
    scorer = _Scorer(Validator(valid, fit.metrics), valid.y) if fit.metrics else None
    estimator.set_params(early_stopping=True, n_iter_no_change=fit.patience or estimator.max_iter)
    if scorer is not None:
        estimator.set_params(scoring=scorer)
    estimator.fit(
        train.X, train.y, sample_weight=train.weights, **fit.arguments,
        X_val=valid.X, y_val=valid.y, sample_weight_val=valid.weights,
    )  # fmt: skip
    record = estimator.validation_score_  # the first entry is from before the first round
    if scorer is None:
        return record[1:], {"loss": (-record[1:]).tolist()}
    log = validation_log(scorer.calls, scorer.sign * record)
    return record[1:], {name: values[1:] for name, values in log.items()}


class _Scorer:
    """`scoring` of HistGradientBoosting by the first metric on the validation rows.

    HistGradientBoosting calls it for training rows, too, whose values do not decide when to stop.
    """

    def __init__(self, metrics: Validator, y: np.ndarray) -> None:
        self.metrics = metrics
        self.y = y
        plan = next(iter(metrics.plans.values()))
        self.sign = 1 if plan.metric.greater_is_better else -1
        self.calls: list[dict[str, float]] = []

    def __call__(
        self, estimator: Estimator, X: Table, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        if not np.array_equal(y, self.y):
            return 0.0  # training rows
        self.calls.append(self.metrics.means(predicted_scores(estimator, X)))
        return self.sign * next(iter(self.calls[-1].values()))
