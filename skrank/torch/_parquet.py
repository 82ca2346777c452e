"""Rows of parquet files: query ids stay in memory, row groups are read on demand."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from skrank import _validation as check
from skrank.torch._checks import check_data_labels, check_narrowed

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile


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
        paths: str | PathLike[str] | Sequence[str | PathLike[str]],
        relevance: str,
        groups: str,
        features: Sequence[str] | None,
        open_parts: int,
        real: np.dtype,
    ) -> None:
        self.paths = _several_paths(paths)
        self.relevance = relevance
        self.open_parts = check.check_count("open_parts", open_parts, "row groups in memory")
        self.real = real
        self.features = self._feature_names(relevance, groups, features)
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

    # columns --------------------------------------------------------------------------------------

    def _feature_names(
        self, relevance: str, groups: str, features: Sequence[str] | None
    ) -> list[str]:
        """Names of the columns of features."""
        _check_names("relevance", [relevance])
        _check_names("groups", [groups])
        if relevance == groups:
            raise ValueError(
                f"relevance and groups are both {groups!r}: name two different columns."
            )
        if features is None:
            names = self._files[0].schema_arrow.names
            features = [name for name in names if name not in (relevance, groups)]
        return _check_names("features", check.several("features", features, (str,)))

    def _check_columns(self, number: int, groups: str) -> None:
        """Check that a file has each column once, and numbers in labels and features."""
        schema, path = self._files[number].schema_arrow, self.paths[number]
        found = Counter(schema.names)
        for name in (groups, self.relevance, *self.features):
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
        """Query id of each row, in a dtype in which different ids stay different."""
        found: list[tuple[str, np.ndarray]] = []
        for number, path in enumerate(self.paths):
            with _reading(path):
                column = self._files[number].read(columns=[groups]).column(groups)
            if column.null_count:
                row = int(np.argmax(column.is_null().to_numpy()))
                raise ValueError(
                    f"{path}: column {groups!r} has no query id in row {row}: every row needs one."
                )
            if len(column):
                found.append((path, column.to_numpy()))
        if not found:
            raise ValueError(f"there are no rows in {', '.join(self.paths)}.")
        (first, ids), *others = found
        for path, more in others:
            if more.dtype.kind != ids.dtype.kind:  # a common dtype may merge ids
                raise ValueError(
                    f"column {groups!r} has type {ids.dtype} in {first} and {more.dtype} in "
                    f"{path}: write query ids as one type."
                )
        return check.as_ids(f"column {groups!r}", np.concatenate([ids for _, ids in found]))

    # parts ----------------------------------------------------------------------------------------

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
        X = np.empty((len(labels), len(columns)), self.real)
        rows = self.first[part] + np.arange(len(labels))
        for at, values in enumerate(columns):
            with np.errstate(over="ignore"):  # check_narrowed refuses infinite values
                X[:, at] = values
            check_narrowed(X[:, at, None], values[:, None], self.features[at:], rows, self.real)
        return X, check_data_labels(labels, int(self.first[part]))

    @cached_property
    def _files(self) -> list[ParquetFile]:
        """The open files."""
        files = []
        for path in self.paths:
            with _reading(path):
                files.append(_arrow().parquet.ParquetFile(path))
        return files


def _several_paths(paths: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    """The paths of one or several files."""
    several = [paths] if isinstance(paths, (str, PathLike)) else paths
    try:
        found = [os.fsdecode(path) for path in several]
    except TypeError:
        raise ValueError(
            f"paths={paths!r} must be the path of a file, or a sequence of paths."
        ) from None
    if not found:
        raise ValueError("paths is empty: give at least one file.")
    return found


def _check_names(parameter: str, names: list[str]) -> list[str]:
    """Names of columns, after a check that there is at least one."""
    if not names or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{parameter}={names!r} must name columns of the files.")
    return names


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Name the file or column in errors of pyarrow."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"file {what!r} does not exist.") from None
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
