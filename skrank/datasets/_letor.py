"""load_letor: read LETOR collections."""

from __future__ import annotations

import gzip
import io
import lzma
import math
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, overload

import numpy as np
from numpy.typing import DTypeLike
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

_ENDS = (".txt", ".txt.gz", ".txt.xz")
_FORM = "a line must be <label> qid:<query> <feature>:<value> ..., with features numbered from 1"
_PARTS = (("train",), ("vali", "valid"), ("test",))


class Fold(NamedTuple):
    """The three parts of one fold of a LETOR collection; unpacks as ``train, valid, test``.

    Each part is a Bunch with the attributes `X` (n_rows, n_features), `relevance` (n_rows,) and
    `qid` (n_rows,).
    """

    train: Bunch
    valid: Bunch
    test: Bunch


_Parts = tuple[tuple[Path, ...], ...]  # files for training, validation and test


@dataclass(frozen=True, eq=False, repr=False)
class LETOR:
    """A LETOR collection: its files in memory, and its folds.

    Attributes
    ----------
    files : dict of Path to Bunch
        `X`, `relevance` and `qid` of each file.
    splits : dict of int to (tuple of Path, tuple of Path, tuple of Path)
        For each fold, the files whose rows are its training, validation and test part.

    See Also
    --------
    load_letor : Read a collection from its folder; with an example.
    """

    files: dict[Path, Bunch]
    splits: dict[int, _Parts]

    def __repr__(self) -> str:
        return f"LETOR({len(self.files)} files, folds {', '.join(map(str, self.splits))})"

    def fold(self, number: int) -> Fold:
        """Return one fold.

        Parameters
        ----------
        number : int
            Number of the fold, from 1 as in the names of the files.

        Returns
        -------
        fold : Fold
            Training, validation and test part.

        Raises
        ------
        ValueError
            If the collection has no such fold.
        """
        parts = _fold_of(self.splits, number)
        return Fold(*(_stack([self.files[path] for path in part]) for part in parts))

    @property
    def folds(self) -> Iterator[Fold]:
        """An iterator over the folds; it concatenates the files of one fold at a time."""
        return map(self.fold, self.splits)


@overload
def load_letor(
    folder: str | PathLike[str], *, fold: None = None, dtype: DTypeLike = ...
) -> LETOR | Any: ...


@overload
def load_letor(folder: str | PathLike[str], *, fold: int, dtype: DTypeLike = ...) -> Fold: ...


