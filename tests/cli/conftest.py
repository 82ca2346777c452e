"""Files in the working directory, and calls of the command, for all tests of this folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import skrank
from skrank.cli import main

RUNS = {
    "bm25": "1 Q0 a 1 2 bm25\n1 Q0 x 2 1 bm25\n2 Q0 a 1 1 bm25\n3 Q0 a 1 1 bm25\n",
    "dense": "1 Q0 b 1 2 dense\n1 Q0 a 2 1 dense\n2 Q0 x 1 3 dense\n2 Q0 a 2 1 dense\n"
    "3 Q0 a 1 3 dense\n",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Names of a qrels file and two runs."""
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n3 0 a 1\n")
    for name, text in RUNS.items():
        Path(name).write_text(text)
    return ["qrels", *RUNS]


@pytest.fixture
def call(capsys):
    """Run the command: its status, output and errors."""

    def call(*arguments):
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as stopped:
            status = stopped.code
        out, err = capsys.readouterr()
        return status, out, err

    return call


@pytest.fixture(autouse=True)
def this_package(monkeypatch):
    """Child processes import the tested package, not an installed one."""
    monkeypatch.setenv("PYTHONPATH", str(Path(skrank.__file__).parents[1]))


@pytest.fixture
def python():
    """Run Python in a process of its own, with environment variables, perhaps in a shell."""

    def python(*arguments, before=(), text=True, given=None, **environment):
        return subprocess.run(
            [*before, sys.executable, *arguments], env=os.environ | environment, text=text,
            input=given, capture_output=True, check=False,
        )  # fmt: skip

    return python
