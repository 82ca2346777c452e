"""What is left out of a run where an optional library is not installed."""

from importlib.util import find_spec

MISSING = find_spec("torch") is None

collect_ignore = ["skrank/torch"] if MISSING else []  # whose doctests could not be imported


def pytest_report_header() -> str:
    """Say whether torch is there."""
    if MISSING:
        return "torch is not installed: tests and doctests of skrank.torch are left out"
    return "torch is installed: skrank.torch is tested"
