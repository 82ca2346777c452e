"""Features in files: the code of the page on external memory trains the model of arrays."""

import gc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skrank
import skrank.lightgbm
import skrank.xgboost
from tests.helpers.pages import run

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost", minversion="3.0")
pytest.importorskip("pyarrow")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user_guide" / "external_memory.md"
BINS = {"max_bin": 64, "nthread": 1, "max_depth": 4, "disable_default_eval_metric": 1}
TREES = {"max_bin": 63, "num_threads": 1, "num_leaves": 15, "metric": "None", "verbosity": -1}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The variables of the page after it ran, in the folder of its files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("external"))
        names, missing = run(PAGE)
        assert missing == []
        yield names
        names.clear()  # matrices delete their files, whose paths are relative
        gc.collect()


@pytest.fixture(scope="module")
def train(page):
    return pd.concat(page["batches"](0, 80)).astype(dict.fromkeys(page["features"], "float32"))


def boosted(matrix, **params):
    objective = skrank.xgboost.objective("gap")
    metric = skrank.xgboost.eval_metric("gap@10")
    log = {}
    booster = xgb.train(
        BINS | params, matrix, 20, obj=objective, custom_metric=metric, evals=[(matrix, "train")],
        evals_result=log, verbose_eval=False,
    )  # fmt: skip
    return booster, log["train"]["gap@10"]


def test_xgboost_trains_the_same_from_files(page, train):
    X, y, qid = (train[names].to_numpy() for names in (page["features"], "label", "qid"))
    files = xgb.ExtMemQuantileDMatrix(page["RowGroups"]("train.parquet", "bins"), max_bin=64)
    memory = xgb.QuantileDMatrix(page["RowGroups"]("train.parquet", None), max_bin=64)
    np.testing.assert_array_equal(
        np.diff(files.get_uint_info("group_ptr")), np.unique(qid, return_counts=True)[1]
    )
    (one, values), (other, expected) = boosted(files), boosted(memory)
    rows = xgb.DMatrix(X, feature_names=page["features"])
    np.testing.assert_allclose(one.predict(rows), other.predict(rows), rtol=1e-5)
    np.testing.assert_allclose(one.predict(files), one.predict(rows), rtol=1e-6)
    assert values == expected
    mean = skrank.metric("gap@10")(y, one.predict(rows), groups=qid)
    assert values[-1] == pytest.approx(mean, abs=1e-6)


def test_lightgbm_trains_the_same_from_sequences_and_binary_files(page, train):
    X, y, qid = (train[names].to_numpy() for names in (page["features"], "label", "qid"))
    sizes = np.unique(qid, return_counts=True)[1]
    params = {"max_bin": 63, "verbosity": -1}
    sources = [
        lgb.Dataset(X, y, group=sizes, params=params),
        page["dataset"]("train.parquet"),
        lgb.Dataset("train.bin", params=params),
    ]
    objective = skrank.lightgbm.objective("gap")
    found, logs = [], []
    for source in sources:
        log = {}
        booster = lgb.train(
            TREES | {"objective": objective}, source, 20, [source],
            feval=skrank.lightgbm.eval_metric("gap@10"), callbacks=[lgb.record_evaluation(log)],
        )  # fmt: skip
        found.append(booster.predict(X))
        logs.append(log["training"]["gap@10"])
    for scores, log in zip(found[1:], logs[1:], strict=True):
        np.testing.assert_allclose(scores, found[0], rtol=1e-6)
        assert log == pytest.approx(logs[0])
    assert logs[0][-1] == pytest.approx(skrank.metric("gap@10")(y, found[0], groups=qid))
