"""`python -m skrank.warmup` leaves nothing to compile for what people do first.

It compiles all kernels, which takes minutes: SKRANK_MODES=1 pytest tests/project/test_warmup.py
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.compiled import NAMES_OF_COMPILED

ROOT = Path(__file__).resolve().parents[2]

FIRST_USE = (
    'import runpy; runpy.run_module("skrank.warmup", run_name="__main__")'
    + NAMES_OF_COMPILED
    + """
import io
import lightgbm, numpy as np, skrank
from skrank import trec

rng = np.random.default_rng(0)
labels, scores, groups = rng.integers(0, 3, 60), rng.normal(size=60), np.repeat(np.arange(6), 10)
skrank.evaluate(labels, scores, groups=groups)
skrank.evaluate(labels.astype(float), scores.astype("f4"), groups=groups, metrics=["ndcg@2", "err"])
skrank.LambdaRank("gap")(labels, scores, groups=groups)
model = lightgbm.LGBMRanker(n_estimators=2, min_child_samples=1, verbosity=-1)
data = scores[:, None], skrank.with_groups(labels, groups)
skrank.GroupedRanker(model, objective="gap", validation_fraction=0.5).fit(*data)
trec.evaluate(io.StringIO("1 0 a 1\\n1 0 b 0\\n"), {"r": io.StringIO("1 Q0 a 1 2 r\\n")})
print(*Compiled.names)
"""
)


@pytest.mark.skipif("SKRANK_MODES" not in os.environ, reason="SKRANK_MODES is not set")
def test_first_use_compiles_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST_USE], cwd=ROOT, capture_output=True,
        text=True, check=False, env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "\n"
