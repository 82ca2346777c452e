"""Checks of batches of whole queries, as networks are trained on."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrank._validation.data import HEAVIEST_QUERY, RowsByQuery, are_no_labels, bad_label
from skrank._validation.parameters import MOST_GRADES, check_count


def check_layout(
    scores: tuple[int, ...],
    labels: tuple[int, ...],
    has_offsets: bool,
    mask: tuple[int, ...] | None,
) -> None:
    """Shapes of flat rows with offsets, or of padded lines with or without a mask."""
    if len(scores) not in (1, 2):
        hint = " Drop the last axis: scores.squeeze(-1)." if scores[-1:] == (1,) else ""
        raise ValueError(
            f"scores have shape {scores}: pass (rows,) with offsets, or (queries, documents).{hint}"
        )
    if labels != scores:
        raise ValueError(f"labels have shape {labels} and scores {scores}: they must be alike.")
    if len(scores) == 1 and not has_offsets:
        raise ValueError(
            "scores are flat rows: give the offsets of their queries, 0, the first row of the "
            "second query, ..., the number of rows (skrank.torch.query_offsets makes them)."
        )
    if len(scores) == 2 and has_offsets:
        raise ValueError(
            "offsets are for flat rows, and scores are padded, (queries, documents): give one, or "
            "scores.squeeze(-1) if these are rows."
        )
    if mask is not None and (len(scores) == 1 or mask != scores):
        raise ValueError(
            f"mask has shape {mask} and scores {scores}: a mask has the shape of padded scores."
        )


def as_new_array(name: str, values: object) -> np.ndarray:
    """A copy of `values` as an array."""
    try:
        return np.array(values)
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be whole numbers in one dimension.") from None


def check_query_numbers(ids: np.ndarray, n_queries: int) -> np.ndarray:
    """One whole number per query of a batch."""
    if ids.shape != (n_queries,) or (ids.dtype.kind not in "iu" and n_queries):
        raise ValueError(
            f"ids have shape {ids.shape} and type {ids.dtype} for {n_queries} queries: give one "
            "whole number per query, such as the ids of a QueryBatch."
        )
    return ids


def bad_offsets(shape: tuple[int, ...], dtype: object) -> ValueError:
    """The error for offsets that are no whole numbers in one dimension."""
    return ValueError(
        f"offsets have shape {shape} and type {dtype}: give whole numbers, one more than queries."
    )


def check_offsets(offsets: np.ndarray, n_rows: int) -> np.ndarray:
    """Sizes of queries whose offsets cover all rows."""
    if offsets.ndim != 1 or len(offsets) == 0 or offsets.dtype.kind not in "iu":
        raise bad_offsets(offsets.shape, offsets.dtype)
    offsets = offsets.astype(np.int64, copy=False)
    sizes: np.ndarray = offsets[1:] - offsets[:-1]
    if len(sizes) and sizes.min() < 0:
        raise ValueError(
            f"offsets fall after query {np.argmax(sizes < 0)}: they are the first row of each "
            "query in turn."
        )
    if offsets[0] != 0 or offsets[-1] != n_rows:
        hint = ""
        if offsets.sum() == n_rows:
            hint = " They look like sizes: take numpy.append(0, numpy.cumsum(sizes))."
        raise ValueError(
            f"offsets go from {offsets[0]} to {offsets[-1]} and there are {n_rows} rows: they must "
            f"begin with 0 and end with the number of rows, for a batch has whole queries.{hint}"
        )
    return sizes


def check_contiguous(groups: np.ndarray) -> np.ndarray:
    """Offsets of queries whose rows are neighbours."""
    if groups.ndim != 1:
        raise ValueError(f"groups have shape {groups.shape}: pass one query id per row.")
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    starts = np.concatenate(([0], changes)) if len(groups) else np.empty(0, np.int64)
    again = _second(groups[starts])
    if again is not None:
        name = groups[starts[again] : starts[again] + 1].tolist()[0]
        raise ValueError(
            f"query {name!r} begins again in row {starts[again]}: sort the rows by query, and put "
            "whole queries into a batch."
        )
    return np.append(starts, len(groups)).astype(np.int64)


def _second(ids: np.ndarray) -> int | None:
    """Place of the first id that was there before, of any types; None if there is none."""
    if ids.dtype != object and (ids[1:] > ids[:-1]).all():  # seen without importing pandas
        return None

    import pandas as pd

    again = np.flatnonzero(pd.Series(ids).duplicated().to_numpy())
    return int(again[0]) if len(again) else None


def _where(place: list[int]) -> str:
    return f"row {place[0]}" if len(place) == 1 else f"document {place[1]} of query {place[0]}"


def bad_batch_score(value: float, place: list[int]) -> ValueError:
    """The error for a score that gives no gradient."""
    return ValueError(
        f"score of {_where(place)} is {value}: gradients need finite scores. Lower the learning "
        "rate, clip gradients, or look for NaN among the features."
    )


def bad_batch_label(value: float, place: list[int]) -> ValueError:
    """The error for a label that is no grade."""
    return ValueError(
        f"label of {_where(place)} is {value:g}: labels must be at least 0 and finite, or NaN for "
        "padding and documents that were not judged."
    )


def label_above_scale(value: float, max_grade: int) -> ValueError:
    """The error for a label beyond the scale of the collection."""
    return ValueError(
        f"label {value:g} is above max_grade={max_grade}: give the highest grade of the collection."
    )


def fractional_label(value: float) -> ValueError:
    """The error for a label between grades, where tables have whole ones."""
    return ValueError(
        f'label {value:g} is no whole number, which path="native" needs: use path="kernels".'
    )


def check_table_size(highest: int) -> int:
    """A highest label up to which there is a table of all labels."""
    if highest > MOST_GRADES:
        raise ValueError(
            f'label {highest:g} is above {MOST_GRADES}, where the tables of path="native" end: use '
            'path="kernels", or bin the labels into grades.'
        )
    return highest


def needs_max_grade(what: object) -> ValueError:
    """The error for a scale that no batch can tell."""
    return ValueError(
        f"{what} depends on the highest grade of the collection, which a batch does not tell: give "
        "max_grade."
    )


def check_weight_shape(shape: tuple[int, ...], n_queries: int) -> None:
    """One weight per query of a batch."""
    if shape != (n_queries,):
        raise ValueError(f"weights have shape {shape} for {n_queries} queries: give one per query.")


def bad_batch_weight(value: float, query: int) -> ValueError:
    """The error for a weight that a query cannot have, or that gradients cannot bear."""
    if 0 <= value < math.inf:
        return ValueError(
            f"weight of query {query} of the batch is {value:g}: gradients in single precision "
            f"bear no more than {HEAVIEST_QUERY:g}. Scale the weights down."
        )
    return ValueError(
        f"weight of query {query} of the batch is {value:g}: it must be finite and not negative."
    )


def check_sizes(sizes: object) -> np.ndarray:
    """Numbers of documents, one per query."""
    array = as_new_array("data", sizes)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(
            f"data has shape {array.shape} and type {array.dtype}: pass a QueryDataset, or the "
            "number of documents of each query."
        )
    if len(array) and array.min() < 0:
        raise ValueError(
            f"query {np.argmin(array)} of data has {array.min()} documents: pass the number of "
            "documents of each query."
        )
    return array.astype(np.int64)


def check_rank(rank: object, world_size: object) -> tuple[int, int]:
    """The number of a process among all, and their number."""
    world_size = check_count("world_size", world_size, "processes")
    rank = check_count("rank", rank, "the number of this process, from 0 on", least=0)
    if rank >= world_size:
        raise ValueError(
            f"rank={rank} is no process of world_size={world_size}: ranks go from 0 to "
            f"{world_size - 1}."
        )
    return rank, world_size


def check_paths(parameter: str, paths: Any) -> list[str]:
    """The paths of one file or of several."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    try:
        found = [os.fsdecode(one) for one in several]
    except TypeError:
        raise ValueError(
            f"{parameter}={paths!r} must be the path of a file, or a sequence of paths."
        ) from None
    if not found:
        raise ValueError(f"{parameter} is empty: give at least one file.")
    return found


