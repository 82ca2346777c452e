"""Compiled kernels are kept: a second process compiles nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from skrank._kernels import cache

ROOT = Path(__file__).resolve().parents[2]

WORK = """
import importlib, json, pkgutil, sys
import numpy as np
import skrank
import skrank._kernels
from skrank._engine.judgments import judge
from skrank._kernels.forms import Part

labels, scores = np.arange(40.0) % 4, np.arange(40.0)[::-1] % 7
labels[3], scores[5] = np.nan, -np.inf
groups = np.repeat(np.arange(4), 10)
for name in {metrics}:
    for form in (np.asarray, list, lambda a: a.astype(np.float32), lambda a: np.repeat(a, 2)[::2]):
        skrank.metric(name)(form(labels), form(scores), groups=groups)
        skrank.metric(name, ties="worst")(form(labels), form(scores), groups=groups)
compiler = "numba.np.linalg" in sys.modules  # part of it
scores[5] = 0
judgments = judge(labels, groups)
for name in {objectives}:
    bound = skrank.LambdaRank(name).bind(judgments)
    for _ in range(2):
        bound.gradient(scores, *np.empty((2, 40), np.float32))
    bound = skrank.LambdaRank(name, truncation_level=3, tie_order="stable", norm=False, sigmoid=2)
    bound.bind(judgments).gradient(scores, *np.empty((2, 40), np.float32))
    for pairs in ("all", "adjacent"):
        bound = skrank.LambdaRank(name, perturbations=2, pairs=pairs).bind(judgments)
        bound.gradient(scores, *np.empty((2, 40), np.float32))
for name, options in {others}:
    bound = getattr(skrank, name)(**options).bind(judgments)
    for _ in range(2):
        bound.gradient(scores, *np.empty((2, 40), np.float32))

hits = misses = 0
for module in pkgutil.iter_modules(skrank._kernels.__path__, "skrank._kernels."):
    for thing in vars(importlib.import_module(module.name)).values():
        if isinstance(thing, Part) and "compiled" in vars(thing):
            stats = thing.compiled.stats
            hits += sum(stats.cache_hits.values())
            misses += sum(stats.cache_misses.values())
print(json.dumps([hits, misses, compiler]))
"""


def run(folder, **names):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    code = WORK
    for key, value in ({"others": []} | names).items():
        code = code.replace("{" + key + "}", repr(value))
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=ROOT, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "names",
    [
        {"metrics": ["gap@3", "ndcg", "gap(condensed=True)"], "objectives": ["gap", "ndcg@3"]},
        {"metrics": ["err", "rr@2"], "objectives": ["err"]},
        {
            "metrics": [],
            "objectives": [],
            "others": [
                ("LambdaLoss", {"metric": "ndcg@3"}),
                ("SoftRank", {"metric": "gap"}),
                ("SoftRank", {"metric": "ndcg", "form": "distribution"}),
                ("UnbiasedLambdaRank", {"metric": "ndcg@3"}),
            ],
        },
    ],
    ids=["quadratic", "cascade", "other objectives"],
)
def test_a_second_process_compiles_nothing(tmp_path, names):
    hits, misses, compiler = run(tmp_path, **names)
    assert compiler == bool(names["metrics"])
    assert hits == 0
    assert misses > 0
    compiled = misses
    hits, misses, compiler = run(tmp_path, **names)
    assert not compiler  # values need it no more
    assert misses == 0
    assert 0 < hits <= compiled


def twice(x):
    return 2 * x


def loads():
    """Whether a fresh dispatcher finds machine code."""
    dispatcher = cache.compiled(twice)
    assert dispatcher(3) == 6
    return sum(dispatcher.stats.cache_hits.values()) == 1


def test_machine_code_is_as_old_as_any_file_of_kernels(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert [loads(), loads()] == [False, True]
    files = {name: (time, size) for name, time, size in cache._state_of_kernels()}
    own = Path(cache.__file__).stat()
    assert files["cache.py"] == (own.st_mtime, own.st_size)
    assert {"buckets.py", "quadratic_lambdas.py", "tiles.py"} <= set(files)
    time, size = files["buckets.py"]
    for changed in ((time + 1, size), (time, size + 1)):
        after = tuple((name, *(files | {"buckets.py": changed})[name]) for name in sorted(files))
        monkeypatch.setattr(cache, "_state_of_kernels", lambda after=after: after)
        assert [loads(), loads()] == [False, True]
