"""The bar that long work shows on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_DELAY = 2.0  # seconds: what ends before shows nothing


class Bar(Protocol):
    """What counts how much of the work is done."""

    def update(self, n: int) -> object:
        """Count `n` more."""


class _NoBar:
    def update(self, n: int) -> None:
        pass


@contextmanager
def progress(show: bool | None, total: int | None, unit: str) -> Iterator[Bar]:
    """Show how far some work is, while it lasts.

    Parameters
    ----------
    show : bool or None
        None: if standard error is a terminal, and tqdm is installed.
    total : int or None
        How much there is to do, if that is known.
    unit : str
        What is counted.

    Raises
    ------
    ImportError
        If `show` is True and tqdm is not installed.
    """
    wanted = show or (show is None and sys.stderr is not None and sys.stderr.isatty())
    try:
        if wanted:
            from tqdm import tqdm
    except ImportError:
        if show:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from None
        wanted = False
    if not wanted:
        yield _NoBar()
        return
    delay = 0.0 if show else _DELAY
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, delay=delay, file=sys.stderr) as bar:
        yield bar


def tracked(items: Sequence[_T], show: bool | None, unit: str) -> Iterator[_T]:
    """The items, each counted once it is done with; see `progress`."""
    with progress(show, len(items), unit) as bar:
        for item in items:
            yield item
            bar.update(1)
