"""Unpack what files may be packed with, told by how they begin."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from collections.abc import Callable

_ZSTANDARD = b"\x28\xb5\x2f\xfd"
SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


def _unpack_zstandard(data: bytes) -> bytes:
    for name in ("compression.zstd", "zstandard", "pyarrow"):  # the first from Python 3.14 on
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "compression.zstd":
            return module.decompress(data)
        if name == "zstandard":
            return module.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        return module.CompressedInputStream(module.BufferReader(data), "zstd").read()
    raise ValueError("it is packed with Zstandard: install zstandard or pyarrow to read it")


_UNPACK: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"\xfd7zXZ\x00": lzma.decompress,
    b"BZh": bz2.decompress,
    _ZSTANDARD: _unpack_zstandard,
}
_DAMAGED = (EOFError, OSError, zlib.error, lzma.LZMAError)


def is_packed(head: bytes) -> bool:
    """Whether a file that begins so is packed."""
    return head.startswith(tuple(_UNPACK))


def unpacked(data: bytes, name: str) -> bytes:
    """The content of a file, as it is if it is not packed.

    Raises
    ------
    ValueError
        With the name of the file, if it is damaged.
    """
    for magic, unpack in _UNPACK.items():
        if data.startswith(magic):
            try:
                return unpack(data)
            except _DAMAGED as error:
                raise ValueError(f"{name} cannot be unpacked: {error}.") from None
            except ValueError as error:
                raise ValueError(f"{name} cannot be unpacked: {error}") from None
    return data
