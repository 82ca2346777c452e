"""The first use of an installation says why it takes seconds; later ones say nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skrank._kernels import compiling

ROOT = Path(__file__).resolve().parents[2]
WORK = """
import numpy as np
from skrank._kernels import labels
for kind in (np.uint8, np.int32):
    labels.count(0, 1, np.array([0, 2]), np.zeros(2, kind), np.zeros((1, 1), np.int64))
"""
OF_A_USER = """
import numba
numba.njit(lambda x: x + 1)(1)
from skrank._kernels import labels
numba.njit(lambda x: x + 2)(1)
numba.njit(eval("lambda x: x + 3", {}))(1)  # of no module
"""


def said(folder, quiet=None, work=WORK):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    environment.pop("SKRANK_QUIET")
    if quiet is not None:
        environment["SKRANK_QUIET"] = quiet
    done = subprocess.run(
        [sys.executable, "-c", work], env=environment, cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == ""
    return done.stderr


def test_it_is_said_once_and_not_where_nothing_is_compiled(tmp_path):
    assert said(tmp_path) == compiling.MESSAGE + "\n"
    assert said(tmp_path) == ""


@pytest.mark.parametrize(("quiet", "message"), [("1", ""), ("0", compiling.MESSAGE + "\n")])
def test_it_can_be_silenced(tmp_path, quiet, message):
    assert said(tmp_path, quiet) == message


def test_what_others_compile_is_their_affair(tmp_path):
    assert said(tmp_path, work=OF_A_USER) == ""
