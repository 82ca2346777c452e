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

# Two functions of the kernels' shared file, which compile in a moment.
WORK = """
import json, warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from skrank._kernels import tiles

    found = [tiles.padded(3, 2), tiles.longest(0, 2, np.array([0, 3, 4]))]
hits = sum(sum(f.stats.cache_hits.values()) for f in (tiles.padded, tiles.longest))
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
    assert found == [4, 3]
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
        PACKAGE.parent, WORK.replace("    found =", block), NUMBA_CACHE_DIR=str(folder)
    )
    assert hits == 0
    assert "NUMBA_CACHE_DIR" in message
