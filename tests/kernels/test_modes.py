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
    for width in (1.0, 500.0):
        bound = objective.bind(judge(labels, groups), max_grade=3)
        out = np.zeros((2, len(labels)), np.float32)
        for _ in range(2):
            bound.gradient(width * scores, *out)
        found += out.ravel().tolist()
print(json.dumps(found))
"""

# The kernels of other rooms: swaps, moments under random labels, maximum entropy, files of TREC.
OTHERS = """
import json, tempfile, warnings
from pathlib import Path
import numpy as np
import skrank
from skrank import informativeness, trec
from skrank._engine.judgments import judge
from skrank.active import label_moments

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
found = []
for name in ("gap", "ndcg@2", "err@3"):
    judgments = judge(np.array([0.0, 2, 1, 2, 0]), None)
    plan = skrank.metric(name).bind(judgments, max_grade=2)
    found += np.triu(plan.tables.deltas(judgments.codes), 1).ravel().tolist()
one, two = rng.normal(size=(2, 6)).round(1)
one[1] = two[4] = -np.inf
groups = np.array([0, 0, 0, 0, 0, 1])
chances = rng.dirichlet(np.ones(3), 6)
for name in ("dcg@3", "err(max_grade=2)", "ap@2", "gap(max_grade=2)"):
    for other in (None, two) if name in ("dcg@3", "err(max_grade=2)") else (None,):
        options = {"other": other, "label_model": chances}
        moments = label_moments(name, one, groups, **options)
        found += [*moments.first, *moments.second, *moments.mass]
for name, value in (("gap(thresholds=[.4,.6])", 0.75), ("dcg", 4.0)):
    spread = informativeness.maximum_entropy(name, value, [2, 2], 8)
    found += [spread.entropy, spread.error([0, 2, 1, 0, 0, 2, 1, 0]), *spread.probabilities.ravel()]
with tempfile.TemporaryDirectory() as folder:
    qrels, run = Path(folder) / "qrels", Path(folder) / "run"
    qrels.write_text("".join(f"q{i} 0 d{j} {(i + j) % 3}\\n" for i in range(3) for j in range(7)))
    run.write_text("".join(
        f"q{i} Q0 d{j} {j} {(i * j) % 4}.5e0 tag\\n" for i in range(3) for j in range(2, 9)
    ))
    report = trec.evaluate(qrels, run, ["gap", "ap", "ndcg@3"])
    found += np.ravel(report.mean).tolist()
print(json.dumps(found))
"""


def run(work, **environment):
    done = subprocess.run(
        [sys.executable, "-c", work],
        capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@pytest.fixture(scope="module", params=[WORK, OTHERS], ids=["values and gradients", "others"])
def work(request):
    return request.param


@pytest.fixture(scope="module")
def compiled(work):
    return run(work)


def test_without_compilation(work, compiled):
    found = run(work, NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(found, compiled, rtol=1e-4, atol=1e-5)


def test_under_bounds_checking(work, compiled):
    """In a cache of its own: numba does not tell checked machine code from other."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "checked"
    checked = run(work, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(folder))
    np.testing.assert_allclose(checked, compiled, rtol=1e-4, atol=1e-5)
