"""What is left out where an optional library is not installed, and what tests draw by default."""

from importlib.util import find_spec

MISSING = find_spec("torch") is None

collect_ignore = ["skrank/torch"] if MISSING else []  # whose doctests could not be imported
if MISSING or find_spec("sentence_transformers") is None:
    collect_ignore.append("skrank/sentence_transformers.py")


def pytest_report_header() -> str:
    """Say whether torch is there."""
    if MISSING:
        return "torch is not installed: tests and doctests of skrank.torch are left out"
    return "torch is installed: skrank.torch is tested"


def pytest_runtest_setup() -> None:
    """Start what `random_state=None` draws from: a test draws the same, whichever ran before."""
    import numpy as np  # later than tests/conftest.py, which says how many threads it may start

    np.random.seed(0)  # noqa: NPY002 - the legacy generator is what scikit-learn falls back on
