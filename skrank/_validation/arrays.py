"""Checks of arrays: numbers, query ids, the order of rows, and labels swapped with scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

EXACT = 2**53  # double precision represents every whole number up to this
ROWS = "one per row (document)"
LEVEL = "qid"  # name of the index level (or column) that has the query of each row


def as_numbers(name: str, values: ArrayLike, what: str) -> np.ndarray:
    """`values` in double precision, of any shape; None and the NA of pandas become NaN.

    `what` describes the numbers in errors, such as "one per query".
    """
    return _as_numbers(name, unmasked(name, values, f"numbers, {what}"), what)


def as_vector(name: str, values: ArrayLike, n_rows: int | None = None) -> np.ndarray:
    """`values` as a non-empty contiguous float64 vector, of `n_rows` entries if that is given.

    None and the NA of pandas become NaN. Whole numbers that double precision would round are
    refused.
    """
    given = unmasked(name, values)
    vector = np.ascontiguousarray(_column(name, _as_numbers(name, given, ROWS)))
    if len(vector) == 0:
        raise ValueError(f"{name} is empty: there is no document to rank.")
    if n_rows is not None and len(vector) != n_rows:
        others = "the queries have" if name == "relevance" else "relevance has"
        raise ValueError(
            f"{name} has {len(vector)} rows and {others} {n_rows}: lengths must be equal."
        )
    _check_exact(name, given, values, vector)
    return vector


def as_column(name: str, values: ArrayLike) -> np.ndarray:
    """`values` as an array of one dimension, of any dtype; a single column is flattened."""
    return _column(name, unmasked(name, values))


def _column(name: str, given: np.ndarray) -> np.ndarray:
    if given.ndim == 2 and given.shape[1] == 1:
        given = given.ravel()
    if given.ndim != 1:
        raise ValueError(
            f"{name} has shape {given.shape}: pass one value per row (document) in one dimension, "
            "and say with groups= which query each row belongs to."
        )
    return given


def unmasked(
    name: str, values: ArrayLike, what: str = "one value per row (document)"
) -> np.ndarray:
    """`values` as an array, after a check that no value is masked."""
    if isinstance(values, np.ma.MaskedArray):
        masked = np.argwhere(np.ma.getmaskarray(values))
        if len(masked):
            raise ValueError(
                f"row {masked[0, :1].sum()} of {name} is masked: fill it, such as with "
                "values.filled(numpy.nan) for documents that were not judged, or drop the row."
            )
        return values.data
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # such as rows of different lengths
        raise ValueError(f"{name} must be {what}.") from None


def _as_numbers(name: str, given: np.ndarray, what: str) -> np.ndarray:
    """An array in double precision; the NA of pandas becomes NaN."""
    if given.dtype == np.float64:
        return given
    _check_kind(name, given, what)
    try:
        with np.errstate(all="ignore"):  # callers refuse infinite values
            if given.dtype == object:
                import pandas as pd

                missing = np.asarray(np.frompyfunc(lambda one: one is pd.NA, 1, 1)(given), bool)
                given = np.where(missing, np.nan, given)
                if any(isinstance(one, np.complexfloating) for one in given.flat):
                    raise TypeError  # NumPy would drop the imaginary part
            return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, {what}.") from None


def _check_kind(name: str, given: np.ndarray, what: str) -> None:
    """Refuse complex numbers, records, dates and times, which NumPy would convert."""
    kinds = {"c": "complex numbers", "V": "records", "M": "dates or times", "m": "dates or times"}
    if given.dtype.kind in kinds:
        kind = kinds[given.dtype.kind]
        raise ValueError(f"{name} must be numbers, {what}, and not {kind}.")


def _check_exact(name: str, given: np.ndarray, values: object, vector: np.ndarray) -> None:
    """Refuse whole numbers that double precision may round: different numbers would tie."""
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        suspects = np.flatnonzero((vector >= EXACT) | (vector <= -EXACT))
    elif given.dtype == object or isinstance(values, (list, tuple)):
        large = np.flatnonzero(np.abs(vector) >= EXACT)
        rows = np.asarray(values, dtype=object).ravel()
        whole = [isinstance(rows[row], (int, np.integer)) for row in large]
        suspects = large[np.array(whole, dtype=bool)]
    else:
        return
    if len(suspects):
        raise ValueError(
            f"row {suspects[0]} of {name} is a whole number of 2**53 or more, which double "
            "precision may round to its neighbour: subtract an offset, or divide and pass floats."
        )


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
    if LEVEL in (getattr(index, "names", None) or ()):  # the index of labels
        groups = index.get_level_values(LEVEL)
    if isinstance(groups, str):
        raise ValueError(
            f"{source}={groups!r} is a single name, not the {what} of each row: pass the column "
            f"itself, such as {source}=frame[{groups!r}]."
        )
    ids = _distinct(unmasked(source, groups), groups)
    if ids.ndim == 2 and ids.shape[1] == 1:
        ids = ids.ravel()
    tuples = ids.dtype == object and ids.ndim == 1 and any(isinstance(one, tuple) for one in ids)
    if tuples or (ids.ndim == 2 and isinstance(groups, (list, tuple))):
        raise ValueError(
            f"{source} holds tuples, as a pandas.MultiIndex does: pass one {what} id per row, such "
            "as index.get_level_values(0), or frame.groupby([...]).ngroup() for ids of several "
            "columns."
        )
    if ids.ndim != 1:
        raise ValueError(f"{source} has shape {ids.shape}: pass one {what} id per row.")
    if n_rows is not None and len(ids) != n_rows:
        hint = ""
        if ids.dtype.kind in "iu" and ids.sum() == n_rows:
            hint = " They add up to the number of rows, so they look like group sizes: "
            hint += "use numpy.repeat(numpy.arange(len(sizes)), sizes)."
        raise ValueError(
            f"{source} has {len(ids)} entries for {n_rows} rows: pass one {what} id per row.{hint}"
        )
    if ids.dtype.kind in "cfOMm":  # None, NaN and NaT
        import pandas as pd

        missing = np.flatnonzero(pd.isna(ids))
        if len(missing):
            raise ValueError(f"{source} has no {what} id in row {missing[0]}: every row needs one.")
    if ids.dtype == object:
        bad = next((row for row, one in enumerate(ids) if one.__hash__ is None), None)
        if bad is not None:
            raise ValueError(
                f"row {bad} of {source} is of type {type(ids[bad]).__name__}, which cannot be "
                f"{what} ids: use numbers or strings."
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
            objects = np.empty(len(groups), dtype=object)
            objects[:] = groups
            return objects
    if kind in "ST":  # pandas supports neither bytes nor strings of variable width
        return ids.astype(object)
    return ids.astype(np.float64) if kind == "f" and size not in (4, 8) else ids


@contextmanager
def about(what: str, *, also: type[Exception] = ValueError) -> Iterator[None]:
    """Put `what`, such as the name of a file or a parameter, before the text of errors.

    This concerns errors of type ValueError and of type `also`.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    except also as error:
        raise also(f"{what}: {error}") from None


