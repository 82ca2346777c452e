"""Rows of a data set: arrays in memory, or parquet files whose row groups are read on demand."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse

from skrank import _validation as check
from skrank._typing import Table

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class ArrayRows:
    """Rows in memory, dense or sparse.

    Attributes
    ----------
    part_of_row : int64 ndarray of shape (n_rows,)
        0 for all rows, which are not divided into row groups.
    """

    def __init__(self, X: Table, labels: ArrayLike) -> None:
        shape = "an array of shape (n_rows, n_features)"
        self.X = csr_matrix(X) if issparse(X) else check.unmasked("X", X, shape)
        self.labels = checked_labels(check.as_vector("relevance", labels))
        if self.X.ndim != 2 or self.X.shape[0] != len(self.labels):
            raise ValueError(
                f"X has shape {self.X.shape} and relevance {len(self.labels)} rows: X must have "
                "one row of features per label."
            )
        if self.X.dtype.kind not in "fiub":
            raise ValueError(f"X has type {self.X.dtype}: features must be numbers.")
        self.part_of_row = np.zeros(len(self.labels), np.int64)

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features as a dense array, and labels, of these rows."""
        X = self.X[rows]
        return X.toarray() if issparse(X) else X, self.labels[rows]


class ParquetRows:
    """Rows of parquet files; parameters are those of `QueryDataset.from_parquet`.

    Attributes
    ----------
    groups : ndarray of shape (n_rows,)
        Query id of each row.
    part_of_row : int64 ndarray of shape (n_rows,)
        Number of the row group of each row, counted over all files.
    real : numpy dtype
        Dtype of features.
    """

    def __init__(
        self,
        paths: Paths,
        relevance: str,
        groups: str,
        features: Sequence[str] | None,
        open_parts: int,
        real: np.dtype,
    ) -> None:
        several = check.several("paths", paths, (str, os.PathLike))
        self.paths = [os.fspath(path) for path in several]
        if not self.paths:
            raise ValueError("paths is empty: give at least one file.")
        self.relevance = relevance
        self.open_parts = check.check_count("open_parts", open_parts, "row groups in memory")
        self.real = real
        if features is None:
            names = self._files[0].schema_arrow.names
            features = [name for name in names if name not in (relevance, groups)]
        self.features = check.several("features", features, (str,))
        self.parts, sizes = [], []
        for number, file in enumerate(self._files):
            self._check_columns(number, groups)
            for part in range(file.num_row_groups):
                self.parts.append((number, part))
                sizes.append(file.metadata.row_group(part).num_rows)
        self.groups = self._all_ids(groups)
        self.first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.part_of_row = np.repeat(np.arange(len(sizes)), sizes)

    def __getstate__(self) -> dict[str, object]:
        reopened = "_files", "_part"  # by worker processes
        return {name: value for name, value in self.__dict__.items() if name not in reopened}

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features as a dense array, and labels, of these rows."""
        X = np.empty((len(rows), len(self.features)), self.real)
        labels = np.empty(len(rows))
        parts = self.part_of_row[rows]
        for part in np.unique(parts):
            chosen = parts == part
            part_X, part_labels = self._part(int(part))
            inside = rows[chosen] - self.first[part]
            X[chosen], labels[chosen] = part_X[inside], part_labels[inside]
        return X, labels

    def _check_columns(self, number: int, groups: str) -> None:
        """Check that a file has each column once, and numbers in labels and features."""
        schema, path = self._files[number].schema_arrow, self.paths[number]
        columns, found = [groups, self.relevance, *self.features], Counter(schema.names)
        if not self.features or max(Counter(columns).values()) > 1:
            raise ValueError(
                f"groups, relevance and features are the columns {columns}: name one column of "
                "query ids, another one of labels, and at least one other column of features."
            )
        for name in columns:
            if found[name] != 1:
                times = f"{found[name]} columns" if found[name] else "no column"
                raise ValueError(f"{path} has {times} {name!r}: its columns are {schema.names}.")
            kind = schema.field(name).type
            if name != groups and not _is_number(kind):
                what = "labels" if name == self.relevance else "features"
                raise ValueError(
                    f"{path}: column {name!r} has type {kind}, and {what} must be numbers: choose "
                    "other columns with relevance= and features=."
                )

    def _all_ids(self, groups: str) -> np.ndarray:
        """Query id of each row, in a type in which different ids stay different."""
        tables = []
        for path, file in zip(self.paths, self._files, strict=True):
            with _reading(path):
                tables.append(file.read(columns=[groups]))
        files = ", ".join(self.paths)
        with _reading(f"column {groups!r} of {files}"):
            column = _arrow().concat_tables(tables, promote_options="permissive").column(groups)
        if len(column) == 0:
            raise ValueError(f"there are no rows in {files}.")
        if column.null_count:  # numpy would give nulls the code of another id
            row = int(np.argmax(column.is_null().to_numpy()))
            raise ValueError(
                f"column {groups!r} of {files} has no query id in row {row}: every row needs one."
            )
        return check.as_ids(f"column {groups!r}", column.to_numpy())

    @cached_property
    def _part(self) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
        """`_read_part`, with the row groups that were used last in memory."""
        return lru_cache(self.open_parts)(self._read_part)

    def _read_part(self, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels of a row group, from its file."""
        number, group = self.parts[part]
        path, names = self.paths[number], [*self.features, self.relevance]
        with _reading(path):
            table = self._files[number].read_row_group(group, columns=names)
        found = []
        for name in names:
            with _reading(f"column {name!r} of {path}"):
                # a safe cast refuses labels that double precision would round
                column = table.column(name).cast("float64", safe=name == self.relevance)
                found.append(column.to_numpy())
        *columns, labels = found
        X, first = np.empty((len(labels), len(columns)), self.real), int(self.first[part])
        for at, values in enumerate(columns):
            with np.errstate(over="ignore"):  # infinite values are refused
                X[:, at] = values
            lost, place = np.isinf(X[:, at]) & np.isfinite(values), f"feature {names[at]!r} of row"
            check_kept(lost, values, X[:, at], lambda row, place=place: f"{place} {first + row}")
        return X, checked_labels(labels, first)

    @cached_property
    def _files(self) -> list[ParquetFile]:
        """The open files."""
        files = []
        for path in self.paths:
            with _reading(path):
                files.append(_arrow().parquet.ParquetFile(path))
        return files


