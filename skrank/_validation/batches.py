"""Checks of batches of whole queries, and of the parameters of skrank.torch."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrank._validation.data import HEAVIEST_QUERY, RowsByQuery, are_no_labels, bad_label
from skrank._validation.parameters import MOST_GRADES, check_count


def check_layout(
    scores: Sequence[int], labels: Sequence[int], mask: Sequence[int] | None, *, has_offsets: bool
) -> None:
    """Check the shapes of flat rows with offsets, or of padded queries with or without a mask."""
    scores, labels = tuple(scores), tuple(labels)
    if len(scores) not in (1, 2):
        hint = " Drop the last axis: scores.squeeze(-1)." if scores[-1:] == (1,) else ""
        raise ValueError(
            f"scores have shape {scores}: pass (rows,) with offsets, or (queries, documents).{hint}"
        )
    if labels != scores:
        raise ValueError(
            f"labels have shape {labels} and scores {scores}: both must have the same shape."
        )
    if len(scores) == 1 and not has_offsets:
        raise ValueError(
            "scores are flat rows: give the offsets of their queries, 0, the first row of the "
            "second query, ..., the number of rows (skrank.torch.query_offsets makes them)."
        )
    if len(scores) == 2 and has_offsets:
        raise ValueError(
            "offsets are for flat rows, and scores are padded, (queries, documents): leave out the "
            "offsets, or pass scores.squeeze(-1) if each row of scores is one document."
        )
    if mask is not None and (len(scores) == 1 or tuple(mask) != scores):
        raise ValueError(
            f"mask has shape {tuple(mask)} and scores {scores}: a mask has the shape of padded "
            "scores."
        )


def not_a_tensor(scores: object) -> ValueError:
    """The error for scores that are not a tensor."""
    return ValueError(
        f"scores are of type {type(scores).__name__}: pass a torch.Tensor, as a network gives."
    )


def bad_mask(value: float, place: list[int]) -> ValueError:
    """The error for a mask with other values than True and False."""
    return ValueError(
        f"mask holds numbers other than 0 and 1, such as {value:g} in {_where(place)}: a mask is "
        "True where there is a document, and False in the padding."
    )


def inexact_integers(name: str) -> ValueError:
    """The error for whole numbers that double precision cannot hold."""
    return ValueError(
        f"{name} hold a whole number of 2**53 or more, which double precision may round to its "
        "neighbour: subtract an offset, or divide and pass floats."
    )


def as_new_array(name: str, values: object) -> np.ndarray:
    """A copy of `values` as an array."""
    try:
        return np.array(values)
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be whole numbers in one dimension.") from None


def check_query_numbers(ids: np.ndarray, n_queries: int) -> np.ndarray:
    """Check that there is one whole number per query of a batch."""
    if ids.shape != (n_queries,) or (ids.dtype.kind not in "iu" and n_queries):
        raise ValueError(
            f"ids have shape {ids.shape} and type {ids.dtype} for {n_queries} queries: give one "
            "whole number per query, such as the ids of a QueryBatch."
        )
    return ids


def bad_offsets(shape: tuple[int, ...], dtype: object) -> ValueError:
    """The error for offsets that are not whole numbers in one dimension."""
    return ValueError(
        f"offsets have shape {shape} and type {dtype}: give whole numbers, one more than queries."
    )


def check_offsets(offsets: np.ndarray, n_rows: int) -> np.ndarray:
    """Sizes of the queries, after a check that the offsets cover all rows."""
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
            f"offsets go from {offsets[0]} to {offsets[-1]} and there are {n_rows} rows: offsets "
            f"must begin with 0 and end with the number of rows.{hint}"
        )
    return sizes


def check_contiguous(groups: np.ndarray) -> np.ndarray:
    """Offsets of queries, after a check that the rows of each query are adjacent."""
    if groups.ndim != 1:
        raise ValueError(f"groups have shape {groups.shape}: pass one query id per row.")
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    starts = np.concatenate(([0], changes)) if len(groups) else np.empty(0, np.int64)
    again = _second(groups[starts])
    if again is not None:
        name = groups[starts[again] : starts[again] + 1].tolist()[0]
        raise ValueError(
            f"query {name!r} begins again in row {starts[again]}: sort the rows by query, so that "
            "the rows of each query are adjacent."
        )
    return np.append(starts, len(groups)).astype(np.int64)


def _second(ids: np.ndarray) -> int | None:
    """Position of the first id that repeats an earlier id; None if all ids differ."""
    if ids.dtype != object and (ids[1:] > ids[:-1]).all():  # avoids the import of pandas
        return None

    import pandas as pd

    again = np.flatnonzero(pd.Series(ids).duplicated().to_numpy())
    return int(again[0]) if len(again) else None


def _where(place: list[int]) -> str:
    return f"row {place[0]}" if len(place) == 1 else f"document {place[1]} of query {place[0]}"


def bad_batch_score(value: float, place: list[int]) -> ValueError:
    """The error for a score that is NaN or infinite."""
    return ValueError(
        f"score of {_where(place)} is {value}: gradients need finite scores. Lower the learning "
        "rate, clip gradients, or look for NaN among the features."
    )


def bad_batch_label(value: float, place: list[int]) -> ValueError:
    """The error for a label that is negative or infinite."""
    return ValueError(
        f"label of {_where(place)} is {value:g}: labels must be at least 0 and finite, or NaN for "
        "padding and documents that were not judged."
    )


def label_above_scale(max_grade: int, value: float, place: list[int]) -> ValueError:
    """The error for a label above the highest grade of the collection."""
    return ValueError(
        f"label {value:g} is above max_grade={max_grade}: give the highest grade of the collection."
    )


def fractional_label(value: float, place: list[int]) -> ValueError:
    """The error for a label between grades on the native path."""
    return ValueError(
        f'label {value:g} is not a whole number, as path="native" needs: use path="kernels".'
    )


def check_table_size(highest: int) -> int:
    """Check that a table of the labels 0 to `highest` is small; return `highest`."""
    if highest > MOST_GRADES:
        raise ValueError(
            f'label {highest:g} is above {MOST_GRADES}, the highest label of path="native": use '
            'path="kernels", or bin the labels into grades.'
        )
    return highest


def needs_max_grade(what: object) -> ValueError:
    """The error for a missing `max_grade`."""
    return ValueError(
        f"{what} depends on the highest grade of the collection, which may be missing from a "
        "batch: give max_grade."
    )


def check_weight_shape(shape: tuple[int, ...], n_queries: int) -> None:
    """Check that there is one weight per query of a batch."""
    if shape != (n_queries,):
        raise ValueError(f"weights have shape {shape} for {n_queries} queries: give one per query.")


def bad_batch_weight(value: float, place: list[int]) -> ValueError:
    """The error for a weight that is negative or not finite, or too large for gradients."""
    query = place[0]
    if 0 <= value < math.inf:
        return ValueError(
            f"weight of query {query} of the batch is {value:g}: gradients in single precision "
            f"allow weights of no more than {HEAVIEST_QUERY:g}. Scale the weights down."
        )
    return ValueError(
        f"weight of query {query} of the batch is {value:g}: it must be finite and not negative."
    )


def check_sizes(sizes: object) -> np.ndarray:
    """Numbers of documents, one per query, after a check."""
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
    """Rank of a process and number of processes, after a check."""
    world_size = check_count("world_size", world_size, "processes")
    rank = check_count("rank", rank, "the number of this process", least=0)
    if rank >= world_size:
        raise ValueError(
            f"rank={rank} is too high for world_size={world_size}: ranks go from 0 to "
            f"{world_size - 1}."
        )
    return rank, world_size


def check_paths(parameter: str, paths: Any) -> list[str]:
    """The paths of one or several files."""
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


def check_names(parameter: str, names: list[str]) -> list[str]:
    """Names of columns, after a check that there is at least one."""
    if not names or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{parameter}={names!r} must name columns of the files.")
    return names


def check_data_labels(labels: np.ndarray, first_row: int = 0) -> np.ndarray:
    """Labels of a data set, after a check of each: NaN, or in the range of grades."""
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
    """Check that conversion to another dtype does not make features infinite.

    Parameters
    ----------
    narrow, values : ndarrays of shape (n_rows, n_features)
        Features after and before the conversion.
    names : sequence
        Names of the features.
    rows : ndarray of shape (n_rows,)
        Numbers of the rows.
    kind : name of the other dtype
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
    """Check that conversion to another dtype does not round whole labels to other grades."""
    lost = np.flatnonzero((narrow != labels) & (labels == np.rint(labels)))
    if len(lost):
        raise ValueError(
            f"label of row {rows[lost[0]]} is {labels[lost[0]]:.17g}, which {kind} rounds to "
            f"{narrow[lost[0]]:.17g}: choose dtype=torch.float64, or bin the labels into grades."
        )


