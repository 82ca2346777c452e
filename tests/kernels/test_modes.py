"""The kernels under bounds checking, and as plain Python without compilation: same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Small cases for every family of kernels, with ties, documents not judged and not retrieved, wide
# scores, and queries of one document.
WORK = """
import json, warnings
import numpy as np
import skrank

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
sizes = [1, 2, 19, 9]
groups = np.repeat(np.arange(4), sizes)
labels = rng.choice(4, len(groups)) * 1.0
scores = rng.normal(size=len(groups)).round(1)
judged, shown = labels.copy(), scores.copy()
judged[[4, 9]], shown[[5, 20]] = np.nan, -np.inf
found = []
for name in [
    "gap@3", "gap(condensed=True)", "ndcg", "q", "err", "rr@2", "bpref", "bpref(variant=10)",
    "rpref", "0.5*gap+0.5*err", "infap(ties=worst)", "iprec(ties=best)",
]:
    for ties in ("average", "worst") if "ties" not in name else (None,):
        metric = skrank.metric(name, **({} if ties is None else {"ties": ties}))
        found += metric.per_query(judged, shown, groups=groups).fillna(-1).tolist()
objectives = [
    skrank.LambdaRank("gap"), skrank.LambdaRank("err", truncation_level=4),
    skrank.LambdaRank("0.5*gap+0.5*ndcg", perturbations=2, pairs="adjacent"),
    skrank.LambdaRank("err", pairs="adjacent"), skrank.LambdaLoss("ndcg@5"),
    skrank.UnbiasedLambdaRank("ndcg@5"), skrank.SoftRank("gap"), skrank.SoftRank("ndcg"),
    skrank.SoftRank("ndcg@5", form="distribution"), skrank.SquaredError(centered=True),
    skrank.Softmax(random_gains=True),
]
from skrank._engine.judgments import judge
for objective in objectives:
    for dtype in (np.float32, np.float64):
        for width in (1.0, 500.0):
            bound = objective.bind(judge(labels, groups), max_grade=3)
            out = np.zeros((2, len(labels)), dtype)
            for _ in range(2):
                bound.gradient(width * scores, *out)
            found += out.ravel().tolist()
print(json.dumps(found))
"""


def run(**environment):
    done = subprocess.run(
        [sys.executable, "-c", WORK],
        capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@pytest.fixture(scope="module")
def compiled():
    return run()


def test_without_compilation(compiled):
    np.testing.assert_allclose(run(NUMBA_DISABLE_JIT="1"), compiled, rtol=1e-4, atol=1e-5)


def test_under_bounds_checking(compiled):
    """In a cache of its own: numba does not tell checked machine code from other."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "checked"
    checked = run(NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(folder))
    np.testing.assert_allclose(checked, compiled, rtol=1e-4, atol=1e-5)
