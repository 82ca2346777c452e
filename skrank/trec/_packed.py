"""Packed files, which are recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


def _zstandard(file: BinaryIO) -> Any:
    for name in ("compression.zstd", "zstandard", "pyarrow"):  # the first from Python 3.14 on
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "compression.zstd":
            return module.ZstdFile(file)
        if name == "zstandard":
            return module.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return module.CompressedInputStream(file, "zstd")
    raise ValueError("it is packed with Zstandard: install zstandard or pyarrow to read it")


_OPEN: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)


def is_packed(head: bytes) -> bool:
    """Whether a file that begins with `head` is packed."""
    return head.startswith(tuple(_OPEN))


def unpacked(file: BinaryIO, head: bytes) -> Any:
    """The content of a packed file that begins with `head`, as a file object."""
    return next(call for magic, call in _OPEN.items() if head.startswith(magic))(file)


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Name the file in errors of unpacking."""
    try:
        yield
    except _DAMAGED as error:
        raise ValueError(f"{name} cannot be unpacked: {error}.") from None
    except ValueError as error:
        raise ValueError(f"{name} cannot be unpacked: {error}") from None
