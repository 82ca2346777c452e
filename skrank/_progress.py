"""Progress bars of long computations, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from skrank import _validation as check

_T = TypeVar("_T")
_DELAY = 2.0  # seconds before a bar appears, so that short work shows none


class Bar:
    """A counter of completed steps that shows nothing; that of tqdm shows a bar."""

    n: float = 0  # completed steps, which `skrank.tune` sets

    def update(self, n: float) -> object:
        """Count `n` more steps."""

    def set_postfix_str(self, text: str) -> None:
        """Show a text after the count."""

    def write(self, text: str, file: object) -> None:
        """Print a line above the bar."""


@contextmanager
def progress(show: bool | None, total: float | None, unit: str, **options: Any) -> Iterator[Bar]:
    """Show a progress bar while the block runs.

    Parameters
    ----------
    show : bool or None
        None: show it if standard error is a terminal.
    total : float or None
        Number of steps; None if unknown.
    unit : str
        Name of the steps, such as "campaigns".
    **options
        Further parameters of tqdm.

    Raises
    ------
    ValueError
        If `show` is neither a bool nor None.
    """
    show = None if show is None else check.check_flag("progress", show)
    if not (show or (show is None and sys.stderr is not None and sys.stderr.isatty())):
        yield Bar()
        return
    from tqdm import tqdm

    delay = 0.0 if show else _DELAY
    options = {"unit": f" {unit}", "unit_scale": True, "delay": delay} | options
    with tqdm(total=total, file=sys.stderr, **options) as bar:
        yield bar


def tracked(items: Sequence[_T], show: bool | None, unit: str) -> Iterator[_T]:
    """Yield the items; a progress bar counts each one after its use. See `progress`."""
    with progress(show, len(items), unit) as bar:
        for item in items:
            yield item
            bar.update(1)