def check_kept_weights(
    narrow: np.ndarray, weights: np.ndarray, queries: RowsByQuery, kind: object
) -> None:
    """Check that conversion to another dtype makes no weight infinite or 0."""
    lost = np.flatnonzero(np.isinf(narrow) | ((narrow == 0) & (weights > 0)))
    if len(lost):
        raise ValueError(
            f"weight of query {queries.name(int(lost[0]))} is {weights[lost[0]]:g}, which is "
            f"{narrow[lost[0]]:g} in {kind}: scale the weights, or choose dtype=torch.float64."
        )


def check_chosen_queries(numbers: object, n_queries: int) -> np.ndarray:
    """Numbers of queries of a data set; negative numbers count from the end."""
    chosen = as_new_array("numbers of queries", numbers)
    if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and len(chosen)):
        raise TypeError(f"queries are chosen by their numbers, such as [0, 3], not by {numbers!r}.")
    bad = np.flatnonzero((chosen < -n_queries) | (chosen >= n_queries))
    if len(bad):
        raise IndexError(f"there is no query {chosen[bad[0]]}: the data set has {n_queries}.")
    chosen = chosen.astype(np.int64)
    return np.where(chosen < 0, chosen + n_queries, chosen)


def check_feature_sizes(X: Any, highest: float) -> None:
    """Check that no feature of X, dense or sparse, exceeds `highest` in absolute value."""
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
    """Check that the input `rows` of a network, made from the features `values`, are finite."""
    if _are_finite(rows):
        return
    row, feature = np.argwhere(~np.isfinite(rows))[0]
    raise ValueError(
        f"feature {feature} of row {first_row + row} of X is {values[row, feature]:g}, too far "
        "from the training rows for single precision: look for an error in the data, or train on "
        "such rows."
    )


def check_predicted(scores: np.ndarray, first_row: int) -> None:
    """Check that the scores of a network are finite."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(
            f"the network gives row {first_row + bad[0]} of X the score {scores[bad[0]]}: its "
            "features are too far from those of the training rows, or its training has diverged. "
            "Scale the features, or lower learning_rate."
        )


def check_hidden(hidden: object) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is the width of one hidden layer."""
    if isinstance(hidden, (int, np.integer)):
        hidden = (hidden,)
    if not isinstance(hidden, (list, tuple, np.ndarray)) or np.ndim(hidden) != 1:
        raise ValueError(
            f"hidden={hidden!r} must be the width of the hidden layer, or a sequence of widths."
        )
    return tuple(check_count("each of hidden", width, "units of a layer") for width in hidden)


def check_unchanged(before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Check that parameters have the values of the first fit, for a warm start."""
    for name, value in before.items():
        if value is not now[name] and value != now[name]:
            raise ValueError(
                f"{name}={now[name]!r} was {value!r} in the first fit, which warm_start=True "
                f"continues: restore {name}, or set warm_start=False to train anew."
            )
