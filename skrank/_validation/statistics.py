"""Checks of the arguments of skrank.stats."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from skrank._typing import RandomState
from skrank._validation.arrays import as_numbers, check_same_index, first, unmasked
from skrank._validation.data import as_many, check_weights
from skrank._validation.parameters import brief, check_choice, check_random_state, check_repeats
from skrank._warnings import warn

F = TypeVar("F", bound=Callable[..., Any])

NAN_CHOICES = ("drop", "raise")
LARGEST = 1e50  # largest absolute value of a score: sums of fourth powers do not overflow
_MOST_SYSTEMS = 10  # per query; with more, the rows are probably systems
# As a share of the largest weight, chosen freely. Smaller weights count as 0: their queries would
# add nothing to means, but would add degrees of freedom.
LEAST_WEIGHT = 1e-12


def _refuse_systems(name: str, values: ArrayLike, most: int) -> None:
    """Refuse values of more than `most` systems if they have the index of a report.

    A matrix has systems as columns, so no system may be on its index; values may be those of one.
    """
    index: Any = getattr(values, "index", None)
    if "system" in getattr(index, "names", ()) and len(index.unique("system")) > most:
        raise ValueError(
            f"{name} has systems on its index, whose rows must be queries: pass one metric of a "
            'report, such as report.per_query["ap"].unstack("system").'
        )


def of_one_matrix(test: F) -> F:
    """Decorator of tests of a matrix queries x systems, which detects scores in another form.

    Two arrays, as SciPy takes them, raise a TypeError with the remedy. If all pairs are tested, far
    more systems than queries cause a warning, since rows are then probably systems.
    """

    @wraps(test)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1:
            raise TypeError(
                f"{test.__name__} takes the scores of all systems in one array: write "
                f"{test.__name__}(numpy.column_stack([a, b])) for two systems a and b."
            )
        result = test(*args, **kwargs)
        # for each pair, the sum is the number of rows
        n_queries, n_systems = result.n_queries[0] + result.n_dropped[0], len(result.systems)
        if kwargs.get("pairs") is None and n_systems > _MOST_SYSTEMS * n_queries:
            warn(
                f"scores has {n_queries} queries (rows) and {n_systems} systems (columns): if rows "
                "are systems, pass numpy.transpose(scores).",
            )
        return result

    return cast(F, call)


def check_score_matrix(scores: ArrayLike, nan: str) -> np.ndarray:
    """Scores of queries x systems as a float64 matrix, at least two of each, none infinite."""
    check_choice("nan", nan, NAN_CHOICES)
    _refuse_systems("scores", scores, most=0)
    if isinstance(scores, (list, tuple)) and any(getattr(row, "ndim", 0) for row in scores):
        raise ValueError(
            f"scores is a list of {len(scores)} arrays: pass numpy.column_stack(scores) if each "
            "has the scores of a system, and numpy.stack(scores) if each has those of a query."
        )
    matrix = as_numbers("scores", scores, "of queries (rows) x systems (columns)")
    if matrix.ndim != 2 or min(matrix.shape) < 2:
        raise ValueError(
            f"scores has shape {matrix.shape}: pass at least 2 queries (rows) x 2 systems "
            "(columns), such as numpy.column_stack([a, b])."
        )
    bad = (np.abs(matrix) > LARGEST) | (np.isnan(matrix) & (nan == "raise"))
    if bad.any():
        query, system = np.argwhere(bad)[0]
        raise ValueError(
            f"the score of system {system} on query {query} is {matrix[query, system]}: give a "
            f"number of an absolute value of at most {LARGEST:g} (divide all scores by a constant "
            'if they are larger), or NaN with nan="drop" to leave the query out.'
        )
    return matrix


def check_system_pairs(pairs: int | ArrayLike | None, n_systems: int) -> np.ndarray:
    """The two columns of each pair, of shape (n_pairs, 2).

    None stands for all pairs; a number, for the pairs of every other column with this baseline.
    """
    if pairs is None:
        return np.stack(np.triu_indices(n_systems, 1), axis=1)
    index = unmasked("pairs", pairs, "a number, or an array of shape (n_pairs, 2)")
    has_integers = index.dtype.kind in "iu" and index.size > 0
    has_pairs = index.ndim == 0 or (index.shape[1:] == (2,) and all(index[:, 0] != index[:, 1]))
    if not (has_integers and has_pairs and 0 <= index.min() <= index.max() < n_systems):
        raise ValueError(
            f"pairs={brief(pairs)} must be a number of a column in 0..{n_systems - 1}, the "
            "baseline, or an array (n_pairs, 2) of such numbers: one or more pairs of two systems."
        )
    if index.ndim == 0:
        others = np.delete(np.arange(n_systems), index)
        return np.stack([others, np.full_like(others, index)], axis=1)
    return index.astype(np.int64)


def check_rankings(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Scores x and y of the same systems, at least two systems, as finite vectors."""
    check_same_index(x=x, y=y)
    vectors = {name: as_numbers(name, v, "one per system") for name, v in {"x": x, "y": y}.items()}
    for name, vector in vectors.items():
        if vector.ndim != 1 or len(vector) < 2 or len(vector) != len(vectors["x"]):
            raise ValueError(
                f"{name} has shape {vector.shape}: x and y are one score per system, for the same "
                "systems, at least 2."
            )
        if (system := first(~np.isfinite(vector))) >= 0:
            raise ValueError(
                f"{name} scores system {system} as {vector[system]}: leave the system out of both."
            )
    return vectors["x"], vectors["y"]


