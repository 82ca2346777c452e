"""Machine code is cached, and loaded only if its sources are unchanged and its file undamaged."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skrank
from skrank._kernels.jit import MESSAGE

PACKAGE = Path(skrank.__file__).resolve().parent  # in the working tree or installed

# Two kernels that compile quickly, and their results.
WORK = """
import warnings
warnings.simplefilter("always")
import skrank
print(*skrank.SquaredError()([2, 0, 1], [0.5, 1, 2], groups=[1, 1, 1])[0])
"""
MORE = "print(*skrank.Softmax()([2, 0], [0, 0], groups=[1, 1])[0])\n"


def start(work, path=PACKAGE.parent, **settings):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"SKRANK_QUIET": "0", "SKRANK_COMPILE": "1", "PYTHONPATH": str(path)}
    return subprocess.Popen(
        [sys.executable, "-c", work], env=environment | settings, cwd=path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(work=WORK, path=PACKAGE.parent, **settings):
    """Standard output and standard error of a new process."""
    process = start(work, path, **settings)
    out, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return out, said


def written(folder):
    """The cached files, with their modification times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}


RIGHT = "-0.5 1.0 1.6666666666666667\n"
NOTICE = MESSAGE + "\n"


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """A cache with both kernels."""
    folder = tmp_path_factory.mktemp("cached")
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, NOTICE)
    return folder


@pytest.fixture
def folder(cached, tmp_path):
    return shutil.copytree(cached, tmp_path / "cache")


def test_a_second_process_compiles_nothing(folder):
    before = written(folder)
    assert len(before) >= 4
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, "")
    assert written(folder) == before


# Every objective and family of metrics, on arguments of many kinds.
MANY = """
import numpy as np, skrank, sys
labels, scores = np.arange(40.0) % 4, np.arange(40.0)[::-1] % 7
groups = np.repeat(np.arange(4), 10)
unjudged, cut = np.where(labels == 1, np.nan, labels), np.where(scores == 2, -np.inf, scores)
for name in {metrics}:
    for form in (np.asarray, list, lambda a: a.astype(np.float32), lambda a: np.repeat(a, 2)[::2]):
        skrank.metric(name)(form(unjudged), form(cut), groups=groups)
        skrank.metric(name, ties="worst")(form(unjudged), form(cut), groups=groups)
for name, options in {objectives}:
    for one in (labels, labels.astype(np.int32)):
        getattr(skrank, name)(**options)(one, scores, groups=groups)
"""


METRICS = ["gap@3", "ndcg", "gap(condensed=True)", "err", "rr@2"]
OBJECTIVES = [
    ("LambdaRank", {"metric": "ndcg@3"}),
    ("LambdaRank", {"metric": "err", "pairs": "adjacent"}),
    ("LambdaLoss", {"metric": "ndcg@3"}),
    ("SoftRank", {"metric": "gap"}),
    ("SoftRank", {"metric": "ndcg", "form": "distribution"}),
    ("UnbiasedLambdaRank", {"metric": "ndcg@3"}),
]


@pytest.mark.parametrize("part", range(3))  # so that processes can share the work
def test_no_kind_of_argument_is_compiled_again(tmp_path, part):
    """Nor is the notice printed if it is hidden."""
    work = MANY.format(metrics=METRICS[part::3], objectives=OBJECTIVES[part::3])
    assert run(work, NUMBA_CACHE_DIR=str(tmp_path), SKRANK_QUIET="1") == ("", "")
    before = written(tmp_path)
    assert run(work, NUMBA_CACHE_DIR=str(tmp_path)) == ("", "")
    assert written(tmp_path) == before


def test_the_notice_comes_with_the_first_kernel_that_is_not_cached(folder):
    out, said = run(WORK + MORE, NUMBA_CACHE_DIR=str(folder))
    assert out.startswith(RIGHT)
    assert said == NOTICE


def test_functions_of_users_are_compiled_and_cached_as_they_wish(tmp_path):
    (tmp_path / "theirs.py").write_text(
        "import numba\n@numba.njit(cache=True)\ndef more(x): return x + 1\n"
    )
    work = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport theirs, numba\n"
    work += WORK + "theirs.more(1)\nprint(repr(numba.config.CACHE_DIR))\n"
    assert run(work, XDG_CACHE_HOME=str(tmp_path / "home"))[0] == RIGHT + "''\n"
    assert len(list((tmp_path / "__pycache__").glob("theirs.*.nbi"))) == 1


def test_processes_that_start_at_once(tmp_path):
    processes = [start(WORK, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == [RIGHT] * 3
    # a file may have been replaced after its checksum was recorded: its kernel is compiled again
    run(NUMBA_CACHE_DIR=str(tmp_path))
    assert run(NUMBA_CACHE_DIR=str(tmp_path)) == (RIGHT, "")


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, flip_a_bit, Path.unlink])
@pytest.mark.parametrize("name", ["*.nbi", "*.nbc", "checksums"])
def test_damaged_and_missing_files_are_compiled_anew(folder, name, damage):
    files = list(folder.rglob(name))
    assert files
    for path in files:
        damage(path)
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, NOTICE)
    assert run(NUMBA_CACHE_DIR=str(folder)) == (RIGHT, "")


@pytest.fixture
def package(tmp_path):
    """A copy of the package. A test that needs a folder that cannot be written makes it a file."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, tmp_path / "copy" / "skrank", ignore=ignored)


def test_no_folder_can_be_written(tmp_path, package):
    """As in a container."""
    (package / "_kernels" / "__pycache__").write_text("a file")
    (tmp_path / "file").write_text("a file")
    nowhere = str(tmp_path / "file" / "below")
    places = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere}
    for settings in (places, places | {"NUMBA_CACHE_DIR": nowhere}):
        for _ in range(2):
            out, said = run(WORK + MORE, package.parent, **settings)
            assert out.startswith(RIGHT)
            assert said.count("NUMBA_CACHE_DIR") == said.count("RuntimeWarning") == 1
            assert said.count(MESSAGE) == 1


def test_the_home_folder_where_the_installation_cannot_be_written(tmp_path, package):
    (package / "_kernels" / "__pycache__").write_text("a file")
    settings = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    assert run(WORK, package.parent, **settings) == (RIGHT, NOTICE)
    assert len(written(tmp_path / "home")) >= 4
    assert run(WORK, package.parent, **settings) == (RIGHT, "")


def test_the_folder_is_lost_while_a_process_runs(folder):
    lose = f"import pathlib, shutil; shutil.rmtree({str(folder)!r})\n"
    lose += f"pathlib.Path({str(folder)!r}).write_text('a file')\n"
    out, said = run(WORK + lose + MORE, NUMBA_CACHE_DIR=str(folder))
    assert out.startswith(RIGHT)
    assert "NUMBA_CACHE_DIR" in said


def test_an_edit_in_another_file_is_noticed(package):
    """The cache of the previous sources is deleted, if it is beside them."""
    path, beside = package / "_kernels" / "simd.py", package / "_kernels" / "__pycache__"
    work = "import skrank\nprint(*skrank.Softmax()([2, 0], [0.5, 0], groups=[1, 1])[0])\n"
    first, said = run(work, package.parent)
    assert said == NOTICE
    (before,) = beside.glob("skrank-*")
    source = path.read_text()
    assert source.count("-0.6931471805599453") == 1
    path.write_text(source.replace("-0.6931471805599453", "-0.5"))
    second, said = run(work, package.parent)
    assert first != second
    assert said == NOTICE
    (after,) = beside.glob("skrank-*")
    assert before != after
    assert run(work, package.parent) == (second, "")
