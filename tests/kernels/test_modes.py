"""The kernels under bounds checking, and as plain Python without compilation: same numbers."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# The programs of one line share a process.
PROGRAMS = [("values", "long_lists", "files"), ("gradients", "soft_values"), ("distributions",)]


def run(programs, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "tests.helpers.kernel_programs", *programs],
        capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@cache
def compiled(*programs):
    return run(programs)


@pytest.mark.parametrize("programs", PROGRAMS, ids=" ".join)
def test_without_compilation(programs):
    found = run(programs, NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(found, compiled(*programs), rtol=1e-4, atol=1e-5)


def test_double_precision_without_compilation():
    """Without compilation, gradients in single and in double precision agree."""
    found = run(["double_gradients"], NUMBA_DISABLE_JIT="1")
    single = run(["gradients"], NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(single, found, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("programs", PROGRAMS, ids=" ".join)
def test_under_bounds_checking(programs):
    """In a separate cache, since numba does not distinguish code with and without checks."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "checked"
    checked = run(programs, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(folder))
    np.testing.assert_allclose(checked, compiled(*programs), rtol=1e-4, atol=1e-5)
