"""Rows of parquet files: query ids are kept in memory, all else is read part by part."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from skrank import _validation as check


class ParquetRows:
    """Rows of parquet files.

    Parameters
    ----------
    paths : list of str
    relevance, groups : str
        Columns of labels and query ids.
    features : sequence of str, optional
        Columns of features. Default: all others.
    open_parts : int
        Row groups that are kept in memory.

    Attributes
    ----------
    groups : ndarray of shape (n_rows,)
    part_of_row : int64 ndarray of shape (n_rows,)
        Number of the row group of each row, over all files.
    """

    def __init__(
        self,
        paths: list[str],
        relevance: str,
        groups: str,
        features: Sequence[str] | None,
        open_parts: int,
    ) -> None:
        self.paths = paths
        self.relevance = relevance
        self.open_parts = check.check_count("open_parts", open_parts, "row groups in memory")
        self._files: list[Any] | None = None
        self._open: OrderedDict[int, tuple[np.ndarray, np.ndarray]] = OrderedDict()
        names = self._file(0).schema_arrow.names
        if features is None:
            features = [name for name in names if name not in (relevance, groups)]
        self.features = list(features)
        for number, path in enumerate(paths):
            known = self._file(number).schema_arrow.names
            for name in (relevance, groups, *self.features):
                if name not in known:
                    raise ValueError(f"{path}: there is no column {name!r}. It has {known}.")
        self.parts, sizes, ids = [], [], []
        for number in range(len(paths)):
            file = self._file(number)
            for part in range(file.num_row_groups):
                self.parts.append((number, part))
                sizes.append(file.metadata.row_group(part).num_rows)
            ids.append(file.read(columns=[groups]).column(0).to_numpy())
        self.groups = np.concatenate(ids)
        self.first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.part_of_row = np.repeat(np.arange(len(sizes)), sizes)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_files": None, "_open": OrderedDict()}  # workers open their own

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Features as a dense array, and labels, of some rows."""
        X = np.empty((len(rows), len(self.features)), np.float32)
        labels = np.empty(len(rows))
        parts = self.part_of_row[rows]
        for part in np.unique(parts):
            here = parts == part
            some, graded = self._part(int(part))
            inside = rows[here] - self.first[part]
            X[here], labels[here] = some[inside], graded[inside]
        return X, labels

    def _part(self, part: int) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels of a row group."""
        if part not in self._open:
            while len(self._open) >= self.open_parts:
                self._open.popitem(last=False)
            number, group = self.parts[part]
            table = self._file(number).read_row_group(
                group, columns=[*self.features, self.relevance]
            )
            columns = [table.column(name).to_numpy().astype(np.float32) for name in self.features]
            labels = table.column(self.relevance).to_numpy().astype(np.float64)
            self._open[part] = np.stack(columns, axis=1), labels
        self._open.move_to_end(part)
        return self._open[part]

    def _file(self, number: int) -> Any:
        if self._files is None:
            self._files = [_parquet().ParquetFile(path) for path in self.paths]
        return self._files[number]


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("parquet files are read by pyarrow: pip install pyarrow") from None
    return pyarrow.parquet
