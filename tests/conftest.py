"""What must be set before the first import of numba or a booster, and what many tests use."""

import hashlib
import os
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _kernels_digest() -> str:
    digest = hashlib.sha256(version("numba").encode())
    digest.update(os.environ.get("NUMBA_CPU_NAME", "").encode())
    for path in sorted((ROOT / "skrank" / "_kernels").glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


# Tests read standard error: no word of compilation there.
os.environ["SKRANK_QUIET"] = "1"

# Tests are about compiled loops, but where they say otherwise.
os.environ["SKRANK_COMPILE"] = "1"

# numba keys a cached kernel by its own file only: after an edit to a kernel that it calls from
# another file, the old machine code would run. Child processes inherit the folder.
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".numba_cache" / _kernels_digest())

# Each pytest-xdist worker is one process per core already: more OpenMP threads would only contend.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Looking for doctests in them would import them under a second name.
collect_ignore = ["helpers"]


@pytest.fixture
def random():
    """A generator that no other test draws from: data do not depend on which tests run before."""
    import numpy as np

    return np.random.default_rng(0)


@pytest.fixture
def every_thread(monkeypatch):
    """As many threads as may be share the work of each kernel, however little; which they did."""
    from skrank._engine import threads

    share, used = threads._share, set()

    def count(job, n_threads):
        used.add(n_threads)
        assert n_threads == threads.thread_count()
        return share(job, n_threads)

    monkeypatch.setattr(threads, "_share", count)
    monkeypatch.setattr(threads, "_WORTH_A_THREAD", 1e-15)
    yield
    assert max(used) >= 4
