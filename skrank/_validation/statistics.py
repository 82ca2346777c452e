"""Checks of what a caller passes to the statistics: messages name the place and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.data import check_same_index
from skrank._validation.parameters import check_choice, check_count

NAN_CHOICES = ("drop", "raise")


def check_score_matrix(scores: ArrayLike, nan: str) -> np.ndarray:
    """Scores of queries x systems as a float64 matrix, at least two of each, none infinite."""
    check_choice("nan", nan, NAN_CHOICES)
    try:
        matrix = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("scores must be numbers, of queries (rows) x systems (columns).") from None
    if matrix.ndim != 2:
        raise ValueError(
            f"scores has shape {matrix.shape}: pass queries x systems, one row per query and one "
            "column per system (numpy.column_stack([a, b]) for two systems)."
        )
    for size, what in zip(matrix.shape, ("query (row)", "system (column)"), strict=True):
        if size < 2:
            raise ValueError(f"scores has {size} {what}: a comparison needs at least 2.")
    _refuse(np.isinf(matrix), matrix, "Repair it, or set it to NaN to leave the query out.")
    if nan == "raise":
        _refuse(np.isnan(matrix), matrix, 'Drop the query, or choose nan="drop".')
    return matrix


def _refuse(bad: np.ndarray, matrix: np.ndarray, remedy: str) -> None:
    """Raise for the first bad cell of a matrix of queries x systems."""
    if bad.any():
        query, system = np.argwhere(bad)[0]
        value = matrix[query, system]
        raise ValueError(f"the score of system {system} on query {query} is {value}. {remedy}")


def check_system_pairs(pairs: int | ArrayLike | None, n_systems: int) -> np.ndarray:
    """Columns of each pair, of shape (n_pairs, 2): all pairs for None, a baseline for an int."""
    if pairs is None:
        return np.stack(np.triu_indices(n_systems, 1), axis=1)
    index = np.asarray(pairs)
    if index.dtype.kind not in "iu" or index.shape[1:] != (2,) * bool(index.ndim):
        raise ValueError(
            f"pairs={pairs!r} must be the number of one column, the baseline, or an array of "
            "shape (n_pairs, 2) with two numbers of columns per pair."
        )
    if index.size == 0:
        raise ValueError("pairs is empty: name at least one pair of columns.")
    if index.min() < 0 or index.max() >= n_systems:
        raise ValueError(f"pairs names a column beyond 0..{n_systems - 1}: those of scores.")
    if index.ndim == 0:
        others = np.delete(np.arange(n_systems), index)
        return np.stack([others, np.full_like(others, index)], axis=1)
    return index.astype(np.int64)


def check_rankings(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Two finite vectors of one length, at least 2: the scores of the same systems."""
    check_same_index({"x": x, "y": y})
    first, second = (_ranking(name, values) for name, values in (("x", x), ("y", y)))
    if len(first) != len(second):
        raise ValueError(
            f"x scores {len(first)} systems and y {len(second)}: both must score the same systems."
        )
    return first, second


def _ranking(name: str, values: ArrayLike) -> np.ndarray:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one per system.") from None
    if vector.ndim != 1 or len(vector) < 2:
        raise ValueError(
            f"{name} has shape {vector.shape}: pass one score per system, for at least 2 systems."
        )
    bad = np.flatnonzero(~np.isfinite(vector))
    if len(bad):
        raise ValueError(
            f"{name} scores system {bad[0]} as {vector[bad[0]]}: leave the system out of both."
        )
    return vector


def check_p_values(p_values: ArrayLike) -> np.ndarray:
    """Probabilities as a float64 array."""
    try:
        p = np.asarray(p_values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("p_values must be numbers in [0, 1].") from None
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ValueError(
            f"p_values[{place}] is {p[tuple(bad[0])]}: a p-value lies in [0, 1]. "
            "Leave out tests that gave none."
        )
    return p


def check_resamples(n_resamples: Any) -> int:
    """The number of resamples, at least 1."""
    return check_count("n_resamples", n_resamples, "the number of random resamples")
