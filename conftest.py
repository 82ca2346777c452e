"""Environment variables that numba and boosters read on import, optional libraries, and seeds."""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

# Tests read standard error, which the notice of the first compilation must not reach.
os.environ["SKRANK_QUIET"] = "1"

# Child processes inherit the cache folder. numba does not distinguish code with bounds checks.
_FOLDER = "checked" if "NUMBA_BOUNDSCHECK" in os.environ else "unchecked"
os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).resolve().parent / ".numba_cache" / _FOLDER)

# Each pytest-xdist worker is one process per core already: more OpenMP threads would only contend.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# LightGBM takes one thread per core by default. Threads that spin while they wait quadruple its
# processor time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

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


def pytest_collection_finish() -> None:
    """Keep the garbage collector from searching what lives to the end, a twentieth of the time."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Seed the generator of `random_state=None`, so that tests do not depend on their order."""
    import numpy as np  # after the number of threads is set

    np.random.seed(0)  # noqa: NPY002 - scikit-learn draws from the legacy generator
