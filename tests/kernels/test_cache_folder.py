"""Compiled code where it cannot be kept, and where what was kept is damaged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "skrank"

# Two kernels that compile in a moment.
WORK = """
import json, warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from skrank._kernels import labels

    count, arrange = labels.count.compiled, labels.arrange.compiled
    found = np.zeros((1, 2), np.int64), np.zeros(3, np.uint8)
    count(0, 1, np.array([0, 3]), np.array([0, 1, 0], np.uint8), found[0])
    arrange(0, 1, np.array([0, 3]), found[0], np.array([1, 0]), found[1])
found = [one.ravel().tolist() for one in found]
hits = sum(sum(f.stats.cache_hits.values()) for f in (count, arrange))
print(json.dumps([found, hits, [str(one.message) for one in caught]]))
"""


def run(path, work=WORK, **environment):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", work],
        capture_output=True, text=True, check=False, cwd=path,
        env=kept | environment | {"PYTHONPATH": str(path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found, hits, warned = json.loads(done.stdout)
    assert found == [[2, 1], [1, 0, 0]]
    return hits, warned


def test_no_folder_can_be_written(tmp_path):
    """As in a container: files in the way stop whoever runs the tests, permissions stop not all."""
    package = shutil.copytree(PACKAGE, tmp_path / "skrank", ignore=lambda *_: ["__pycache__"])
    (package / "_kernels" / "__pycache__").write_text("a file")
    (tmp_path / "file").write_text("a file")
    nowhere = str(tmp_path / "file" / "below")
    places = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    for environment in (places, places | {"NUMBA_CACHE_DIR": nowhere}):
        hits, warned = run(tmp_path, **environment)
        assert hits == 0
        (message,) = warned
        assert "NUMBA_CACHE_DIR" in message


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A cache with both functions."""
    folder = tmp_path_factory.mktemp("kept")
    assert run(PACKAGE.parent, NUMBA_CACHE_DIR=str(folder)) == (0, [])
    return folder


@pytest.fixture
def folder(kept, tmp_path):
    return shutil.copytree(kept, tmp_path / "cache")


def truncated(content):
    return content[: len(content) // 2]


def garbled(content):
    return b"garbage" + content[7:]


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("kind", "damage"),
    [("nbi", truncated), ("nbc", truncated), ("nbc", garbled), ("nbc", flipped)],
)
def test_what_is_damaged_is_compiled_anew(folder, kind, damage):
    files = list(folder.rglob(f"*.{kind}"))
    assert len(files) == 2
    for path in files:
        path.write_bytes(damage(path.read_bytes()))
    assert run(PACKAGE.parent, NUMBA_CACHE_DIR=str(folder)) == (0, [])
    assert run(PACKAGE.parent, NUMBA_CACHE_DIR=str(folder)) == (2, [])


def test_the_folder_is_lost_after_the_import(folder):
    lose = f"import pathlib, shutil; shutil.rmtree({str(folder)!r})"
    block = f"    {lose}; pathlib.Path({str(folder)!r}).write_text('a file')\n    found ="
    hits, (message,) = run(
        PACKAGE.parent, WORK.replace("    found =", block, 1), NUMBA_CACHE_DIR=str(folder)
    )
    assert hits == 0
    assert "NUMBA_CACHE_DIR" in message
