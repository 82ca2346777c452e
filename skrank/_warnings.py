"""Warnings that name the line of the user's code."""

from __future__ import annotations

import inspect
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line that called the outermost function of skrank.

    Functions of other libraries, such as decorators of contextlib or a search of Optuna, may stand
    between that function and the warning: `skip_file_prefixes` of Python 3.12 would name these.
    """
    frame, level, outside = inspect.currentframe(), 1, 1
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "skrank":
            outside = level
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=outside)