def check_same_index(**named: object) -> None:
    """Refuse pandas objects whose indexes have the same entries in another order.

    Rows correspond by position, as in scikit-learn. Equal indexes and indexes with different
    entries are therefore allowed; the same entries in two orders are a mistake. If one index has
    queries beside the other's entries, as that of `with_groups` has, the entries are compared.
    """
    seen: list[tuple[str, pd.Index]] = []
    for name, values in named.items():
        index: Any = getattr(values, "index", None)
        if not hasattr(index, "equals"):  # of an array; `index` of a list is a method
            continue
        for other, known in seen:
            a, b = _without_queries(known, index), _without_queries(index, known)
            if _other_order(a, b):
                row = int(np.argmax(np.asarray(a != b)))
                raise ValueError(
                    f"the indexes of {other} and {name} hold the same labels in another order (row "
                    f"{row}: {show(a[row])} and {show(b[row])}), and rows are taken by position. "
                    f"Bring {name} into the order of {other}, such as with reindex, or pass "
                    "to_numpy() of both if their rows do correspond."
                )
        seen.append((name, index))


def row_index(data: object) -> pd.Index | None:
    """The index of `data` without its level "qid"; None if there is nothing else."""
    index: Any = getattr(data, "index", None)
    if not hasattr(index, "equals") or list(index.names) == [LEVEL]:
        return None
    return index.droplevel(LEVEL) if LEVEL in index.names else index


def _without_queries(index: pd.Index, other: pd.Index) -> pd.Index:
    """An index with queries and entries like `other`: without queries if `other` has none."""
    extra = index.nlevels > other.nlevels and LEVEL in index.names
    return index.droplevel(LEVEL) if extra and LEVEL not in other.names else index