def load_letor(
    folder: str | PathLike[str], *, fold: int | None = None, dtype: DTypeLike = np.float64
) -> LETOR | Fold | Any:
    r"""Read a LETOR collection, such as OHSUMED, MQ2008 or MSLR-WEB10K, or one of its files.

    Three layouts are supported, each with files that end in ``.txt``, ``.txt.gz`` or ``.txt.xz``:

    * ``S1`` to ``S5``: fold N trains on S_N, S_N+1 and S_N+2, validates on S_N+3 and tests on
      S_N+4, where S1 follows S5;
    * folders ``Fold1`` to ``Fold5``, or some of them, each with ``train``, ``vali`` (or ``valid``)
      and ``test``;
    * the files ``train``, ``vali`` (or ``valid``) and ``test``, which are fold 1.

    In a folder with several layouts, the files of the first are read.

    Parameters
    ----------
    folder : str or path
        Folder of the collection, or a single file.
    fold : int, optional
        Read and return only this fold. Folds are numbered from 1.
    dtype : dtype, default=float64
        Data type of the features. Float32 halves the memory.

    Returns
    -------
    collection : LETOR, Fold or Bunch
        The whole collection, whose `folds` are `Fold` tuples ``train, valid, test``; or the Fold
        with the number `fold`. Each part, and a single file, is a Bunch with the attributes

        X : ndarray of shape (n_rows, n_features), dense
            Features; the same number of columns in every part.
        relevance : ndarray of shape (n_rows,), float64
            Labels. The label -1 in a file (not judged) is read as NaN.
        qid : ndarray of shape (n_rows,), int64, or str where an id is not an integer
            Query of each row.

    Raises
    ------
    FileNotFoundError
        If the folder, a part of a fold, or all layouts are missing.
    ValueError
        If there is no such fold, or a file is empty, damaged or malformed (the message has the
        number of the line); or if the same query is in two of the S files.

    Notes
    -----
    A line is ``<label> qid:<query> <feature>:<value> ... # comment``, with features numbered from 1
    in increasing order, as in T. Qin, T.-Y. Liu, J. Xu and H. Li, "LETOR: A benchmark collection
    for research on learning to rank for information retrieval", Information Retrieval 13, 2010.
    A # inside the id of a query belongs to the id. The row order of some of these files correlates
    with relevance: break ties at random.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skrank.datasets import load_letor
    >>> with TemporaryDirectory() as folder:
    ...     for n in range(1, 6):
    ...         lines = f"2 qid:{n} 1:0.5 2:1 # docid = a\n0 qid:{n} 1:0.1\n"
    ...         _ = Path(folder, f"S{n}.txt").write_text(lines)
    ...     collection = load_letor(folder)
    >>> for train, valid, test in collection.folds:
    ...     print(train.X.shape, set(valid.qid.tolist()), set(test.qid.tolist()))
    (6, 2) {4} {5}
    (6, 2) {5} {1}
    (6, 2) {1} {2}
    (6, 2) {2} {3}
    (6, 2) {3} {4}
    """
    folder = Path(folder)
    if folder.is_file():
        if fold is not None:
            raise ValueError(f"fold={fold!r}: {folder} is one file. Give the folder of the folds.")
        return _read_files([folder], _number_type(dtype))[folder]
    splits = _find_splits(folder)
    if fold is not None:
        splits = {fold: _fold_of(splits, fold)}
    paths = dict.fromkeys(path for parts in splits.values() for part in parts for path in part)
    collection = LETOR(_read_files(paths, _number_type(dtype)), splits)
    if any(len(part) > 1 for parts in splits.values() for part in parts):
        _check_disjoint(collection.files)
    return collection if fold is None else collection.fold(fold)


def _fold_of(splits: dict[int, _Parts], number: object) -> _Parts:
    """Files for training, validation and test of a fold."""
    if not isinstance(number, (int, np.integer)) or number not in splits:
        folds = ", ".join(map(str, splits))
        raise ValueError(f"fold={number!r} does not exist: the folds are {folds}.")
    return splits[int(number)]


def _find(folder: Path, *stems: str) -> Path:
    names = [stem + suffix for stem in stems for suffix in _ENDS]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(f"{folder} has none of {', '.join(names)}: add the missing file")


def _find_splits(folder: Path) -> dict[int, _Parts]:
    """For each fold, the files of its training, validation and test part."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder: give the folder of the collection")
    names = sorted(path.name for path in folder.iterdir())
    has_sets = any(re.fullmatch(r"S[1-5]\.txt(\.gz|\.xz)?", name) for name in names)
    numbers_of_folds = sorted(int(name[4:]) for name in names if re.fullmatch(r"Fold\d+", name))
    if has_sets:
        sets = [_find(folder, f"S{n}") for n in range(1, 6)]
        rotated = {n: sets[n - 1 :] + sets[: n - 1] for n in range(1, 6)}
        return {n: (tuple(s[:3]), (s[3],), (s[4],)) for n, s in rotated.items()}
    if numbers_of_folds:
        return {
            n: tuple((_find(folder / f"Fold{n}", *stems),) for stems in _PARTS)
            for n in numbers_of_folds
        }
    if any(re.fullmatch(r"(train|vali|valid|test)\.txt(\.gz|\.xz)?", name) for name in names):
        return {1: tuple((_find(folder, *stems),) for stems in _PARTS)}
    raise FileNotFoundError(
        f"{folder} is not a LETOR collection: it should hold the files S1 to S5 "
        f"({', '.join(_ENDS)}), folders Fold1 to Fold5 with train, vali and test in each, or "
        f"these three files; it holds {', '.join(names[:10]) or 'nothing'}"
        f"{', ...' if len(names) > 10 else ''}"
    )


class _Lines(io.RawIOBase):
    """The lines of an open file without their query ids, which are stored in `qid`.

    scikit-learn's reader would append each query id to an array, in time quadratic in the number of
    rows. It accepts only integer ids, and does not report the line of an error: see `number`.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.number = 0
        self.qid: list[str] = []

    def __iter__(self) -> Iterator[bytes]:
        for line in self.stream:
            self.number += 1
            fields = line.split(None, 2)
            if not fields or fields[0].startswith(b"#"):
                continue
            features, _, _ = fields[2].partition(b"#") if len(fields) > 2 else (b"", b"", b"")
            if b"_" in fields[0] + features:  # Python reads 1_0 as 10
                raise ValueError("there is an underscore in a number")
            if not (0 <= float(fields[0]) < math.inf or float(fields[0]) == -1):
                raise ValueError(
                    f"the label {fields[0].decode()} is neither at least 0 nor -1 (not judged)"
                )
            if len(fields) < 2 or not re.fullmatch(rb"qid:.+", fields[1]):
                raise ValueError("there is no qid:<query> right after the label")
            self.qid.append(fields[1][4:].decode())
            yield fields[0] + b" " + features


