"""A plugin for runs without compilation, where some tests would take hours: cuts them short.

    NUMBA_DISABLE_JIT=1 NUMBA_NUM_THREADS=1 pytest -p tests.helpers.uncompiled --time-limit 10

What a test has covered until then counts; what it would have found later is found with compilation.
Integers of numpy warn where they wrap around, as hashes mean them to: not in this run.
"""

from __future__ import annotations

import contextlib
import importlib
import signal
from types import FrameType

import numpy as np
import pytest


class Late(BaseException):
    """Time is over; no `except Exception` catches it."""


cut: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Seconds that a test may take."""
    parser.addoption("--time-limit", type=float, default=20.0)


def pytest_sessionstart() -> None:
    """Import what must not be cut short while it is imported; let integers wrap around."""
    np.seterr(over="ignore")
    for name in ("lightgbm", "xgboost", "catboost", "sklearn", "matplotlib.pyplot", "dask"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Late


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Let a test that is late end as if it had passed."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, item.config.getoption("--time-limit"))
    try:
        return (yield)
    except Late:
        cut.append(item.nodeid)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests ended early."""
    if cut:
        terminalreporter.line(f"{len(cut)} tests were cut short, the first of them {cut[0]}")