def check_draws(n_resamples: object, random_state: RandomState) -> tuple[int, int]:
    """The number of resamples, at least 1, and the seed of their random draws."""
    number = check_repeats("n_resamples", n_resamples, "the number of random resamples")
    return number, check_random_state(random_state)


def check_test_weights(weights: ArrayLike | None, n_queries: int) -> np.ndarray | None:
    """One weight per query as a share of the largest; None if all weights are equal."""
    if weights is None:
        return None
    vector = check_weights(as_many("weights", weights, n_queries), "weight of query {}".format)
    return None if (vector == vector[0]).all() else _relative(vector)


def check_complete(
    scores: ArrayLike, nan: str, weights: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Scores and weights of the queries on which all systems have a value; number of the others."""
    check_same_index(scores=scores, weights=weights)
    matrix = check_score_matrix(scores, nan)
    weight = check_test_weights(weights, len(matrix))
    used = ~np.isnan(matrix).any(axis=1) & (True if weight is None else weight > 0)
    size = int(used.sum())
    if size < 2:
        raise ValueError(
            f"{size} of the queries have values of all systems (and a weight above 0), and the "
            "test needs 2: leave out systems with many NaNs, or test the pairs one by one."
        )
    return matrix[used], None if weight is None else weight[used], len(matrix) - size


def _relative(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of the largest of each column; shares below LEAST_WEIGHT become 0."""
    largest = weights.max(axis=0, initial=0.0)
    shares = weights / np.where(largest > 0, largest, 1.0)
    return np.where(shares < LEAST_WEIGHT, 0.0, shares)


def check_values(values: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Values (queries x columns; NaN = no value) and weights: at least two above 0 per column.

    Weights become shares of the largest of their column, and 0 where the value is NaN.
    """
    _refuse_systems("values", values, most=1)
    matrix = as_numbers("values", values, "one per query")
    weight = as_numbers("weights", 1.0 if weights is None else weights, "one per query")
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    if matrix.ndim != 2 or weight.shape not in ((), matrix.shape[:1], matrix.shape):
        raise ValueError(
            f"values has shape {matrix.shape} and weights {weight.shape}: pass values of shape "
            "(n_queries,) or (n_queries, n_columns), and one weight per query or per value."
        )
    weight = np.broadcast_to(weight[:, None] if weight.ndim == 1 else weight, matrix.shape)
    bad_weight = ~((weight >= 0) & np.isfinite(weight))
    for name, bad in (("values", np.abs(matrix) > LARGEST), ("weights", bad_weight)):
        if bad.any():
            raise ValueError(
                f"{name} of query {np.argwhere(bad)[0, 0]} are out of range: values must be NaN or "
                f"of an absolute value of at most {LARGEST:g}, weights finite and at least 0."
            )
    weight = _relative(np.where(np.isnan(matrix), 0.0, weight))
    if (column := first((weight > 0).sum(axis=0) < 2)) >= 0:
        raise ValueError(
            f"column {column} of values has fewer than 2 queries with a value of weight above 0, "
            "which an interval needs: leave the column out."
        )
    return matrix, weight
