"""Open files, plain or packed, and file objects as streams of bytes."""

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

HEAD = 65536  # bytes by which the format is recognised
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
    raise ValueError("it is packed with Zstandard: install zstandard or pyarrow to read it")


_OPEN: dict[bytes, Callable[[BinaryIO], _Readable]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
    b"\x28\xb5\x2f\xfd": _zstandard,
}
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)


@contextmanager
def _unpacking(name: str) -> Iterator[None]:
    """Name the file in errors of unpacking."""
    try:
        yield
    except _DAMAGED as error:
        raise ValueError(f"{name} cannot be unpacked: {error}.") from None
    except ValueError as error:
        raise ValueError(f"{name} cannot be unpacked: {error}") from None


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
        The content, unpacked.
    head : bytes
        The first bytes, which remain to be read.
    on_disk : bool
        Whether the content is that of the path `name`, and not packed.
    """

    name: str
    stream: io.BufferedReader
    head: bytes
    on_disk: bool


@contextmanager
def opened(source: Source) -> Iterator[File]:
    """A source, unpacked if it is packed, at its beginning."""
    name = name_of(source)
    with ExitStack() as stack:
        raw: io.RawIOBase
        if isinstance(source, (str, os.PathLike)):
            raw = stack.enter_context(open(source, "rb", buffering=0))
        else:
            raw = _Raw(source.read)
        stream: io.BufferedReader = io.BufferedReader(raw, HEAD)
        head = stream.peek(HEAD)
        unpack = next((call for magic, call in _OPEN.items() if head.startswith(magic)), None)
        if unpack is not None:
            with _unpacking(name):
                content = unpack(stream)
            stream = io.BufferedReader(_Raw(content.read, name), HEAD)
        head = stream.peek(HEAD)[:HEAD]
        yield File(name, stream, head, isinstance(raw, io.FileIO) and unpack is None)


class _Raw(io.RawIOBase):
    """The bytes of anything that has `read`, such as a file object that is open as text.

    Parameters
    ----------
    read : callable
        Returns some content, of about the size that it is given, or all.
    packed : str, optional
        The name of the packed file whose content this is, for errors.
    """

    def __init__(self, read: Callable[..., bytes | str], packed: str | None = None) -> None:
        self._read, self._packed = read, packed
        self._rest = b""  # what exceeds the size of the buffer: a character can be several bytes

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
        with nullcontext() if self._packed is None else _unpacking(self._packed):
            content = self._read(*size)
        return content.encode(errors=BYTES) if isinstance(content, str) else content
