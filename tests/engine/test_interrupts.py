"""After an interrupt at any moment, later calls have the results of a new process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# 200 interrupts of each objective, and 40 of trainings, take a minute:
# SKRANK_INTERRUPTS=200 pytest -n 0 tests/engine/test_interrupts.py
INTERRUPTS = int(os.environ.get("SKRANK_INTERRUPTS", "25"))

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer signals")

# Calls `work` until a timer interrupts it, several times; after each, `check` must be True.
HARNESS = """
import random, signal, sys
import numpy as np

class Stop(Exception):
    pass

def stop(*_):
    raise Stop

def interrupt(work, check, times, longest):
    stopped = 0
    for _ in range(times):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(longest / 400, longest))
            for _ in range(20):
                work()
        except Stop:
            stopped += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not check():
            sys.exit("a later result differs")
    return stopped

signal.signal(signal.SIGALRM, stop)
random.seed(1)
rng = np.random.default_rng(0)
"""

GRADIENTS = """
import skrank
from skrank._engine.judgments import judge

sizes = np.r_[60_000, np.full(900, 60)]  # one query long enough to be sorted for a while
n = sizes.sum()
labels, rounds = rng.choice(4, n, p=[.7, .2, .07, .03]) * 1.0, rng.normal(size=(3, n))
judgments = judge(labels, np.repeat(np.arange(len(sizes)), sizes))

def gradients(bound):
    out = np.zeros((2, n), np.float32)
    for scores in rounds:
        bound.gradient(scores, *out)
    return out

stopped = 0
for name in ("LambdaRank", "LambdaLoss"):
    objective = getattr(skrank, name)("ndcg@10", truncation_level=3)
    expected, bound = gradients(objective.bind(judgments)), objective.bind(judgments)

    def check():
        bound.gradient(rounds[1][::-1].copy(), *np.zeros((2, n), np.float32))
        return np.array_equal(gradients(bound), expected)

    check()
    stopped += interrupt(lambda: gradients(bound), check, int(sys.argv[1]) // 2, 0.04)
print(stopped)
"""

TRAININGS = """
import skrank.xgboost, xgboost

sizes = np.r_[20_000, np.full(300, 40)]
labels = rng.choice(4, sizes.sum(), p=[.7, .2, .07, .03])
data = xgboost.DMatrix(
    rng.normal(size=(len(labels), 2)), labels, qid=np.repeat(np.arange(len(sizes)), sizes)
)
params = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 2}
alive = []  # an interrupt that a destructor raises is lost

def train(objective):
    alive.append(xgboost.train(params, data, 4, obj=objective))
    return alive[-1].predict(data)

def check():
    alive.clear()
    return np.array_equal(train(objective), expected)

objective, other = (skrank.xgboost.objective("ndcg@10", truncation_level=3) for _ in range(2))
expected = train(other)
print(interrupt(lambda: train(objective), check, int(sys.argv[1]), 0.1))
"""


@pytest.mark.parametrize(
    ("work", "times"), [(GRADIENTS, 2 * INTERRUPTS), (TRAININGS, max(4, INTERRUPTS // 5))]
)
def test_interrupts_at_random_moments_leave_later_results_as_they_were(work, times):
    if work is TRAININGS:
        pytest.importorskip("xgboost")
    done = subprocess.run(
        [sys.executable, "-c", HARNESS + work, str(times)],
        capture_output=True, text=True, cwd=ROOT, check=False,
        env=os.environ | {"NUMBA_NUM_THREADS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == times, done.stderr


WAIT = """
import os, signal, sys, threading, time
import numpy as np
from skrank._engine import threads

running, ran, began = [], [], threading.Event()

def kernel(first, last, indptr):
    running.append(first)
    ran.append(first)
    began.set()
    try:
        time.sleep(1)
    finally:  # where the interrupt comes, if the caller runs it
        running.remove(first)

def interrupt(*_):
    raise KeyboardInterrupt

def send():
    began.wait()
    for _ in range(int(sys.argv[1])):
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGALRM)

signal.signal(signal.SIGALRM, interrupt)
threading.Thread(target=send).start()
try:
    with threads.limit_threads(2):
        threads.run_chunks(kernel, np.arange(0, 1_000_001, 1000))
except KeyboardInterrupt:
    print(len(running), len(ran))
"""


@pytest.mark.parametrize("signals", ["1", "4"])
def test_no_thread_works_on_after_an_interrupt(signals):
    """Also after several interrupts, while the call waits for its threads."""
    done = subprocess.run(
        [sys.executable, "-c", WAIT, signals],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.stdout == "0 2\n", done.stderr  # of 8 chunks, on 2 threads
