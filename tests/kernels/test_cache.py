"""Machine code is cached by numba; where it cannot be, kernels are compiled in each process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skrank
from skrank._kernels.jit import MESSAGE
from tests.helpers.compiled import NAMES_OF_COMPILED

PACKAGE = Path(skrank.__file__).resolve().parent  # in the working tree or installed

# A kernel that compiles quickly, and its results.
WORK = """
import warnings
warnings.simplefilter("always")
import skrank
print(*skrank.Softmax()([2, 0], [0, 0], groups=[1, 1])[0])
"""
RIGHT = "-0.5 0.5\n"


def run(work=WORK, **settings):
    """Standard output and standard error of a new process."""
    environment = os.environ | {"SKRANK_QUIET": "0", "PYTHONPATH": str(PACKAGE.parent)} | settings
    done = subprocess.run(
        [sys.executable, "-c", work], env=environment, cwd=environment["PYTHONPATH"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def written(folder):
    """The cached files, with their modification times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the cached files of one kernel."""
    folder = tmp_path_factory.mktemp("filled")
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, MESSAGE + "\n")
    return folder


def test_a_second_process_compiles_nothing(filled):
    before = written(filled)
    assert len(before) >= 2
    assert run(NUMBA_CACHE_DIR=str(filled)) == (RIGHT, "")
    assert written(filled) == before


def test_a_damaged_file_is_compiled_anew(filled, tmp_path):
    """One bit is another: a checksum covers all files."""
    folder = shutil.copytree(filled, tmp_path / "cache")
    (path,) = folder.rglob("*.nbc")
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, MESSAGE + "\n")


def test_a_warning_names_the_folder_of_a_damaged_file_that_cannot_be_removed(filled, tmp_path):
    folder = shutil.copytree(filled, tmp_path / "cache")
    (path,) = folder.rglob("*.nbi")
    path.unlink()
    path.mkdir()
    out, said = run(NUMBA_CACHE_DIR=str(folder))
    assert out == RIGHT
    assert str(path.parent) in said


def test_cached_code_is_compiled_anew_if_a_function_that_it_calls_has_changed(tmp_path):
    package, folder = tmp_path / "skrank", str(tmp_path / "cache")
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for change in ("", "# changed\n"):
        with (package / "_kernels" / "simd.py").open("a") as file:
            file.write(change)
        said = MESSAGE + "\n"
        assert run(NUMBA_CACHE_DIR=folder, PYTHONPATH=str(tmp_path)) == (RIGHT, said)


# Every objective and family of metrics, on arguments of many kinds.
MANY = """
import numpy as np, pandas as pd, skrank
from skrank._engine.threads import compiled
labels, scores = np.arange(40.0) % 4, np.arange(40.0)[::-1] % 7
groups = np.repeat(np.arange(4), 10)
unjudged, cut = np.where(labels == 1, np.nan, labels), np.where(scores == 2, -np.inf, scores)
with compiled():
    for name in ("gap@3", "ndcg", "gap(condensed=True)", "err", "rr@2"):
        for form in (
            np.asarray, list, lambda a: a.astype(np.float32), lambda a: np.repeat(a, 2)[::2]
        ):
            skrank.metric(name)(form(unjudged), form(cut), groups=groups)
            skrank.metric(name, ties="worst")(form(unjudged), form(cut), groups=groups)
for objective in (
    skrank.LambdaRank("ndcg@3"), skrank.LambdaRank("err"),
    skrank.LambdaLoss("ndcg@3"), skrank.SoftRank("gap"),
):
    for y in (labels, labels.astype(np.int32)):
        objective(y, scores, groups=groups)
    objective(labels, pd.Series(scores), groups=groups)  # pandas gives read-only arrays
"""


def test_no_kind_of_argument_is_compiled_again():
    exec(MANY, {})  # fills the cache
    assert run(NAMES_OF_COMPILED + MANY + "print(*Compiled.names)")[0] == "\n"


def test_without_a_cache_kernels_are_compiled_with_one_warning(tmp_path):
    """As on a full disk."""
    work = (
        "import numba\n"
        "from skrank._kernels import jit\n"
        "real = numba.njit\n"
        "def njit(*arguments, cache=False, **options):\n"
        "    if not cache:\n"
        "        return real(*arguments, **options)\n"
        "    def full(function):\n"
        "        def call(*arguments):\n"
        "            raise OSError('No space left on device')\n"
        "        call.stats = real(cache=True, **options)(function).stats\n"
        "        return call\n"
        "    return full\n"
        "numba.njit = njit\n"
    )
    out, said = run(work + WORK + WORK, NUMBA_CACHE_DIR=str(tmp_path))
    assert out == 2 * RIGHT
    assert said.count("NUMBA_CACHE_DIR") == 1
    assert not written(tmp_path)
