"""Values, gradients and models have the same bits on every processor.

Compiled code and NumPy's routines depend on the instructions that the processor has, or that the
environment variables below leave: numba's `generic` processor has neither wide vectors nor fused
multiplication and addition. skrank's numbers do not depend on them; those of BLAS and torch may.

Compiling for another processor takes long: large kernels are compared only if SKRANK_MODES=1.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

import skrank
import skrank.lightgbm
import skrank.xgboost
from skrank.datasets import make_ranking
from skrank.extending import plain_up_to
from skrank.metrics import registered

ROOT = Path(__file__).resolve().parents[2]
FOUND = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
DATA = make_ranking(n_queries=60, n_docs=(3, 60), random_state=0)
LABELS, QID, SCORES = DATA.relevance.astype(float), DATA.qid, DATA.X[:, 0]
SIZES = np.bincount(QID)
SOFTMAX = skrank.Softmax(gain="exp2")
ALL = "SKRANK_MODES" in os.environ
METRICS = ["gap", "err(max_grade=4)", "bpref"] if ALL else ["gap"]
OBJECTIVES = [SOFTMAX, skrank.SquaredError(centered=True)]
if ALL:
    OBJECTIVES += [skrank.LambdaRank("gap"), skrank.LambdaRank("err")]
    OBJECTIVES += [skrank.LambdaLoss("ndcg"), skrank.SoftRank("ndcg")]


def digest(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


def trained_by_lightgbm(objective):
    train = lightgbm.Dataset(DATA.X, LABELS, group=SIZES, params={"verbosity": -1})
    params = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_row_wise": True}
    params |= {"objective": skrank.lightgbm.objective(objective), "metric": "None"}
    return lightgbm.train(params, train, num_boost_round=5).predict(DATA.X, num_threads=1)


def trained_by_xgboost(objective):
    matrix = xgboost.DMatrix(DATA.X, LABELS, group=SIZES)
    params = {"nthread": 1, "disable_default_eval_metric": 1}
    return xgboost.train(params, matrix, 5, obj=skrank.xgboost.objective(objective)).predict(matrix)


def digests():
    """Digests of the data, values, gradients and models of this process, by name."""
    found = {"data": digest(DATA.X, LABELS, QID)}
    for name, cls in registered().items():
        metric = cls(max_grade=4) if "max_grade" in cls.__dataclass_fields__ else cls()
        found[name] = digest(metric.per_query(LABELS, SCORES, groups=QID).to_numpy(float))
    with plain_up_to(-1):
        for name in METRICS:
            values = skrank.metric(name).per_query(LABELS, SCORES.round(1), groups=QID)
            found[f"{name}, compiled"] = digest(values.to_numpy(float))
    # in single precision, as boosters take gradients
    for objective in OBJECTIVES:
        found[f"{objective}, LightGBM"] = digest(trained_by_lightgbm(objective))
    found["XGBoost"] = digest(trained_by_xgboost(OBJECTIVES[0]))
    found["double precision"] = digest(*SOFTMAX(LABELS, SCORES, groups=QID))
    return found


def test_bits_do_not_depend_on_the_processor():
    other = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": ",".join(FOUND)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | other,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected, found = json.loads(done.stdout.splitlines()[-1]), digests()
    assert {name for name in found if found[name] != expected[name]} == set()


if __name__ == "__main__":
    print(json.dumps(digests()))
