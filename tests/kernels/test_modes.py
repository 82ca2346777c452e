"""Tests of each family of kernels also pass under bounds checking, and without compilation.

These take minutes: SKRANK_MODES=1 pytest tests/kernels/test_modes.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OBJECTIVES = "tests/objectives"
PROPERTIES = "tests/metrics/test_properties.py::test_values_equal_the_definition"
LITERAL = "literal_double_loop"
POINTS = "gap ndcg@3 q err@2 bpref rpref inst bpm iprec(recall=0.5) infap"

# The tests of one process
TESTS = {
    "values": [f"{PROPERTIES}[{point}]" for point in POINTS.split()],
    "pairs": [
        f"{OBJECTIVES}/test_lambdarank.py::test_lambdas_are_the_{LITERAL}[{{}}-gap]",
        f"{OBJECTIVES}/test_lambdarank.py::test_lambdas_are_the_{LITERAL}[{{}}-err@2]",
        f"{OBJECTIVES}/test_lambdarank.py::test_scores_of_any_range[{{}}-gap-clusters]",
        f"{OBJECTIVES}/test_lambdarank.py::test_scores_of_any_range[{{}}-err-clusters]",
        f"{OBJECTIVES}/test_lambdarank.py::test_lengths_around_a_tile[gap-529]",
        f"{OBJECTIVES}/test_lambdaloss.py::test_gradients_are_the_{LITERAL}[ndcg@3-{{}}]",
    ],
    "soft and listwise": [
        f"{OBJECTIVES}/test_softrank.py::test_values_are_those_of_the_definition",
        f"{OBJECTIVES}/test_softrank.py::test_gradients_are_finite_differences_of_the_definition",
        f"{OBJECTIVES}/test_softrank.py::test_pairs_that_are_not_kept_are_made_again",
        f"{OBJECTIVES}/test_listwise.py",
    ],
}


@pytest.mark.skipif("SKRANK_MODES" not in os.environ, reason="SKRANK_MODES is not set")
@pytest.mark.parametrize("mode", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
@pytest.mark.parametrize("name", TESTS)
def test_other_modes_of_numba(name, mode):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", *TESTS[name]],
        capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | {mode: "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