def check_names(parameter: str, names: list[Any]) -> list[str]:
    """Names of columns, at least one."""
    if not names or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{parameter}={names!r} must name columns of the files.")
    return names


def check_data_labels(labels: np.ndarray, first_row: int = 0) -> np.ndarray:
    """Labels of a data set: NaN, 0 or between the least and the highest that there may be."""
    bad = np.flatnonzero(are_no_labels(labels))
    if len(bad):
        raise bad_label(float(labels[bad[0]]), first_row + int(bad[0]))
    return labels


def _are_finite(values: np.ndarray) -> bool:
    """True if every value is finite."""
    with np.errstate(all="ignore"):  # a finite sum proves it in one pass; large sums may overflow
        return math.isfinite(values.sum()) or bool(np.isfinite(values).all())


def check_narrowed(
    narrow: np.ndarray, values: np.ndarray, names: Sequence[object], rows: np.ndarray, kind: object
) -> None:
    """Features that another type rounds, but does not make infinite.

    Parameters
    ----------
    narrow, values : ndarrays of shape (n_rows, n_features)
        In the other type, and as they were.
    names : sequence
        Of the features.
    rows : ndarray of shape (n_rows,)
        Their numbers.
    kind : what the other type is called
    """
    if _are_finite(narrow):
        return
    lost = np.argwhere(np.isinf(narrow) & np.isfinite(values))
    if len(lost):
        row, feature = lost[0]
        raise ValueError(
            f"feature {names[feature]!r} of row {rows[row]} is {values[row, feature]:g}, which is "
            f"infinite in {kind}: scale the features, or choose dtype=torch.float64."
        )


