"""What is read of fitted models: the scores that they give, and what they were trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

RESPONSES = ("predict_proba", "decision_function", "predict")
_INNER = ("best_estimator_", "regressor_", "estimator_")  # fitted models inside fitted models


def predicted_scores(estimator: Any, X: Any, response_method: str = "auto") -> np.ndarray:
    """Scores to rank by: the expected grade of a classifier, or what a model predicts.

    Parameters
    ----------
    estimator : fitted model
    X : array-like of shape (n_rows, n_features)
    response_method : {"auto", "predict", "predict_proba", "decision_function"}

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if response_method == "auto":
        response_method = next(
            (method for method in RESPONSES if hasattr(estimator, method)), "predict"
        )
    values = np.asarray(getattr(estimator, response_method)(X))
    if response_method == "predict_proba":
        return values @ _grades_of_classes(estimator)
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"{response_method} of {type(estimator).__name__} gives {values.shape[1]} values per "
            "row, which do not rank them: use a regressor, or a classifier with predict_proba."
        )
    return values.reshape(len(values))


def _grades_of_classes(estimator: Any) -> np.ndarray:
    try:
        return np.asarray(estimator.classes_, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the classes of {type(estimator).__name__} are no numbers, so they have no expected "
            "grade: train it on grades 0, 1, 2, ..."
        ) from None


def chain_of(estimator: Any) -> list[Any]:
    """A model and the models inside it that do its work: last step, best candidate, inner one."""
    chain = []
    while estimator is not None:
        chain.append(estimator)
        steps = getattr(estimator, "steps", None)
        inner = (getattr(estimator, name, None) for name in _INNER)
        estimator = steps[-1][1] if steps else next((one for one in inner if one is not None), None)
    return chain


def trained_grade(estimator: Any) -> int:
    """Highest grade that a model was trained on; 1, the least, if it does not say."""
    grades = (getattr(one, "max_grade_", None) for one in chain_of(estimator))
    return next((int(grade) for grade in grades if grade is not None), 1)
