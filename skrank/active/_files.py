"""Arrays in files: replaced as a whole or not at all, and checked when they are read.

A file is a numpy archive (``.npz``) of plain arrays, nothing pickled, with a digest of all that is
in it: what a disk or a transfer has damaged is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import platform
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np

_DIGEST = "sha256"
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_UNPACKED = 1032  # bytes from one byte of DEFLATE
# Distinct values from one byte of a compressed file: of 0, 1, 2, ... there are .7, of others fewer.
_MOST_PER_BYTE, _FEW = 4, 1000
_T = TypeVar("_T")


def write(path: str | PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file that replaces an older one in one step.

    Whatever stops the writing leaves the old file whole. A symbolic link stays one, and an older
    file's permissions are those of the new one.
    """
    target = Path(os.path.realpath(path))
    _sweep(target)
    beside = target.with_name(f"{_own(target.name)}{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        with open(descriptor, "wb") as stream:
            plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
            np.savez_compressed(stream, **plain, **{_DIGEST: np.array(_digest(arrays))})  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: str | PathLike[str]) -> Iterator[None]:
    """Keep other processes of this kind off a file while it is read, changed and replaced."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    while True:
        with open(path, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(stream.fileno()), os.stat(path)):
                yield
                return
        # It was replaced while we waited, and the lock is on the old one.


def _own(name: str) -> str:
    """What the names of unfinished files of this computer begin with."""
    return f"{name}.{platform.node()}-"


def _sweep(target: Path) -> None:
    """Remove what processes of this computer that were killed while they wrote have left."""
    if os.name != "posix":  # elsewhere a process cannot be asked whether it lives
        return
    unfinished = re.compile(re.escape(_own(target.name)) + r"(\d+)-[0-9a-f]{8}\.part")
    for file in target.parent.iterdir():
        found = unfinished.fullmatch(file.name)
        if found and not _lives(int(found[1])):
            with contextlib.suppress(OSError):  # another process may sweep, too
                file.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


@dataclass(frozen=True, eq=False)
class Entry:
    """An array in a file, of which only the header was read.

    Attributes
    ----------
    name : str
    dtype : numpy.dtype
    shape : tuple of int
    packed : int
        Bytes that it takes in the file.
    read : function
        Reads the array.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    packed: int
    read: Callable[[], np.ndarray]

    @property
    def may_be_distinct(self) -> bool:
        """Whether its bytes in the file can hold so many values of which no two are equal."""
        return math.prod(self.shape) <= _MOST_PER_BYTE * self.packed + _FEW


def read(
    path: str | PathLike[str],
    what: str,
    fits: Callable[[Mapping[str, Entry]], None],
    make: Callable[[dict[str, np.ndarray]], _T],
) -> _T:
    """What `make` makes of the arrays of a file.

    A small file may stand for large arrays: before they are read, `fits` refuses headers that do
    not belong together.

    Raises
    ------
    OSError
        If there is no such file, or it may not be read.
    ValueError
        For whatever else is wrong with it. The message names the file.
    """
    with open(path, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError(f"{os.fspath(path)} holds no {what}: it is not a regular file.")
        try:
            with zipfile.ZipFile(stream) as archive:
                entries = _entries(archive)
                fits({name: entry for name, entry in entries.items() if name != _DIGEST})
                arrays = {name: entry.read() for name, entry in entries.items()}
            if str(arrays.pop(_DIGEST)) != _digest(arrays):
                raise ValueError(
                    "its checksum does not fit its content, which was damaged or changed."
                )
            return make(arrays)
        except Exception as error:  # damaged archives raise all kinds of errors
            known = isinstance(error, ValueError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{os.fspath(path)} holds no {what} that can be read: {reason}"
            ) from error


def _entries(archive: zipfile.ZipFile) -> dict[str, Entry]:
    """The headers of the arrays of an archive."""
    entries: dict[str, Entry] = {}
    for place in archive.infolist():
        entry = _entry(archive, place)
        if entry.name in entries:
            raise ValueError(f"it holds {entry.name} twice.")
        entries[entry.name] = entry
    digest = entries.get(_DIGEST)
    if digest is None or digest.dtype != "U64" or digest.shape != ():
        raise ValueError("it has no checksum, so skrank did not write it.")
    return entries


def _entry(archive: zipfile.ZipFile, place: zipfile.ZipInfo) -> Entry:
    """The header of an array, which is as plain as those that `write` writes."""
    name = place.filename.removesuffix(".npy")
    if name == place.filename or place.compress_type not in _PACKINGS:
        raise ValueError(f"it holds {place.filename!r}, which skrank does not write.")
    with archive.open(place) as stream:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError(f"its {name} are in another version of numpy's format.")
        try:
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError:
            raise ValueError(f"its {name} have a header that numpy does not read.") from None
        size = place.file_size - stream.tell()
    if dtype.hasobject:
        raise ValueError(f"its {name} are pickled objects, which are not read.")
    plain = dtype.kind in "biufUS" and min(shape, default=0) >= 0 and not by_columns
    possible = place.file_size <= _MOST_UNPACKED * place.compress_size
    if not (plain and possible and size == math.prod(shape) * dtype.itemsize):
        raise ValueError(f"its {name} are of type {dtype} and shape {shape} in {size} bytes.")
    return Entry(name, dtype, shape, place.compress_size, partial(_read_array, archive, place))


def _read_array(archive: zipfile.ZipFile, place: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(place) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()
