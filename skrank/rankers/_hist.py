"""GroupedRanker with HistGradientBoosting: validation on whole queries instead of single rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skrank._fitted import cloned
from skrank._typing import Estimator, Table
from skrank.rankers._fit import EstimatorKind, Fit


class HistGradientBoosting(EstimatorKind):
    """Regressors and classifiers of scikit-learn that boost on histograms.

    All rounds are trained and measured. The estimator predicts with all its rounds: for fewer, it
    is trained again.
    """

    classes = (
        "sklearn.ensemble", "HistGradientBoostingRegressor", "HistGradientBoostingClassifier",
    )  # fmt: skip
    rounds_parameters = ("max_iter",)
    follows_metrics = True
    column_parameters = ("categorical_features",)

    def repeat(self, fit: Fit, stopped: Fit) -> None:
        super().repeat(fit, stopped)
        fit.estimator.set_params(early_stopping=False)

    def train(self, fit: Fit) -> None:
        estimator, train, valid = fit.estimator, fit.train, fit.valid
        if valid is None and estimator.early_stopping is True:
            raise ValueError(
                "early_stopping=True of HistGradientBoosting holds out single rows, which splits "
                "queries: give validation_fraction to GroupedRanker instead."
            )
        if valid is not None and not fit.metrics:
            raise ValueError("HistGradientBoosting stops early by a metric: set eval_metric.")
        estimator.set_params(early_stopping=False)
        unfitted = cloned(estimator)  # without rounds to go on with, and with its random state
        estimator.fit(train.X, train.y, sample_weight=train.weights, **fit.arguments)
        if valid is not None:
            best = fit.stop_early(_scores_of_rounds(estimator, valid.X))
            if best < estimator.n_iter_:
                fit.estimator = estimator = unfitted.set_params(max_iter=best)
                estimator.fit(train.X, train.y, sample_weight=train.weights, **fit.arguments)
        fit.best_iteration = estimator.n_iter_


def _scores_of_rounds(estimator: Estimator, X: Table) -> Iterator[np.ndarray]:
    """Scores after each round: predictions, or the expected grade of a classifier."""
    if not hasattr(estimator, "staged_predict_proba"):
        return estimator.staged_predict(X)
    return (shares @ estimator.classes_ for shares in estimator.staged_predict_proba(X))
