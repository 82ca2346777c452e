"""Threads of skrank in child processes, at exit, and interrupted."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# each part prints True
PROGRAM = """
import atexit, os, signal, threading, time, warnings
import numpy as np, skrank
from skrank.extending import run_chunks
warnings.simplefilter('ignore')
rng = np.random.default_rng(0)
n = 150_000
groups = np.repeat(np.arange(n // 50), 50)
relevance, scores = rng.integers(0, 4, n) * 1.0, rng.normal(size=n)
def value():
    return skrank.metric("gap")(relevance, scores, groups=groups)
first = value()

# functools.cached_property of Python 3.11 holds a lock that a child would wait for
codes, busy = [], True
def work():
    while busy:
        value()
others = [threading.Thread(target=work) for _ in range(3)]
for one in others: one.start()
for _ in range(8 if hasattr(os, "fork") else 0):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if value() == first else 1)
    codes.append(os.waitpid(child, 0)[1])
busy = False
for one in others: one.join()
print(not any(codes))

began, running = [], []
def kernel(first, last, indptr):
    began.append(first)
    running.append(first)
    try:
        time.sleep(1)
    finally:
        running.remove(first)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    run_chunks(kernel, np.arange(0, 1_000_001, 1000))
except KeyboardInterrupt:
    print(not running and len(began) == 4)  # of 16 chunks, on 4 threads

# at exit, executors of the standard library refuse new tasks
atexit.register(lambda: print(value() == first))
"""


def test_children_interrupts_and_the_end_of_a_process():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=120,
        env=os.environ | {"NUMBA_NUM_THREADS": "4"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr, done.stderr
    assert done.stdout.split() == ["True"] * 3
