"""The label model: the probability of each grade of each document."""

from __future__ import annotations

import warnings
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._typing import Estimator
from skrank.active._pool import Pool

_CONTESTANT = 0.9  # share of adjacent documents of a ranker that the label model orders alike


LabelModel: TypeAlias = "str | ArrayLike | Estimator"


class ContestantWarning(UserWarning):
    """The label model seems to be one of the rankers that are compared."""


def label_probabilities(
    label_model: LabelModel, X: ArrayLike | None, grades: ArrayLike | None, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ascending grades, and the probability of each grade per row.

    `grades` may contain labels that the model does not know; their probability is 0.
    """
    known = None if grades is None else ascending_grades(grades)
    if isinstance(label_model, str):
        if label_model != "uniform":
            raise ValueError(
                f"label_model={label_model!r}: pass 'uniform', an array of probabilities of shape "
                "(n_rows, n_grades), or a fitted classifier together with X."
            )
        if known is None:
            raise ValueError("uniform labels need the grades that occur, such as grades=range(5).")
        return known, np.full((n_rows, len(known)), 1 / len(known))
    if hasattr(label_model, "predict_proba"):
        if X is None:
            raise ValueError("a classifier as label model needs X, the features of each row.")
        model = cast("Estimator", label_model)
        columns = ascending_grades(model.classes_)
        probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    else:
        table = cast("ArrayLike", label_model)
        probabilities = check.as_numbers("label_model", table, "of rows x grades")
        if probabilities.ndim != 2:
            raise ValueError(
                f"label_model has shape {probabilities.shape}: give one column per grade."
            )
        columns = np.arange(float(probabilities.shape[1]))
        if known is not None and len(known) == len(columns):
            columns = known
    if probabilities.shape != (n_rows, len(columns)):
        raise ValueError(
            f"the label model gives probabilities of shape {probabilities.shape}: "
            f"({n_rows}, {len(columns)}) is expected, one row per document and one column per "
            "grade."
        )
    probabilities = _normalised(probabilities)
    if known is None:
        return columns, probabilities
    missing = np.setdiff1d(columns, known)
    if len(missing):
        raise ValueError(
            f"the label model gives a probability to grade {missing[0]:g}, which is not in "
            f"grades={known.tolist()}: add this grade."
        )
    spread = np.zeros((n_rows, len(known)))
    spread[:, np.searchsorted(known, columns)] = probabilities
    return known, spread


def ascending_grades(grades: ArrayLike) -> np.ndarray:
    """Grades as ascending distinct labels of at least 0."""
    values = check.as_numbers("grades", grades, "such as range(5)").reshape(-1)
    if len(values) == 0 or not np.isfinite(values).all() or values.min() < 0:
        raise ValueError(f"grades={values.tolist()} must be finite labels of at least 0.")
    if (np.diff(values) <= 0).any():
        raise ValueError(f"grades={values.tolist()} must be ascending and distinct.")
    return values


def _normalised(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities whose rows sum to 1 in float64, also for models that compute in float32."""
    total = probabilities @ np.ones(probabilities.shape[1])
    usable = (np.abs(total - 1) < 1e-3) & (probabilities >= 0).all(axis=1)
    if not usable.all():
        row = int(np.argmin(usable))
        raise ValueError(
            f"probabilities of row {row} are {probabilities[row].tolist()}: they must be at least "
            "0 and sum to 1."
        )
    return np.ascontiguousarray(probabilities / total[:, None])


def warn_of_contestant(
    pool: Pool, probabilities: np.ndarray, grades: np.ndarray, names: tuple[str, ...]
) -> None:
    """Warn if the label model orders documents like exactly one of the rankers.

    A ranker may sort by the mean grade or by the mean gain of its label model.
    """
    gains = (grades, np.exp2(grades - grades.max()))
    shares = np.max([_agreement(pool, probabilities @ gain) for gain in gains], axis=0)
    if np.isnan(shares).any():
        return
    first, second = np.argsort(-shares)[:2]
    if shares[first] >= _CONTESTANT and shares[second] < _CONTESTANT:
        warnings.warn(
            f"the label model orders documents as ranker {names[first]!r} does "
            f"({shares[first]:.0%} of adjacent documents). The model of a compared ranker expects "
            "this ranker to win: the estimate stays consistent, but needs more labels. Use the "
            "mean of the probabilities of both rankers, another model, or center=0.",
            ContestantWarning,
            stacklevel=3,
        )


def _agreement(pool: Pool, expected: np.ndarray) -> np.ndarray:
    """For each ranker, the share of adjacent documents in its lists that `expected` orders alike.

    Documents tied by `expected` or by the ranker are left out.
    """
    shares = np.empty(len(pool.scores))
    for r in range(len(shares)):
        step = -np.diff(expected[pool.by_rank(r)], prepend=0.0)
        counted = (pool.rank > 0) & pool.is_retrieved(r) & (pool.tied[r] == 0) & (step != 0)
        shares[r] = np.mean(step[counted] > 0) if counted.any() else np.nan
    return shares
