"""Checks of arrays: numbers, query ids, the order of rows, and labels swapped with scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skrank._warnings import warn

EXACT = 2**53  # double precision represents every whole number up to this
_ONE_PER_ROW = "one per row (document)"
LEVEL = "qid"  # name of the index level (or column) that has the query of each row
_COLUMNS = "For ids of several columns, use frame.groupby([...]).ngroup()."
# Usual collections have fewer grades. Half and twice this number, below, are free choices, too.
_MANY_GRADES = 16


def first(bad: np.ndarray) -> int:
    """Index of the first true entry of a mask; -1 if there is none."""
    return int(np.argmax(bad)) if bad.any() else -1


def first_text(values: np.ndarray) -> str | bytes | None:
    """The first entry that is text; None if there is none."""
    objects = values.ravel().tolist() if values.dtype.kind in "OSTU" else ()
    return next((entry for entry in objects if isinstance(entry, (str, bytes))), None)


def as_numbers(name: str, values: ArrayLike, what: str) -> np.ndarray:
    """`values` in double precision, of any shape; None and the NA of pandas become NaN.

    `what` describes the numbers in errors, such as "one per query".
    """
    array = unmasked(name, values, f"numbers, {what}")
    if array.dtype == np.float64:
        return array
    try:
        if array.dtype.kind in "cVMm":  # NumPy would convert complex numbers, records and times
            raise TypeError
        with np.errstate(all="ignore"):  # a cast may overflow to inf, which callers check
            if array.dtype == object:
                import pandas as pd

                missing = np.asarray(np.frompyfunc(lambda entry: entry is pd.NA, 1, 1)(array), bool)
                array = np.where(missing, np.nan, array)
                if any(isinstance(entry, np.complexfloating) for entry in array.flat):
                    raise TypeError  # NumPy would drop the imaginary part
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        hint = ""
        if isinstance(values, Mapping):
            per_row = what == _ONE_PER_ROW
            hint = " skrank.trec.evaluate takes dicts." if per_row else " Make a pandas.DataFrame."
        raise ValueError(f"{name} must be numbers, {what}, not {array.dtype}.{hint}") from None


def check_query_values(
    result: tuple[ArrayLike, ArrayLike | None], n_queries: int, method: str
) -> tuple[np.ndarray, np.ndarray]:
    """Values of queries, copied, and their weights in means, which a `method` of users returned."""
    values = np.array(result[0], dtype=np.float64)
    if values.shape != (n_queries,):
        raise ValueError(f"{method} returned values of shape {values.shape}, not ({n_queries},).")
    if result[1] is None:
        return values, np.ones(n_queries)
    weights = as_numbers(f"the second result of {method}", result[1], "one per query")
    in_range = weights.min(initial=0) >= 0 and weights.max(initial=0) < np.inf
    if weights.shape != (n_queries,) or not in_range:
        raise ValueError(
            f"{method} must return weights that are None, or a finite number of at least 0 for "
            f"each of the {n_queries} queries."
        )
    return values, weights


def as_vector(name: str, values: ArrayLike, n_rows: int | None = None) -> np.ndarray:
    """`values` as a non-empty contiguous float64 vector, of `n_rows` entries if that is given.

    None and the NA of pandas become NaN. Whole numbers that double precision would round are
    refused: different numbers would tie.
    """
    vector = as_numbers(name, values, _ONE_PER_ROW)
    if vector.ndim != 1:
        vector = as_column(name, vector)
    vector = np.ascontiguousarray(vector)
    if len(vector) == 0:
        raise ValueError(f"{name} is empty: there is no document to rank.")
    if n_rows is not None and len(vector) != n_rows:
        raise ValueError(f"{name} has {len(vector)} rows, not {n_rows}: lengths must be equal.")
    dtype = getattr(values, "dtype", None)
    large = () if dtype == np.float64 else np.flatnonzero(np.abs(vector) >= EXACT)
    if len(large):
        entries = np.asarray(values, dtype=object if dtype is None else None).ravel()
        whole = [row for row in large if isinstance(entries[row], (int, np.integer))]
        if whole:
            raise ValueError(
                f"row {whole[0]} of {name} is a whole number of 2**53 or more, which double "
                "precision may round to its neighbour: subtract an offset, or divide."
            )
    return vector


def as_column(name: str, values: ArrayLike) -> np.ndarray:
    """`values` as an array of one dimension, of any dtype; a single column is flattened."""
    column = unmasked(name, values)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column.ravel()
    if column.ndim != 1:
        raise ValueError(
            f"{name} has shape {column.shape}: pass one value per row (document) in one dimension, "
            "with groups= for the query of each row; for several systems, a dict such as "
            "dict(frame.items())."
        )
    return column


def unmasked(
    name: str, values: ArrayLike, what: str = "one value per row (document)"
) -> np.ndarray:
    """`values` as an array, after a check that no value is masked."""
    # arrays without masks need not wait 35 ms for the import of `np.ma`
    if hasattr(values, "mask") and isinstance(values, np.ma.MaskedArray):
        masked = np.argwhere(np.ma.getmaskarray(values))
        if len(masked):  # without dimensions, the sum below is 0
            raise ValueError(
                f"row {masked[0, :1].sum()} of {name} is masked: drop the row, or fill it, such as "
                "with values.filled(numpy.nan), which as a label is not judged."
            )
        return values.data
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be {what}.") from None


def show(query_id: object) -> str:
    """A query id as a user would type it."""
    if isinstance(query_id, tuple):  # an entry of an index of several levels
        return f"({', '.join(map(show, query_id))})"
    return repr(query_id.item() if isinstance(query_id, np.generic) else query_id)


def as_ids(
    source: str, groups: ArrayLike, n_rows: int | None = None, what: str = "query"
) -> np.ndarray:
    """Ids of queries, or of `what`, one per row, in the native byte order; none is missing."""
    index: Any = groups
    if LEVEL in (getattr(index, "names", None) or ()):  # `groups` is the index of labels
        groups = index.get_level_values(LEVEL)
    ids = _distinct(unmasked(source, groups), groups)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids.ravel()
    if ids.ndim != 1:
        name = f"{source}={groups!r}" if isinstance(groups, str) else source
        raise ValueError(
            f"{name} has shape {ids.shape}: pass one {what} id per row, the column itself and "
            f"not its name. {_COLUMNS}"
        )
    if n_rows is not None and len(ids) != n_rows:
        remedy = f"pass one {what} id per row"
        if ids.dtype.kind in "iu" and ids.sum() == n_rows:  # group sizes
            remedy += ", numpy.repeat(numpy.arange(len(sizes)), sizes)"
        raise ValueError(f"{source} has {len(ids)} entries for {n_rows} rows: {remedy}.")
    if ids.dtype.kind in "cfOMm":  # None, NaN and NaT
        import pandas as pd

        if (row := first(pd.isna(ids))) >= 0:
            raise ValueError(f"{source} has no {what} id in row {row}: every row needs one.")
    objects = enumerate(ids) if ids.dtype == object else ()
    row = next((row for row, item in objects if isinstance(item, tuple) or not item.__hash__), -1)
    if row >= 0:
        raise ValueError(
            f"row {row} of {source} is of type {type(ids[row]).__name__}: ids are numbers or "
            f"strings, such as a level of an index, index.get_level_values(0). {_COLUMNS}"
        )
    return ids if ids.dtype.isnative else ids.astype(ids.dtype.newbyteorder("="))


def _distinct(ids: np.ndarray, groups: ArrayLike) -> np.ndarray:
    """`ids`, the array of `groups`, as objects if NumPy's dtype makes different ids equal.

    In a list with strings, NumPy converts NaN to "nan" and 1 to "1". It converts large whole
    numbers of both signs to floats.
    """
    kind, size = ids.dtype.kind, ids.dtype.itemsize
    if isinstance(groups, (list, tuple)) and ids.ndim == 1:
        types = set(map(type, groups))
        if len(types) > 1 or (kind == "f" and types == {int}):
            return np.array(groups, dtype=object)
    if kind in "ST":  # pandas supports no bytes, variable-width strings, float16 or longdouble
        return ids.astype(object)
    return ids.astype(np.float64) if kind == "f" and size not in (4, 8) else ids


@contextmanager
def about(what: str, *, also: type[Exception] = ValueError) -> Iterator[None]:
    """Put `what`, such as the name of a file or a parameter, before the text of errors.

    This concerns errors of type ValueError and of type `also`.
    """
    try:
        yield
    except (ValueError, also) as error:
        kind = ValueError if isinstance(error, ValueError) else also
        raise kind(f"{what}: {error}") from None


def check_same_index(**named: object) -> None:
    """Refuse pandas objects whose indexes have the same entries in another order.

    Rows correspond by position, as in scikit-learn. Equal indexes and indexes with different
    entries are therefore allowed; the same entries in two orders are a mistake. If only one index
    has the level "qid", as that of `with_groups`, this level is not compared.
    Collections of Dask are refused: most functions are for data in memory.
    """
    for name, values in named.items():
        if hasattr(values, "__dask_graph__"):
            raise ValueError(
                f"{name} is a Dask collection: use fit(X, y, groups), predict and "
                f"skrank.dask.evaluate, or pass {name}.compute()."
            )
    indexes = [(name, getattr(values, "index", None)) for name, values in named.items()]
    # `index` of a list is a method
    of_pandas = [(name, index) for name, index in indexes if hasattr(index, "equals")]
    for (name, index), (other_name, other) in combinations(of_pandas, 2):
        a, b = _without_level(index, other), _without_level(other, index)
        if (row := _other_order(a, b)) >= 0:
            raise ValueError(
                f"the indexes of {name} and {other_name} hold the same entries in another order "
                f"(row {row}: {show(a[row])} and {show(b[row])}), and rows are taken by position. "
                f"Bring {other_name} into the order of {name}, such as with reindex, or pass "
                "to_numpy() of both if their rows do correspond."
            )


def _without_level(index: Any, other: Any) -> Any:
    """`index` without the level of queries if `other` lacks it; empty if it is the only level."""
    if LEVEL not in index.names or LEVEL in other.names:
        return index
    return index.droplevel(LEVEL) if index.nlevels > 1 else index[:0]


def _other_order(index: Any, other: Any) -> int:
    """The first row that differs, if two indexes have the same entries in two orders; else -1."""
    from pandas.util import hash_pandas_object

    if len(index) != len(other) or index.equals(other):
        return -1
    if {index.dtype.kind, other.dtype.kind} <= {"i", "u"} and index.min() != other.min():
        return -1  # such as row numbers and query ids; this avoids hashing
    try:
        a, b = (hash_pandas_object(entries, index=False).to_numpy() for entries in (index, other))
    except TypeError:  # entries that cannot be hashed are not compared
        return -1
    return first(a != b) if np.array_equal(np.sort(a), np.sort(b)) else -1


def without_queries(X: Any) -> Any:
    """X without its column "qid", if it is a frame that has one."""
    if not has_query_column(X):
        return X
    if hasattr(X, "drop_columns"):  # pyarrow
        return X.drop_columns([LEVEL])
    return X.drop(LEVEL) if hasattr(X, "iter_columns") else X.drop(columns=LEVEL)


def has_query_column(X: Any) -> bool:
    """Whether X is a frame with a column "qid"."""
    return LEVEL in list(getattr(X, "column_names", getattr(X, "columns", ())))


def without_index(y: Any) -> ArrayLike:
    """Labels as an array.

    In a series, pandas would hash the index to look up attributes such as ``__array_interface__``.
    """
    return y.to_numpy() if hasattr(y, "iloc") and len(y.shape) == 1 else y


def refuse_text(name: str, labels: np.ndarray) -> None:
    """Refuse labels that are text, also if it looks like numbers."""
    if (text := first_text(labels)) is not None:
        raise ValueError(
            f"{name} holds text, such as {text!r}, where labels are expected: convert numbers by "
            "astype(float), and give each text a grade, such as {'bad': 0, 'good': 1}."
        )


def check_labels_first(relevance: np.ndarray, ids: np.ndarray) -> None:
    """Refuse labels that are not numbers; warn if labels look like query ids, ids like grades."""
    refuse_text("relevance", relevance)
    labels = as_numbers("relevance", relevance, _ONE_PER_ROW)
    n_grades = _count_grades(ids) if ids.dtype.kind in "iuf" else 0
    if not n_grades:
        return
    labels = labels[~np.isnan(labels)]
    distinct = np.unique(labels)
    whole = np.array_equal(distinct, np.rint(distinct))
    if not whole or len(distinct) <= max(n_grades, _MANY_GRADES / 2):
        return
    # query ids come in runs of rows, and grades do not; grades are mostly 0, ids have many values
    labels_in_runs = _runs(labels) == len(distinct) and _runs(ids) > n_grades
    mostly_zero = 2 * np.count_nonzero(ids == 0) > len(ids)
    if labels_in_runs or (mostly_zero and len(distinct) > 2 * _MANY_GRADES):
        warn(
            f"relevance has {len(distinct)} different values, and groups {n_grades} small whole "
            "numbers, as if they were swapped: with_groups takes labels first, then queries.",
        )


def _runs(values: np.ndarray) -> int:
    """Number of runs of equal adjacent values."""
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


def _count_grades(values: np.ndarray) -> int:
    """Number of distinct values, NaN aside, if they look like grades: few, small and whole."""
    grades = np.unique(values[values == values])
    few = 2 <= len(grades) <= _MANY_GRADES and grades[0] >= 0 and grades[-1] < 2 * _MANY_GRADES
    return len(grades) if few and np.array_equal(grades, np.rint(grades)) else 0


def look_swapped(labels: np.ndarray, scores: np.ndarray) -> bool:
    """True if labels look like scores, and scores like grades.

    Most labels are then not whole numbers. Mean grades of several assessors are not whole, either,
    but they have few distinct values.
    """
    labels, n_grades = labels[~np.isnan(labels)], _count_grades(scores)
    if not n_grades or 2 * np.count_nonzero(labels != np.rint(labels)) <= len(labels):
        return False
    return len(np.unique(labels)) > max(2 * n_grades, len(labels) / 2)


def warn_swapped(labels: np.ndarray, scores: np.ndarray) -> None:
    """Warn if labels and scores look swapped."""
    if look_swapped(labels, scores):
        warn(
            "relevance and scores look as if they were swapped: the labels come first, and then "
            "the scores.",
        )
