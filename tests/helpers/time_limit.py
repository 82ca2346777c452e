"""Cut long tests short: a plugin for runs without compilation, where some would take hours.

    pytest -p tests.helpers.time_limit --time-limit 10

What a test has covered until then counts; what it would have found later is found with compilation.
"""

from __future__ import annotations

import signal
from types import FrameType

import pytest


class Late(BaseException):
    """Time is over; no `except Exception` catches it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Seconds that a test may take."""
    parser.addoption("--time-limit", type=float, default=20.0)


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Late


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Skip what is late."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, item.config.getoption("--time-limit"))
    try:
        return (yield)
    except Late:
        pytest.skip("cut short: too slow without compilation")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
