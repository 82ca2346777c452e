"""load_letor: read the folds of LETOR collections."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

_PARTS = (("train",), ("vali", "valid"), ("test",))
_FORMAT = "a line must be <label> qid:<query> <feature>:<value> ..., with features numbered from 1"


class Fold(NamedTuple):
    """The three parts of one fold of a LETOR collection; unpacks as ``train, valid, test``.

    Each part is a Bunch with the attributes `X` (n_rows, n_features), `relevance` (n_rows,) and
    `qid` (n_rows,).
    """

    train: Bunch
    valid: Bunch
    test: Bunch


def load_letor(
    folder: str | PathLike[str], *, fold: int | None = None, dtype: DTypeLike = np.float64
) -> dict[int, Fold] | Fold:
    r"""Read the folds of a LETOR collection, such as OHSUMED, MQ2008 or MSLR-WEB10K.

    Three layouts are supported, each with files that end in ``.txt`` or ``.txt.gz``:

    * ``S1`` to ``S5``: fold N trains on S_N, S_N+1 and S_N+2, validates on S_N+3 and tests on
      S_N+4, where S1 follows S5;
    * folders ``Fold1`` to ``Fold5``, or some of them, each with ``train``, ``vali`` (or ``valid``)
      and ``test``;
    * the files ``train``, ``vali`` (or ``valid``) and ``test``, which are fold 1.

    In a folder with several layouts, only the first layout of this list is read.

    Parameters
    ----------
    folder : str or path
        Folder of the collection. `sklearn.datasets.load_svmlight_file` reads single files.
    fold : int, optional
        Read and return only this fold. Folds are numbered from 1.
    dtype : dtype, default=float64
        Data type of the features. Float32 halves the memory.

    Returns
    -------
    collection : dict of int to Fold, or Fold
        Tuples ``train, valid, test`` by the numbers of the folds; or the one with the number
        `fold`. Each part is a Bunch with the attributes

        X : ndarray of shape (n_rows, n_features), dense
            Features; the same number of columns in every part.
        relevance : ndarray of shape (n_rows,), float64
            Labels. The label -1 in a file (not judged) is read as NaN.
        qid : ndarray of shape (n_rows,), int64
            Query of each row.

    Raises
    ------
    FileNotFoundError
        If the folder, a part of a fold, or all layouts are missing.
    ValueError
        If there is no such fold; if a file is empty, damaged or malformed; or if a query is in two
        of the three training files of a fold.

    Notes
    -----
    A line is ``<label> qid:<query> <feature>:<value> ... # comment``, with features numbered from 1
    in increasing order, as in T. Qin, T.-Y. Liu, J. Xu and H. Li, "LETOR: A benchmark collection
    for research on learning to rank for information retrieval", Information Retrieval 13, 2010.
    The row order of some of these files correlates
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
    >>> for train, valid, test in collection.values():
    ...     print(train.X.shape, set(valid.qid.tolist()), set(test.qid.tolist()))
    (6, 2) {4} {5}
    (6, 2) {5} {1}
    (6, 2) {1} {2}
    (6, 2) {2} {3}
    (6, 2) {3} {4}
    """
    splits = _splits(Path(folder))
    if fold is not None:
        if fold not in list(splits):  # a list, since `fold` may be unhashable
            raise ValueError(f"fold={fold!r} does not exist: the folds are {[*splits]}.")
        splits = {fold: splits[fold]}
    paths = dict.fromkeys(path for parts in splits.values() for part in parts for path in part)
    files = {path: _read(path, dtype) for path in paths}
    width = max(X.shape[1] for X, _, _ in files.values())
    folds = {
        number: Fold(*(_stacked([files[path] for path in part], width) for part in parts))
        for number, parts in splits.items()
    }
    return folds if fold is None else folds[fold]


def _splits(folder: Path) -> dict[int, list[list[Path]]]:
    """For each fold, the files of its training, validation and test part."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder: give the folder of the collection")
    names = sorted(path.name for path in folder.iterdir())
    if any(name.startswith("S1.txt") for name in names):
        sets = [_find(folder, f"S{n}") for n in range(1, 6)]
        rotated = {n: sets[n - 1 :] + sets[: n - 1] for n in range(1, 6)}
        return {n: [files[:3], files[3:4], files[4:]] for n, files in rotated.items()}
    folds = sorted(name for name in names if name[:4] == "Fold" and name[4:].isdecimal())
    folders = {int(name[4:]): folder / name for name in folds}
    if not folders and any(name.startswith("train.txt") for name in names):
        folders = {1: folder}
    if not folders:
        raise FileNotFoundError(
            f"{folder} is not a LETOR collection: it should hold the files S1 to S5, folders Fold1 "
            f"to Fold5 with train, vali and test in each, or these three files, but holds {names}"
        )
    return {n: [[_find(path, *stems)] for stems in _PARTS] for n, path in folders.items()}


def _find(folder: Path, *stems: str) -> Path:
    names = [stem + ending for stem in stems for ending in (".txt", ".txt.gz")]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{folder} has none of {', '.join(names)}: add the missing file")
    return path


def _read(path: Path, dtype: DTypeLike) -> tuple[Any, np.ndarray, np.ndarray]:
    """Sparse features, labels and query ids of a file."""
    try:
        X, y, qid = load_svmlight_file(path, dtype=dtype, zero_based=False, query_id=True)
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path}: {error}; {_FORMAT}") from error
    if len(qid) != len(y) or not len(y):
        raise ValueError(f"{path} has {len(qid)} query ids for {len(y)} rows; {_FORMAT}")
    return X, np.where(y == -1, np.nan, y), qid


def _stacked(files: Sequence[tuple[Any, np.ndarray, np.ndarray]], width: int) -> Bunch:
    """The rows of files as one part, with `width` features."""
    for X, _, _ in files:
        X.resize((X.shape[0], width))
    tables, labels, queries = zip(*files, strict=True)
    ids = np.concatenate([np.unique(qid) for qid in queries])
    if len(np.unique(ids)) < len(ids):
        raise ValueError("a query is in two training files: give each file its own query ids")
    return Bunch(
        X=sparse.vstack(tables, "csr").toarray(),
        relevance=np.concatenate(labels),
        qid=np.concatenate(queries),
    )