def _read_file(path: Path, dtype: np.dtype) -> tuple[Any, np.ndarray, list[str]]:
    """Sparse features, labels and query ids of a file."""
    packed: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
    opener = packed.get(path.suffix, open)
    with opener(path, "rb") as stream:
        lines = _Lines(stream)
        try:
            X, labels = load_svmlight_file(lines, dtype=dtype, zero_based=False)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise ValueError(f"{path} is damaged after line {lines.number}: {error}") from error
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path}, line {lines.number}: {error}; {_FORM}") from error
    if not lines.qid:
        raise ValueError(f"{path} has no rows: replace it by the complete file")
    return X, np.where(labels == -1, np.nan, labels), lines.qid


def _number_type(dtype: DTypeLike) -> np.dtype:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy deprecates some codes, which raise below
            found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind not in "iuf":
        raise ValueError(f"dtype={dtype!r}: give a type of numbers, such as numpy.float32")
    return found


def _read_files(paths: Iterable[Path], dtype: np.dtype) -> dict[Path, Bunch]:
    """Contents of each file, all with the same number of features."""
    rows = [_read_file(path, dtype) for path in paths]
    n_features = max(X.shape[1] for X, _, _ in rows)
    ends = np.cumsum([len(qid) for _, _, qid in rows])[:-1]
    # All ids at once, so that ids of all files have the same type.
    qids = np.split(_as_ids([query for _, _, qid in rows for query in qid]), ends)
    files = {}
    for path, (X, relevance, _), qid in zip(paths, rows, qids, strict=True):
        X.resize((X.shape[0], n_features))
        files[path] = Bunch(X=X.toarray(), relevance=relevance, qid=qid)
    return files


def _as_ids(qid: list[str]) -> np.ndarray:
    """Ids as integers, or as strings if a conversion would change an id, such as "03"."""
    ids = np.array(qid)
    try:
        numbers = ids.astype(np.int64)
    except (ValueError, OverflowError):
        return ids
    return numbers if np.array_equal(numbers.astype(ids.dtype), ids) else ids


def _check_disjoint(files: dict[Path, Bunch]) -> None:
    """Raise if a query is in two files, whose rows would be merged in a fold."""
    owners: dict[object, Path] = {}
    for path, part in files.items():
        for query in np.unique(part.qid).tolist():
            if owners.setdefault(query, path) is not path:
                raise ValueError(
                    f"query {query} is in both {owners[query]} and {path}: give each file its own "
                    "query ids"
                )


def _stack(parts: list[Bunch]) -> Bunch:
    """Concatenate the rows of the parts; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    return Bunch(
        **{key: np.concatenate([part[key] for part in parts]) for key in ("X", "relevance", "qid")}
    )
