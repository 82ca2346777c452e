"""A process that is forked while another thread is inside a callable."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WORK = """
import os, threading
import numpy as np
import skrank.lightgbm

inside, go = threading.Event(), threading.Event()
objective = skrank.lightgbm.objective("gap")
labels, scores, group = np.array([0.0, 1, 2]), np.array([0.3, 0.2, 0.1]), np.array([3])
expected = objective(labels, scores, None, group)[0]
copied = objective.__deepcopy__({})

def hold():
    with objective._lock, copied._lock:
        inside.set()
        go.wait()

thread = threading.Thread(target=hold)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    same = all(
        np.array_equal(one(labels, scores, None, group)[0], expected) for one in (objective, copied)
    )
    os._exit(7 if same else 8)
_, status = os.waitpid(child, 0)
go.set()
thread.join()
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_does_not_wait_for_a_thread_of_its_parent():
    pytest.importorskip("lightgbm")
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        capture_output=True, text=True, cwd=ROOT, check=True, env=os.environ, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["7"]
