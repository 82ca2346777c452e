"""Arrays in files: replaced as a whole or not at all, and checked when they are read.

A file is a numpy archive (``.npz``) of plain arrays, nothing pickled, with a digest of all that is
in it: what a disk or a transfer has damaged is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import platform
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np

_DIGEST = "sha256"
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
            np.savez_compressed(stream, **arrays, **{_DIGEST: np.array(_digest(arrays))})  # type: ignore[arg-type]
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


def read(path: str | PathLike[str], what: str, make: Callable[[dict[str, np.ndarray]], _T]) -> _T:
    """What `make` makes of the arrays of a file.

    Raises
    ------
    OSError
        If there is no such file, or it may not be read.
    ValueError
        For whatever else is wrong with it. The message names the file.
    """
    content = Path(path).read_bytes()
    try:
        return make(_checked(content))
    except Exception as error:  # damaged archives raise all kinds of errors
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"{os.fspath(path)} holds no {what} that can be read: {reason}") from error


def _checked(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    digest = arrays.pop(_DIGEST, None)
    if digest is None:
        raise ValueError("it has no checksum, so skrank did not write it.")
    if str(digest) != _digest(arrays):
        raise ValueError("its checksum does not fit its content, which was damaged or changed.")
    return arrays


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()
