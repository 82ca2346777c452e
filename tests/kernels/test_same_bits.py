"""Values, gradients and models have the same bits on every processor.

Compiled code and NumPy's routines depend on the instructions that the processor has, or that the
environment variables below leave: numba's `generic` processor has neither wide vectors nor fused
multiplication and addition. skrank's numbers do not depend on them; those of BLAS and torch may.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FOUND = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])

WORK = """
import hashlib, json
import lightgbm, numpy as np, xgboost
import skrank, skrank.lightgbm, skrank.xgboost
from skrank.datasets import make_ranking
from skrank.extending import plain_up_to
from skrank.metrics import registered

def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()

data = make_ranking(n_queries=60, n_docs=(3, 60), random_state=0)
labels, qid = data.relevance.astype(float), data.qid
scores = data.X[:, 0]
found = {"data": digest(data.X, labels, qid)}

for name, cls in registered().items():
    metric = cls(max_grade=4) if "max_grade" in cls.__dataclass_fields__ else cls()
    found[name] = digest(metric.per_query(labels, scores, groups=qid).to_numpy(float))
with plain_up_to(-1):
    for name in ("gap", "err(max_grade=4)", "bpref"):
        value = skrank.metric(name).per_query(labels, scores.round(1), groups=qid)
        found[f"{name}, compiled"] = digest(value.to_numpy(float))

# each file of kernels; boosters take gradients in single precision
objectives = [
    *map(skrank.LambdaRank, ("gap", "err")), skrank.LambdaLoss("ndcg"), skrank.SoftRank("ndcg"),
    skrank.Softmax(gain="exp2"), skrank.SquaredError(centered=True),
]
sizes = np.bincount(qid)
train = lightgbm.Dataset(data.X, labels, group=sizes, params={"verbosity": -1})
params = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_row_wise": True}
for objective in objectives:
    params |= {"objective": skrank.lightgbm.objective(objective), "metric": "None"}
    booster = lightgbm.train(params, train, num_boost_round=5)
    found[f"{objective}, LightGBM"] = digest(booster.predict(data.X, num_threads=1))
matrix = xgboost.DMatrix(data.X, labels, group=sizes)
params = {"nthread": 1, "disable_default_eval_metric": 1}
booster = xgboost.train(params, matrix, 5, obj=skrank.xgboost.objective(objectives[0]))
found["XGBoost"] = digest(booster.predict(matrix))
found["double precision"] = digest(*objectives[-2](labels, scores, groups=qid))
print(json.dumps(found))
"""


def digests(**settings):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WORK], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | settings, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_bits_do_not_depend_on_the_processor():
    native = digests()
    other = digests(NUMBA_CPU_NAME="generic", NPY_DISABLE_CPU_FEATURES=",".join(FOUND))
    assert {name for name in native if native[name] != other[name]} == set()