def check_kept_grades(
    narrow: np.ndarray, labels: np.ndarray, rows: np.ndarray, kind: object
) -> None:
    """Labels whose whole numbers another type does not round, which would make grades equal."""
    lost = np.flatnonzero((narrow != labels) & (labels == np.rint(labels)))
    if len(lost):
        raise ValueError(
            f"label of row {rows[lost[0]]} is {labels[lost[0]]:.17g}, which {kind} rounds to "
            f"{narrow[lost[0]]:.17g}: choose dtype=torch.float64, or bin the labels into grades."
        )


def check_kept_weights(
    narrow: np.ndarray, weights: np.ndarray, queries: RowsByQuery, kind: object
) -> None:
    """Weights that another type rounds, but makes neither infinite nor 0."""
    lost = np.flatnonzero(np.isinf(narrow) | ((narrow == 0) & (weights > 0)))
    if len(lost):
        raise ValueError(
            f"weight of query {queries.name(int(lost[0]))} is {weights[lost[0]]:g}, which is "
            f"{narrow[lost[0]]:g} in {kind}: scale the weights, or choose dtype=torch.float64."
        )


def check_chosen_queries(numbers: object, n_queries: int) -> np.ndarray:
    """Numbers of queries of a data set; negative ones count from its end."""
    chosen = as_new_array("numbers of queries", numbers)
    if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and len(chosen)):
        raise TypeError(f"queries are chosen by their numbers, such as [0, 3], not by {numbers!r}.")
    bad = np.flatnonzero((chosen < -n_queries) | (chosen >= n_queries))
    if len(bad):
        raise IndexError(f"there is no query {chosen[bad[0]]}: the data set has {n_queries}.")
    chosen = chosen.astype(np.int64)
    return np.where(chosen < 0, chosen + n_queries, chosen)


def check_feature_sizes(X: Any, highest: float) -> None:
    """Features, dense or sparse, of which none is further from 0 than the `highest`."""
    values = getattr(X, "data", X) if hasattr(X, "tocoo") else X
    if not values.size or max(values.max(), -values.min()) <= highest:
        return
    if hasattr(X, "tocoo"):
        entries = X.tocoo()
        at = int(np.argmax(np.abs(entries.data) > highest))
        row, feature, value = entries.row[at], entries.col[at], entries.data[at]
    else:
        row, feature = np.argwhere(np.abs(X) > highest)[0]
        value = X[row, feature]
    raise ValueError(
        f"feature {feature} of row {row} of X is {value:g}, and networks take features up to "
        f"{highest:g}: scale the features, or choose standardize=True."
    )


def check_single_precision(rows: np.ndarray, values: np.ndarray, first_row: int) -> None:
    """Rows as a network takes them, where none of their `values` has become infinite."""
    if _are_finite(rows):
        return
    row, feature = np.argwhere(~np.isfinite(rows))[0]
    raise ValueError(
        f"feature {feature} of row {first_row + row} of X is {values[row, feature]:g}, too far "
        "from the training rows for single precision: look for an error in the data, or train on "
        "such rows."
    )


def check_predicted(scores: np.ndarray, first_row: int) -> None:
    """Scores that are numbers."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(
            f"the network gives row {first_row + bad[0]} of X the score {scores[bad[0]]}: its "
            "features are too far from those of the training rows, or its training has diverged. "
            "Scale the features, or lower learning_rate."
        )


def check_hidden(hidden: object) -> tuple[int, ...]:
    """Widths of hidden layers, given as such or as that of the only one."""
    if isinstance(hidden, (int, np.integer)):
        hidden = (hidden,)
    if not isinstance(hidden, (list, tuple, np.ndarray)) or np.ndim(hidden) != 1:
        raise ValueError(
            f"hidden={hidden!r} must be the width of the hidden layer, or a sequence of widths."
        )
    return tuple(check_count("each of hidden", width, "units of a layer") for width in hidden)


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Parameters that a training which is taken up cannot change."""
    for name, value in before.items():
        if value is not now[name] and value != now[name]:
            raise ValueError(
                f"{name}={now[name]!r} was {value!r} when the training began that warm_start=True "
                f"takes up: set {name} back, or warm_start=False to train anew."
            )
