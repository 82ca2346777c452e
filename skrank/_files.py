"""write_atomically: files that are replaced as a whole, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from os import PathLike

_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}  # opened by name, they would start at byte 0


def write_atomically(path: str | PathLike[str], data: bytes) -> None:
    """Write a file beside `path` and rename it, so that an error leaves the older file as it was.

    The new file has the permissions of the older one. Links are followed. Pipes and devices, such
    as /dev/stdout, are written to.

    Raises
    ------
    OSError
        If the file cannot be written; the error names `path`.
    """
    given = os.fspath(path)
    unfinished = None
    try:
        exists = _exists(given)
        # /dev/stdout may be a regular file, to which other programs write, too
        if os.path.abspath(given).startswith(("/dev/", "/proc/")) or (
            exists and not os.path.isfile(given)
        ):
            stream = _STREAMS.get(given, given)
            with open(stream, "ab", closefd=isinstance(stream, str)) as device:
                device.write(data)
            return
        target = os.path.realpath(given)
        if exists:
            open(target, "r+b").close()  # raises if the file is read-only
        # a short name, since that of the target may have the greatest length already
        unfinished = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.part")
        with open(unfinished, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # raises if the disk is full
        if exists:
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, given) from error
    finally:
        if unfinished is not None:
            with suppress(FileNotFoundError):  # renamed, or never created
                os.unlink(unfinished)


def _exists(path: str) -> bool:
    """True if there is a file; raises OSError for links in a circle and names that are too long."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True
