"""Doctests that need optional libraries, compilation, and the seed of NumPy's global generator."""

from importlib.util import find_spec

MISSING = find_spec("torch") is None or find_spec("skorch") is None

collect_ignore = ["skrank/torch"] if MISSING else []  # doctests import their module
if MISSING or find_spec("sentence_transformers") is None:
    collect_ignore.append("skrank/sentence_transformers.py")


def pytest_addoption(parser) -> None:
    """Add the option `--compile`."""
    parser.addoption(
        "--compile", action="store_true", help="compile kernels also for few rows of documents"
    )


def pytest_configure(config) -> None:
    """Let kernels run as plain Python for few rows, as they do for users, unless `--compile`."""
    if config.getoption("--compile"):
        from skrank._engine import threads

        threads.PLAIN_ROWS = -1


def pytest_report_header() -> str:
    """Report whether skrank.torch is tested."""
    if MISSING:
        return "torch is not installed: tests and doctests of skrank.torch are left out"
    return "torch is installed: skrank.torch is tested"


def pytest_runtest_setup() -> None:
    """Seed the generator of `random_state=None`, so that tests do not depend on their order."""
    import numpy as np  # after tests/conftest.py has set the number of threads

    np.random.seed(0)  # noqa: NPY002 - scikit-learn draws from the legacy generator
