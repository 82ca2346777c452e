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

WORK = """
import random, signal, sys
import numpy as np
import skrank
from skrank._engine.judgments import judge

rng = np.random.default_rng(0)
sizes = np.r_[60_000, np.full(900, 60)]  # one query long enough to be sorted for a while
groups = np.repeat(np.arange(len(sizes)), sizes)
n = len(groups)
labels, rounds = rng.choice(4, n, p=[.7, .2, .07, .03]) * 1.0, rng.normal(size=(3, n))
judgments = judge(labels, groups)
objectives = [
    skrank.LambdaRank("ndcg@10", truncation_level=3),
    skrank.UnbiasedLambdaRank("ndcg@5", truncation_level=3),
]

def gradients(bound):
    if hasattr(bound, "restart"):
        bound.restart()
    bound.round = 0
    out = np.zeros((2, n), np.float32)
    for scores in rounds:
        bound.gradient(scores, *out)
    return out

class Stop(Exception):
    pass

def stop(*_):
    raise Stop

signal.signal(signal.SIGALRM, stop)
random.seed(int(sys.argv[2]))
stopped = 0
for objective in objectives:
    expected = gradients(objective.bind(judgments))
    bound = objective.bind(judgments)
    gradients(bound)
    for _ in range(int(sys.argv[1])):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 0.04))
            for _ in range(20):
                gradients(bound)
        except Stop:
            stopped += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        bound.gradient(rounds[1][::-1].copy(), *np.zeros((2, n), np.float32))
        if not np.array_equal(gradients(bound), expected):
            sys.exit("a later value differs")
print(stopped)
"""


def test_interrupts_at_random_moments_leave_later_values_as_they_were():
    environment = os.environ | {"NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", WORK, str(INTERRUPTS), "1"],
        capture_output=True, text=True, cwd=ROOT, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 2 * INTERRUPTS, done.stderr


TRAIN = """
import random, signal, sys
import numpy as np
import skrank.xgboost, xgboost

rng = np.random.default_rng(0)
sizes = np.r_[20_000, np.full(300, 40)]
labels = rng.choice(4, sizes.sum(), p=[.7, .2, .07, .03])
data = xgboost.DMatrix(
    rng.normal(size=(len(labels), 2)), labels, qid=np.repeat(np.arange(len(sizes)), sizes)
)
params = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 2}

class Stop(Exception):
    pass

def stop(*_):
    raise Stop

alive = []  # what a destructor raises goes no further

def train(objective):
    alive.append(xgboost.train(params, data, 4, obj=objective))
    return alive[-1].predict(data)

def objective():
    return skrank.xgboost.objective("ndcg@10", truncation_level=3)

signal.signal(signal.SIGALRM, stop)
random.seed(0)
expected = train(objective())
kept, stopped = objective(), 0
for _ in range(int(sys.argv[1])):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-3, 0.1))
        for _ in range(20):
            train(kept)
    except Stop:
        stopped += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    alive.clear()
    if not np.array_equal(train(kept), expected):
        sys.exit("a later model differs")
print(stopped)
"""


def test_a_training_that_is_interrupted_and_begun_anew_gives_the_same_model():
    pytest.importorskip("xgboost")
    environment = os.environ | {"NUMBA_NUM_THREADS": "2"}
    trainings = max(4, INTERRUPTS // 5)
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(trainings)],
        capture_output=True, text=True, cwd=ROOT, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == trainings, done.stderr


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
