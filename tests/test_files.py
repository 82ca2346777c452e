"""write_atomically: replaces a file as a whole, and an error leaves the older file."""

import os
import subprocess
import sys

import pytest

from skrank._files import write_atomically

OLD, NEW = b"old", b"new"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(OLD)
    return tmp_path


def test_a_file_is_replaced_with_its_mode_and_through_links(folder):
    (folder / "file").chmod(0o640)
    (folder / "link").symlink_to("file")
    write_atomically("link", NEW)
    assert (folder / "link").is_symlink()
    assert (folder / "file").read_bytes() == NEW
    assert (folder / "file").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(folder)) == ["file", "link"]


@pytest.mark.parametrize("name", ["new", "n" * 250, "dangling"])
def test_a_new_file_has_the_mode_of_any_new_file(folder, name):
    (folder / "dangling").symlink_to("target")
    write_atomically(folder / name, NEW)
    assert (folder / name).read_bytes() == NEW
    assert (folder / name).stat().st_mode == (folder / "file").stat().st_mode


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_error_leaves_the_older_file_and_no_other(folder, monkeypatch, failing, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(type(error), match="'file'" if isinstance(error, OSError) else None):
        write_atomically("file", NEW)
    assert (folder / "file").read_bytes() == OLD
    assert os.listdir(folder) == ["file"]


@pytest.mark.parametrize("piped", [True, False])
def test_standard_output_is_written_to_in_order(folder, piped):
    program = (
        "import os; from skrank._files import write_atomically as write; os.write(1, b'a');"
        "write('/dev/stdout', b'b'); os.write(1, b'c')"
    )
    with open("file", "wb") as file:
        stdout = subprocess.PIPE if piped else file
        done = subprocess.run([sys.executable, "-c", program], stdout=stdout, check=True)
    assert (done.stdout if piped else (folder / "file").read_bytes()) == b"abc"