def checked_labels(labels: np.ndarray, first_row: int = 0) -> np.ndarray:
    """Labels of a data set, after a check of each: NaN, or in the range of grades."""
    bad = np.flatnonzero(check.are_no_labels(labels))
    if len(bad):
        raise check.bad_label(float(labels[bad[0]]), first_row + int(bad[0]))
    return labels


def check_kept(
    lost: np.ndarray, values: np.ndarray, narrow: np.ndarray, place: Callable[..., str]
) -> None:
    """Raise if `lost` is True for a value, which another dtype makes `narrow`.

    `place` names the value at an index in the error.
    """
    if lost.any():
        index = tuple(int(number) for number in np.argwhere(lost)[0])
        raise ValueError(
            f"{place(*index)} is {values[index]}, which is {narrow[index]} in the dtype of "
            "batches: choose dtype=torch.float64, or scale or bin the values."
        )


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Name the file or column in errors of pyarrow."""
    try:
        yield
    except FileNotFoundError:  # names the file
        raise
    except (_arrow().lib.ArrowException, OSError) as error:
        raise ValueError(f"{what} cannot be read: {error}") from error


def _is_number(kind: pyarrow.DataType) -> bool:
    """True if a type of columns is numeric, boolean or null."""
    types = _arrow().types
    if types.is_dictionary(kind):
        kind = kind.value_type
    known = types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null
    return any(one(kind) for one in known)


def _arrow() -> ModuleType:
    """The module pyarrow, with pyarrow.parquet."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("QueryDataset.from_parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow
