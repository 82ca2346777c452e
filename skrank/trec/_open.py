"""Open files, plain or compressed, and file objects as streams of bytes."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

from skrank.trec._table import BYTES

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

HEAD = 65536  # first bytes of a file, by which its format is recognised
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


def _zstandard(file: BinaryIO) -> _Readable:
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
    raise ValueError("install zstandard or pyarrow to read Zstandard")


# by the first bytes of compressed content
_DECOMPRESSORS: dict[bytes, Callable[[BinaryIO], _Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError)


@contextmanager
def _decompressing(name: str) -> Iterator[None]:
    """Turn errors of decompression into errors of type ValueError that name the file."""
    try:
        yield
    except (*_ERRORS, ValueError) as error:
        raise ValueError(f"{name} cannot be decompressed: {str(error).rstrip('.')}.") from None


def name_of(source: Source) -> str:
    """The name of a path or file object, for messages."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    return str(getattr(source, "name", "<file>"))


@dataclass(frozen=True, eq=False)
class File:
    """An open file.

    Attributes
    ----------
    name : str
    stream : BufferedReader
        The content, decompressed.
    head : bytes
        The first bytes of the content; `stream` returns them once more.
    on_disk : bool
        Whether `name` is the path of a plain file with this content.
    """

    name: str
    stream: io.BufferedReader
    head: bytes
    on_disk: bool


@contextmanager
def opened(source: Source) -> Iterator[File]:
    """Open a path, or read a file object; compressed content is decompressed."""
    name = name_of(source)
    with ExitStack() as stack:
        raw: io.RawIOBase
        if isinstance(source, (str, os.PathLike)):
            raw = stack.enter_context(open(source, "rb", buffering=0))
        else:
            raw = _Raw(source.read)
        stream: io.BufferedReader = io.BufferedReader(raw, HEAD)
        head = stream.peek(HEAD)
        magic = next(filter(head.startswith, _DECOMPRESSORS), None)
        if magic is not None:
            with _decompressing(name):
                content = _DECOMPRESSORS[magic](stream)
            stream = io.BufferedReader(_Raw(content.read, name), HEAD)
        head = stream.peek(HEAD)[:HEAD]
        yield File(name, stream, head, isinstance(raw, io.FileIO) and magic is None)


class _Raw(io.RawIOBase):
    """The bytes of an object that has `read`, such as a file that is open as text.

    Parameters
    ----------
    read : callable
        Takes a number of bytes or characters and returns at most as many; without it, returns all.
    compressed : str, optional
        If `read` decompresses a file: the name of the file, for errors.
    """

    def __init__(self, read: Callable[..., bytes | str], compressed: str | None = None) -> None:
        self._read, self._compressed = read, compressed
        self._rest = b""  # bytes beyond the last buffer: a character of text can be several bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        self._rest = self._rest or self._more(len(view))
        part, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(part)] = part
        return len(part)

    def readall(self) -> bytes:
        return self._rest + self._more()

    def _more(self, *size: int) -> bytes:
        name = self._compressed
        with nullcontext() if name is None else _decompressing(name):
            content = self._read(*size)
        return content.encode(errors=BYTES) if isinstance(content, str) else content
