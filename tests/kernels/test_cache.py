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

# Kernels that compile quickly, their results, and the names of the functions that were compiled
WORK = f"""{NAMES_OF_COMPILED}
import warnings
import skrank
from skrank._engine.threads import plain_up_to
warnings.simplefilter("always")

def work():
    for objective in (skrank.Softmax(), skrank.SquaredError()):
        print(*objective([2, 0], [0, 0], groups=[1, 1])[0])

work()
BEFORE
with plain_up_to(-1):
    work()
print(*Compiled.names)
"""
RIGHT = ["-0.5 0.5", "-1.0 0.0"] * 2
KERNELS = {"encode_grades", "softmax", "squared_error"}  # the first is compiled after `BEFORE`
FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"


def run(work, **settings):
    """Lines of standard output, and standard error, of a new process."""
    environment = os.environ | {"SKRANK_QUIET": "0", "PYTHONPATH": str(PACKAGE.parent)} | settings
    done = subprocess.run(
        [sys.executable, "-c", work], env=environment, cwd=environment["PYTHONPATH"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


def compiled(folder, before="pass"):
    """Kernels that a new process compiles, with the cache and package of a folder; its messages."""
    settings = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(folder)}
    (*values, names), said = run(WORK.replace("BEFORE", before), **settings)
    assert values == RIGHT
    return KERNELS & {*names.split()}, said


@pytest.mark.skipif("SKRANK_MODES" not in os.environ, reason="SKRANK_MODES is not set")
def test_damaged_and_outdated_files_are_compiled_anew(tmp_path):
    """With a warning where files cannot be removed or written."""
    package, cache = tmp_path / "skrank", tmp_path / "cache"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.pyc.*"))  # being written
    assert compiled(tmp_path) == (KERNELS, MESSAGE + "\n")

    # One bit is another: a checksum covers all files
    (damaged,) = cache.rglob("*.softmax-*.nbc")
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    (removed,) = cache.rglob("*.squared_error-*.nbi")
    removed.unlink()
    removed.mkdir()
    (intact,) = cache.rglob("*.encode_grades-*.nbc")
    written = intact.stat().st_mtime_ns
    names, said = compiled(tmp_path)
    assert names == {"softmax", "squared_error"}
    assert intact.stat().st_mtime_ns == written
    assert str(removed.parent) in said
    assert MESSAGE not in said
    removed.rmdir()

    with (package / "_kernels" / "simd.py").open("a") as file:
        file.write("# changed\n")
    names, said = compiled(tmp_path, "pass" if sys.platform == "win32" else FULL_DISK)
    assert names == KERNELS
    assert sys.platform == "win32" or said.count("NUMBA_CACHE_DIR") == 1


# Every objective and family of metrics, on arguments of many kinds.
MANY = """
import numpy as np, skrank
from skrank._engine.threads import compiled
labels, scores = np.arange(40.0) % 4, np.arange(40.0)[::-1] % 7
groups = np.repeat(np.arange(4), 10)
read_only = scores.copy()  # as pandas gives them
read_only.flags.writeable = False
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
    objective(labels, read_only, groups=groups)
"""


def test_no_kind_of_argument_is_compiled_again():
    exec(MANY, {})  # fills the cache
    assert run(NAMES_OF_COMPILED + MANY + "print(*Compiled.names)") == ([""], "")
