"""Checks of the arguments of skrank.stats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set

import numpy as np
from numpy.typing import ArrayLike

from skrank._typing import RandomState
from skrank._validation.arrays import as_numbers, check_same_index
from skrank._validation.data import check_weights
from skrank._validation.parameters import check_choice, check_random_state, check_repeats

NAN_CHOICES = ("drop", "raise")
LARGEST = 1e50  # largest size of a score: sums of fourth powers do not overflow
LEAST_WEIGHT = 1e-12  # as a share of the largest weight; smaller weights count as 0


def check_score_matrix(scores: ArrayLike, nan: str) -> np.ndarray:
    """Scores of queries x systems as a float64 matrix, at least two of each, none infinite."""
    check_choice("nan", nan, NAN_CHOICES)
    matrix = as_numbers("scores", scores, "of queries (rows) x systems (columns)")
    if matrix.ndim != 2:
        raise ValueError(
            f"scores has shape {matrix.shape}: pass queries x systems, one row per query and one "
            "column per system (numpy.column_stack([a, b]) for two systems)."
        )
    for size, what in zip(matrix.shape, ("query (row)", "system (column)"), strict=True):
        if size < 2:
            raise ValueError(f"scores has {size} {what}: a comparison needs at least 2.")
    _refuse(np.isinf(matrix), matrix, "Repair it, or set it to NaN to leave the query out.")
    _refuse(np.abs(matrix) > LARGEST, matrix, "It is too large: divide all scores by a constant.")
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
        raise ValueError(f"pairs names a column outside 0..{n_systems - 1}, the columns of scores.")
    if index.ndim == 0:
        others = np.delete(np.arange(n_systems), index)
        return np.stack([others, np.full_like(others, index)], axis=1)
    return index.astype(np.int64)


def check_rankings(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Scores x and y of the same systems, two at least, as finite vectors."""
    check_same_index(x=x, y=y)
    first, second = (_ranking(name, values) for name, values in (("x", x), ("y", y)))
    if len(first) != len(second):
        raise ValueError(
            f"x scores {len(first)} systems and y {len(second)}: both must score the same systems."
        )
    return first, second


def check_ranked_items(name: str, items: Sequence[Hashable]) -> list[Hashable]:
    """The items of a list, after a check that there is at least one, and none twice."""
    ordered = isinstance(items, Iterable) and not isinstance(items, (str, Set, Mapping))
    found = list(items) if ordered else []
    for rank, item in enumerate(found, start=1):
        if isinstance(item, (Set, list)):
            raise ValueError(
                f"{name} has {item!r} at rank {rank}, and lists of items have no ties: pass tied "
                "ids one after the other, or scores of all items to rank_biased_overlap."
            )
    if not found or not all(isinstance(item, Hashable) for item in found):
        raise ValueError(f"{name} must be a list of at least one id, the first rank first.")
    twice = [item for item, times in Counter(found).items() if times > 1]
    if twice:
        raise ValueError(f"{name} holds {twice[0]!r} twice: an item has one rank.")
    return found


def check_rankings_per_query(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Scores x and y (queries x systems), without queries on which a system has no value."""
    check_same_index(x=x, y=y)
    shapes = np.shape(x), np.shape(y)
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"x has shape {shapes[0]} and y {shapes[1]}: both must score the same systems on the "
            "same queries."
        )
    n_systems = shapes[0][1]
    matrix, _, _ = check_complete("the correlation", np.hstack([x, y]), "drop", None)
    return matrix[:, :n_systems], matrix[:, n_systems:]


def _ranking(name: str, values: ArrayLike) -> np.ndarray:
    vector = as_numbers(name, values, "one per system")
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
    p = as_numbers("p_values", p_values, "all of them in [0, 1]")
    bad = np.argwhere(~((p >= 0) & (p <= 1)))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise ValueError(
            f"p_values[{place}] is {p[tuple(bad[0])]}: a p-value lies in [0, 1]. "
            "Leave out tests without a p-value."
        )
    return p


def check_draws(n_resamples: object, random_state: RandomState) -> tuple[int, int]:
    """The number of resamples, at least 1, and the seed of their random draws."""
    number = check_repeats("n_resamples", n_resamples, "the number of random resamples")
    return number, check_random_state(random_state)


def check_importance(weights: ArrayLike | None, n_queries: int) -> np.ndarray | None:
    """One weight per query as a share of the largest; None if all weights are equal."""
    if weights is None:
        return None
    vector = as_numbers("weights", weights, "one per query")
    if vector.shape != (n_queries,):
        raise ValueError(f"weights has shape {vector.shape}: pass one per query ({n_queries}).")
    check_weights(vector, "weight of query {}".format)
    return None if (vector == vector[0]).all() else _relative(vector)


def check_complete(
    who: str, scores: ArrayLike, nan: str, weights: ArrayLike | None, instead: str = ""
) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Scores and weights of the queries on which all systems have a value; number of the others."""
    check_same_index(scores=scores, weights=weights)
    matrix = check_score_matrix(scores, nan)
    weight = check_importance(weights, len(matrix))
    used = ~np.isnan(matrix).any(axis=1) & (True if weight is None else weight > 0)
    size = int(used.sum())
    if size < 2:
        raise ValueError(
            f"all systems together have a value on {size} query(s), and {who} needs 2: leave out "
            f"systems with many NaNs{instead}."
        )
    return matrix[used], None if weight is None else weight[used], len(matrix) - size


def _relative(weights: np.ndarray) -> np.ndarray:
    """Weights as shares of the largest of each column; shares below LEAST_WEIGHT become 0."""
    largest = weights.max(axis=0)
    shares = weights / np.where(largest > 0, largest, 1.0)
    return np.where(shares < LEAST_WEIGHT, 0.0, shares)


def check_values(values: ArrayLike, weights: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Values (queries x columns; NaN = no value) and their weights, in each column at least two."""
    matrix = as_numbers("values", values, "one per query")
    weight = as_numbers("weights", 1.0 if weights is None else weights, "one per query")
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(
            f"values has shape {matrix.shape}: pass one value per query, or queries x columns."
        )
    if weight.shape not in ((), matrix.shape[:1], matrix.shape):
        raise ValueError(f"weights has shape {weight.shape}: pass one per query ({len(matrix)}).")
    weight = np.broadcast_to(weight[:, None] if weight.ndim == 1 else weight, matrix.shape)
    for name, bad in (
        ("values", np.abs(matrix) > LARGEST),
        ("weights", ~((weight >= 0) & np.isfinite(weight))),
    ):
        if bad.any():
            raise ValueError(
                f"{name} of query {np.argwhere(bad)[0, 0]} are not usable: values must be at most "
                f"{LARGEST:g} in size or NaN, weights finite and at least 0."
            )
    weight = _relative(np.where(np.isnan(matrix), 0.0, weight))
    used = (weight > 0).sum(axis=0)
    few = np.flatnonzero(used < 2)
    if len(few):
        raise ValueError(
            f"column {few[0]} of values has {used[few[0]]} query(s) with a value (of weight above "
            "0): an interval needs at least 2. Leave the column out."
        )
    return matrix, weight
