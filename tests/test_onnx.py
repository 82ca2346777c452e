"""save_onnx: one graph for the start and the trees, equal to `predict`, and what it refuses."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer

import skrank
from skrank import GroupedRanker, LinearRanker, RankerMean
from skrank.datasets import make_ranking

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

DATA = make_ranking(40, n_docs=(5, 15), n_features=6, n_informative=4, random_state=0)
X, LABELS, QID = DATA.X, DATA.relevance, DATA.qid
Y = skrank.with_groups(LABELS, QID)
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
LGBM = lightgbm.LGBMRanker(n_estimators=30, num_leaves=7, n_jobs=1, verbosity=-1)
XGB = xgboost.XGBRanker(n_estimators=30, max_depth=3, n_jobs=1)
CAT = catboost.CatBoostRanker(
    iterations=30, depth=3, verbose=False, allow_writing_files=False, thread_count=1,
    loss_function="YetiRank", random_seed=0,
)  # fmt: skip
LINEAR = LinearRanker(options={"max_iter": 20, "tol": 1e-3})
BOOSTERS = {
    "lightgbm": GroupedRanker(LGBM, objective="gap"),
    "lightgbm itself": GroupedRanker(LGBM),
    "xgboost": GroupedRanker(XGB, objective="gap"),
    "xgboost itself": GroupedRanker(XGB),
    "catboost": GroupedRanker(CAT),
}
STOP = {
    "validation_fraction": 0.3, "early_stopping_rounds": 5, "random_state": 0,
    "eval_metric": "ndcg@10",
}  # fmt: skip
each_booster = pytest.mark.parametrize("ranker", BOOSTERS.values(), ids=BOOSTERS)


def served(ranker, rows, path):
    skrank.save_onnx(ranker, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"X": rows})
    assert scores.shape == (len(rows),)
    assert scores.dtype == np.float64
    return scores


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ranker.onnx")


@each_booster
@pytest.mark.parametrize("options", [{}, {"init": "linear"}, STOP | {"init": "linear"}])
def test_scores_are_those_of_predict(ranker, options, path):
    fitted = clone(ranker).set_params(**options).fit(pd.DataFrame(X, columns=list("abcdef")), Y)
    near = np.nextafter(X, np.inf)  # so that comparisons in single precision would differ
    for rows in (X, near, X.astype(np.float32).astype(np.float64)):
        expected = fitted.predict(pd.DataFrame(rows, columns=list("abcdef")))
        np.testing.assert_allclose(served(fitted, rows, path), expected, rtol=1e-5, atol=1e-5)


@each_booster
@pytest.mark.parametrize("train", [X, HOLES], ids=["complete", "with holes"])
def test_missing_values_go_where_the_booster_sends_them(ranker, train, path):
    fitted = ranker.fit(train, Y)
    if ranker is BOOSTERS["catboost"] and train is X:
        pytest.skip("CatBoost refuses NaN in features that had none")
    np.testing.assert_allclose(
        served(fitted, HOLES, path), fitted.predict(HOLES), rtol=1e-5, atol=1e-5
    )


def test_linear_rankers_and_means(path):
    start = LINEAR.fit(X, Y)
    np.testing.assert_allclose(served(start, X, path), start.predict(X), rtol=1e-12, atol=1e-12)
    members = [BOOSTERS["lightgbm"], BOOSTERS["catboost"], ("start", LINEAR), ("flat", FLAT)]
    recommended = skrank.recommended_ranker(n_jobs=1, random_state=0)
    for mean in (RankerMean(members, weights=[3, 2, 1, 1]), recommended):
        scores = mean.fit(X, Y).predict(X)
        np.testing.assert_allclose(served(mean, X, path), scores, rtol=1e-5, atol=1e-5)


FLAT = LinearRanker(alpha=1e9, positive=True)


@pytest.mark.parametrize("features", ["standard", "log"])
def test_features_of_linear_rankers(features, path):
    heavy = np.where(np.isnan(HOLES), np.nan, np.sinh(4 * HOLES))
    rows = pd.DataFrame(heavy).add_prefix("f")
    expected = (fitted := LinearRanker(features=features).fit(rows, Y)).predict(rows)
    np.testing.assert_allclose(served(fitted, heavy, path), expected, rtol=1e-9, atol=1e-9)
    single = LinearRanker(features=features).fit(X.astype(np.float32), Y)  # medians replace NaN
    expected = single.predict(HOLES.astype(np.float32))
    np.testing.assert_allclose(served(single, HOLES, path), expected, rtol=1e-4, atol=1e-4)


def test_transformers_of_linear_rankers(path):
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="mean")), [3, 0, 1]),
        (SimpleImputer(add_indicator=True), slice(4, 6)),
    )
    fitted = LinearRanker(features=steps).fit(HOLES, Y)
    np.testing.assert_allclose(served(fitted, HOLES, path), fitted.predict(HOLES), rtol=1e-9)


def test_a_booster_without_trees_scores_its_base_score(path):
    fitted = GroupedRanker(xgboost.XGBRanker(n_estimators=0, base_score=0.25)).fit(X, Y)
    assert set(served(fitted, X, path)) == set(fitted.predict(X)) == {0.25}


CATEGORY = pd.DataFrame(X).add_prefix("f").assign(f0=pd.Categorical(LABELS.astype(int)))
TEXTS = CATEGORY[["f0"]].astype(str).astype("category")
ONE_HOT = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
QUIET = {"n_estimators": 5, "verbosity": -1, "n_jobs": 1}


def xgb(**parameters):
    return GroupedRanker(xgboost.XGBRanker(n_estimators=5, n_jobs=1, **parameters))


@pytest.mark.parametrize(
    ("ranker", "rows", "message"),
    [
        (GroupedRanker(Ridge()), X, "Ridge"),
        (LinearRanker(), CATEGORY, "FunctionTransformer"),
        (LinearRanker(features=ONE_HOT), TEXTS, "SimpleImputer"),
        (LinearRanker(features=QuantileTransformer(n_quantiles=9)), X, "QuantileTransformer"),
        (GroupedRanker(lightgbm.LGBMRegressor(**QUIET)), X, "LGBMRegressor"),
        (GroupedRanker(LGBM), CATEGORY, "LightGBM"),
        (xgb(enable_categorical=True), CATEGORY, "XGBoost"),
        (xgb(booster="gblinear"), X, "gblinear"),
        (xgb(missing=0.0), X, "missing=0"),
        (GroupedRanker(clone(LGBM).set_params(zero_as_missing=True)), X.round(), "zero_as_missing"),
        (GroupedRanker(clone(LGBM).set_params(linear_tree=True)), X, "linear_tree"),
        (GroupedRanker(clone(LGBM).set_params(objective="poisson")), X, "poisson"),
        (GroupedRanker(clone(LGBM).set_params(objective="l2", reg_sqrt=True)), X, "sqrt"),
        (GroupedRanker(clone(CAT).set_params(nan_mode="Max")), HOLES, "nan_mode"),
        (GroupedRanker(clone(CAT).set_params(grow_policy="Lossguide")), X, "symmetric"),
    ],
)
def test_what_a_graph_cannot_hold_is_refused(ranker, rows, message, path):
    with pytest.raises((TypeError, ValueError), match=message):
        skrank.save_onnx(ranker.fit(rows, Y), path)


def test_a_scale_of_catboost_is_refused(path):
    ranker = BOOSTERS["catboost"].fit(X, Y)
    ranker.estimator_.set_scale_and_bias(2.0, 0.0)
    with pytest.raises(ValueError, match="CatBoost"):
        skrank.save_onnx(ranker, path)
