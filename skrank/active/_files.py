"""Arrays in files: written atomically, and checked when they are read.

A file is a numpy archive (``.npz``) of plain arrays, without pickles, and a SHA-256 digest of all
arrays, so that damage by a disk or a transfer is detected.
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

_DIGEST = "sha256"
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_UNPACKED = 1032  # largest ratio of unpacked to packed bytes that DEFLATE reaches
# Bound of the distinct values in n packed bytes: 4 n + 1000. DEFLATE packs .7 values per byte of
# 0, 1, 2, ..., and fewer of other arrays.
_MOST_PER_BYTE, _FEW = 4, 1000


def write(path: str | PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file, which replaces an older file atomically.

    The new file has the permissions of the older file. If writing fails, the older file is
    unchanged. A symbolic link is followed.
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
    """Hold an exclusive lock on a file while it is read, changed and replaced."""
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
        # The file was replaced while this process waited, and the lock is on the old file.


def _own(name: str) -> str:
    """Prefix of the names of unfinished files that processes of this computer write."""
    return f"{name}.{platform.node()}-"


def _sweep(target: Path) -> None:
    """Remove unfinished files of processes of this computer that no longer run."""
    if os.name != "posix":  # on Windows, os.kill would end the process
        return
    unfinished = re.compile(re.escape(_own(target.name)) + r"(\d+)-[0-9a-f]{8}\.part")
    for file in target.parent.iterdir():
        found = unfinished.fullmatch(file.name)
        if found and not _lives(int(found[1])):
            with contextlib.suppress(OSError):  # another process may have removed the file
                file.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)  # signal 0 only checks that the process exists
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        pass
    return True


@contextlib.contextmanager
def opened(path: str | PathLike[str]) -> Iterator[Archive]:
    """Open a file of arrays; all errors inside the block become errors that name the file.

    Raises
    ------
    OSError
        If the file does not exist, or may not be read.
    ValueError
        If the content is not valid.
    """
    with open(path, "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ValueError(f"{os.fspath(path)} is not a campaign: it is not a regular file.")
        try:
            with zipfile.ZipFile(stream) as archive:
                yield Archive(archive)
        except Exception as error:  # damaged archives raise errors of many classes
            known = isinstance(error, ValueError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            raise ValueError(f"{os.fspath(path)} cannot be read as a campaign: {reason}") from error


@dataclass(frozen=True)
class Header:
    """Type and shape of an array in a file, and its number of compressed bytes."""

    dtype: np.dtype
    shape: tuple[int, ...]
    packed: int

    @property
    def may_be_distinct(self) -> bool:
        """True if the compressed bytes can hold this many distinct values."""
        return math.prod(self.shape) <= _MOST_PER_BYTE * self.packed + _FEW


class Archive:
    """The arrays in an open file.

    A small file may expand to huge arrays. Only `headers` are read at first, so that callers can
    check them before they read any array.
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.headers: dict[str, Header] = {}
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            header = self._header(name, member)
            if name in self.headers:
                raise ValueError(f"it holds {name} twice.")
            self.headers[name] = header
        digest = self.headers.pop(_DIGEST, None)
        if digest is None or digest.dtype != "U64" or digest.shape != ():
            raise ValueError("it has no checksum, so skrank did not write it.")

    def _header(self, name: str, member: zipfile.ZipInfo) -> Header:
        """The header of an array; raises an error for headers that `write` does not write."""
        if name == member.filename or member.compress_type not in _PACKINGS:
            raise ValueError(f"it holds {member.filename!r}, which skrank does not write.")
        with self._archive.open(member) as stream:
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError(f"its {name} are in another version of numpy's format.")
            try:
                shape, by_columns, dtype = np.lib.format.read_array_header_1_0(stream)
            except ValueError:
                raise ValueError(f"its {name} have a header that numpy does not read.") from None
            size = member.file_size - stream.tell()
        if dtype.hasobject:
            raise ValueError(f"its {name} are pickled objects, which are not read.")
        plain = dtype.kind in "biufUS" and min(shape, default=0) >= 0 and not by_columns
        possible = member.file_size <= _MOST_UNPACKED * member.compress_size
        if not (plain and possible and size == math.prod(shape) * dtype.itemsize):
            raise ValueError(f"its {name} are of type {dtype} and shape {shape} in {size} bytes.")
        return Header(dtype, shape, member.compress_size)

    def array(self, name: str) -> np.ndarray:
        """Read one array."""
        with self._archive.open(f"{name}.npy") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def arrays(self) -> dict[str, np.ndarray]:
        """Read all arrays; raises an error if they do not match the digest."""
        arrays = {name: self.array(name) for name in self.headers}
        if str(self.array(_DIGEST)) != _digest(arrays):
            raise ValueError(
                "its checksum does not match its content, which was damaged or changed."
            )
        return arrays


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()