def _other_order(first: pd.Index, second: pd.Index) -> bool:
    """True if two indexes have the same entries in different orders."""
    from pandas.util import hash_pandas_object

    if len(first) != len(second) or first.equals(second):
        return False
    if _is_integer(first) and _is_integer(second) and first.min() != second.min():
        return False  # such as row numbers and query ids; this avoids hashing
    try:
        a, b = (hash_pandas_object(one, index=False).to_numpy() for one in (first, second))
    except TypeError:  # entries that cannot be hashed are not compared
        return False
    return np.array_equal(np.sort(a), np.sort(b))


def _is_integer(index: pd.Index) -> bool:
    return isinstance(index.dtype, np.dtype) and index.dtype.kind in "iu"


def without_index(y: Any) -> ArrayLike:
    """Labels as an array.

    NumPy looks up attributes such as ``__array_interface__``, where pandas would hash the index.
    """
    return y.to_numpy() if hasattr(y, "iloc") and len(y.shape) == 1 else y


_MANY_GRADES = 16  # usual collections have fewer grades
_SWAPPED = (
    "relevance and scores look as if they were swapped: the labels come first, and then the scores."
)


def check_labels_first(relevance: np.ndarray, ids: np.ndarray) -> None:
    """Refuse labels that are not numbers; warn if labels look like query ids, ids like grades."""
    objects = relevance if relevance.dtype == object else ()
    if relevance.dtype.kind in "UST" or any(isinstance(one, str) for one in objects):
        raise ValueError(
            "relevance holds strings: with_groups takes the labels, which are numbers, first, and "
            "then the query of each row."
        )
    _check_kind("relevance", relevance, ROWS)
    if relevance.dtype.kind not in "iuf" or ids.dtype.kind not in "iuf" or len(ids) == 0:
        return
    labels, grades = relevance[relevance == relevance], np.unique(ids)
    distinct = np.unique(labels)
    few = len(grades) <= _MANY_GRADES and grades[0] >= 0 and grades[-1] < 2 * _MANY_GRADES
    whole = np.array_equal(grades, np.rint(grades)) and np.array_equal(distinct, np.rint(distinct))
    if not (few and whole and len(distinct) > max(len(grades), _MANY_GRADES / 2)):
        return
    together = _runs(labels) == len(distinct) and _runs(ids) > len(grades)
    mostly_zero = 2 * np.count_nonzero(ids == 0) > len(ids)
    if together or (mostly_zero and len(distinct) > 2 * _MANY_GRADES):
        warnings.warn(
            f"relevance has {len(distinct)} different values and qid {len(grades)} small whole "
            "ones, as if they were swapped: with_groups takes the labels first, and then the "
            "query of each row.",
            UserWarning,
            stacklevel=3,
        )


def _runs(values: np.ndarray) -> int:
    """Number of runs of equal adjacent values."""
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


def look_swapped(labels: np.ndarray, scores: np.ndarray) -> bool:
    """True if labels look like scores, and scores like grades.

    Scores are then few whole numbers of at least 0. Most labels are not whole numbers, and some are
    negative, or more are distinct than averaged grades would be.
    """
    labels = labels[~np.isnan(labels)]
    if 2 * np.count_nonzero(labels != np.rint(labels)) <= len(labels):
        return False
    grades = np.unique(scores[~np.isnan(scores)])
    whole = np.array_equal(grades, np.rint(grades)) and grades.min(initial=0) >= 0
    few = 2 <= len(grades) <= _MANY_GRADES and grades.max(initial=0) < 2 * _MANY_GRADES
    if not (whole and few):
        return False
    distinct = len(np.unique(labels))
    return labels.min() < 0 or distinct > max(2 * len(grades), len(labels) / 2)


@contextmanager
def labels_first(relevance: ArrayLike, scores: ArrayLike) -> Iterator[None]:
    """Add to the text of errors that labels and scores look swapped, if they do."""
    try:
        yield
    except ValueError as error:
        try:
            labels, given = (as_numbers("", one, "").ravel() for one in (relevance, scores))
        except ValueError:
            raise error from None
        if len(labels) != len(given) or not look_swapped(labels, given):
            raise
        raise ValueError(f"{error} {_SWAPPED[0].upper()}{_SWAPPED[1:]}") from None


def warn_swapped(labels: np.ndarray, scores: np.ndarray, stacklevel: int) -> None:
    """Warn if labels and scores look swapped."""
    if look_swapped(labels, scores):
        warnings.warn(_SWAPPED, UserWarning, stacklevel=stacklevel)
