"""Whole files: read, perhaps decompressed, and written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from contextlib import suppress
from importlib import import_module
from os import PathLike
from typing import IO, TypeAlias, TypeGuard

Source: TypeAlias = str | PathLike[str] | IO[bytes] | IO[str]

# modules with a function `decompress`, by the first bytes of the content; "" for `_zstandard`; of
# bzip2 also the first block or the end, as "BZh9" may begin an id
_MODULES = {rb"\x1f\x8b": "gzip", rb"\xfd7zXZ\x00": "lzma", rb"\x28\xb5\x2f\xfd": "",
            rb"BZh[1-9](1AY&S|\x17rE8P)": "bz2"}  # fmt: skip
_STREAMS = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}


def write_atomically(path: str | PathLike[str], data: bytes) -> None:
    """Write a file beside `path` and rename it, so that an error leaves the older file as it was.

    The new file has the permissions of the older one. Links are followed. Pipes and devices, such
    as /dev/stdout, are written to.

    Raises
    ------
    OSError
        If the file cannot be written; the error names `path`.
    """
    name = os.fspath(path)
    unfinished, exists = None, False
    try:
        with suppress(FileNotFoundError):
            os.stat(name)  # other errors are of links in a circle, and of names that are too long
            exists = True
        # A stream may be a regular file, to which other programs write, too. Opened by its name, it
        # would have a position of its own, and their next output would overwrite the data. No file
        # can be created in /proc.
        stream = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", _STREAMS.get(name, name))
        if stream or name.startswith("/proc/") or (exists and not os.path.isfile(name)):
            with open(int(stream[1]) if stream else name, "ab", closefd=not stream) as device:
                device.write(data)
            return
        target = os.path.realpath(name)
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
        raise OSError(error.errno, error.strerror, name) from error
    finally:
        if unfinished is not None:
            with suppress(FileNotFoundError):  # renamed, or never created
                os.unlink(unfinished)


def is_file(source: object) -> TypeGuard[Source]:
    """Whether this is a path or a file object."""
    return isinstance(source, (str, PathLike)) or hasattr(source, "read")


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


def content_of(source: Source) -> bytes:
    """The bytes of a path or a file object, decompressed if they are packed.

    Raises
    ------
    ValueError
        With the name, if this is a folder or damaged.
    """
    if isinstance(source, (str, PathLike)):
        if os.path.isdir(source or "."):  # "" is the working folder, as Path("") is
            raise ValueError(f"{name_of(source)!r} is a folder: name a file.")
        with open(source, "rb") as file:
            data = file.read()
    else:
        content = source.read()
        data = content if isinstance(content, bytes) else content.encode(errors="surrogateescape")
    for magic, module in _MODULES.items():
        if re.match(magic, data):
            try:
                return import_module(module).decompress(data) if module else _zstandard(data)
            except Exception as error:  # each library has its own class
                raise ValueError(f"{name_of(source)} cannot be decompressed: {error}") from None
    return data


def _zstandard(data: bytes) -> bytes:
    import zstandard

    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(data))
        if not frame.eof:
            raise ValueError("the last frame is cut")
        data = frame.unused_data
    return b"".join(parts)


def as_text(data: bytes, name: str) -> bytes:
    """A text in UTF-8 without byte order mark, whose lines end with newlines.

    Raises
    ------
    ValueError
        With the line of the first byte that is not text.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    bad = data.find(b"\0")
    try:
        data.isascii() or data.decode()
    except UnicodeDecodeError as error:
        bad = error.start if bad < 0 else min(bad, error.start)
    if bad >= 0:
        line = data.count(b"\n", 0, bad) + 1
        raise ValueError(
            f"{name}, line {line}: the byte 0x{data[bad]:02x} is not text in UTF-8: unpack an "
            "archive, or convert the text, such as by iconv -f LATIN1 (or UTF-16) -t UTF-8."
        )
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        data = data if b"\n" in data else data.replace(b"\r", b"\n")
    return data
