"""Boosters trained on Dask by GroupedRanker equal those of one machine; errors."""

import pickle
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
import skrank.dask
import skrank.xgboost
from skrank import GroupedRanker, LinearRanker
from tests.helpers.dask_runs import (
    LGB,
    PATIENCE,
    QUIET,
    Data,
    dd,
    distributed,
    dxgb,
    on_dask,
    start,
    within,
)
from tests.helpers.rankers import fit_with

pytestmark = QUIET
GAP = skrank.LambdaRank("gap@10", tie_order="stable")  # each worker would draw other orders
ERR = replace(GAP, metric=skrank.metric("err"))
# each worker of LightGBM estimates numbers of rows from hessians, so that later trees differ
LIGHT = {name: value for name, value in LGB.items() if name not in ("metric", "time_out")}
LIGHT["n_estimators"] = 5
XGB = {"max_depth": 3, "n_estimators": 40, "n_jobs": 1}


train, valid = Data(0), Data(1, 30)


@pytest.fixture(scope="module", autouse=True)
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def arguments(data, lazy):
    """X, labels, queries and weights, as collections of two partitions if `lazy`."""
    rows = data.X, data.y, data.qid, data.weight
    cut = int(data.sizes[:10].sum())
    return tuple(on_dask(one, (cut,)) for one in rows) if lazy else rows


def both(library, train, valid=None, *, lazy=True, weighted=False, trees=None, **how):
    """Rankers trained on a cluster (of collections if `lazy`), and on one machine."""
    if library == "lightgbm":
        trees = LIGHT | (trees or {})
        spread, alone = lgb.DaskLGBMRanker(**trees, time_out=2), lgb.LGBMRanker(n_jobs=1, **trees)
    else:
        trees = XGB | (trees or {})
        spread, alone = dxgb.DaskXGBRanker(**trees), xgb.XGBRanker(**trees, tree_method="hist")
    fitted = []
    for estimator, on_cluster in ((spread, True), (alone, False)):
        X, y, qid, weight = arguments(train, on_cluster and lazy)
        options = {"sample_weight": weight} if weighted else {}
        if valid is not None:
            names = ("X_val", "y_val", "groups_val")
            options |= zip(names, arguments(valid, on_cluster and lazy), strict=False)
        ranker = GroupedRanker(estimator, **how)
        within(partial(ranker.fit, X, y, qid, **options))
        fitted.append(ranker)
    return fitted


def check_equal(found, alone, data):
    """Equal rounds, starts, values and scores; the fitted ranker needs no cluster."""
    assert found.best_iteration_ == alone.best_iteration_
    assert found.max_grade_ == alone.max_grade_
    assert found.init_factor_ == pytest.approx(alone.init_factor_, rel=1e-6)
    if found.init_factor_:
        np.testing.assert_allclose(found.init_.coef_, alone.init_.coef_, rtol=1e-6, atol=1e-6)
    log, expected = (one.evals_result_.get("validation", {}) for one in (found, alone))
    assert log.keys() == expected.keys()
    for name in log:
        np.testing.assert_allclose(log[name], expected[name], atol=1e-5)
    scores = found.predict(data.X)
    np.testing.assert_allclose(scores, alone.predict(data.X), atol=1e-6)
    assert type(found.estimator_) in (lgb.LGBMRanker, xgb.XGBRanker)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(data.X), scores)
    lazy = found.predict(on_dask(data.X, (50,)))
    assert lazy.dtype == lazy.compute().dtype == np.float64
    np.testing.assert_allclose(lazy.compute(), scores, rtol=1e-9, atol=1e-9)  # BLAS, by partition


@pytest.mark.parametrize(("objective", "lazy"), [(GAP, False), (ERR, True)])
def test_lightgbm_equals_training_on_one_machine(client, objective, lazy):
    """Also on ERR, which needs the highest grade of all workers."""
    found, alone = both("lightgbm", train, lazy=lazy, weighted=lazy, objective=objective)
    check_equal(found, alone, valid)
    assert found.best_iteration_ == 5
    assert found.max_grade_ == 4


STOP = {"objective": GAP, "eval_metric": ["gap@10", "err"], "early_stopping_rounds": 3}
FAST = {"n_estimators": 40, "learning_rate": 0.5}
HELD_OUT = {"valid": None, "validation_fraction": 0.3, "random_state": 0}


@pytest.mark.parametrize(
    "how",
    [
        {"library": "lightgbm", "trees": FAST, "init": "linear", "weighted": True},
        {"library": "lightgbm", "trees": FAST | {"n_estimators": 5}, "early_stopping_rounds": None},
        {"library": "xgboost", "init": Ridge(), "init_scale": None},
        HELD_OUT
        | {"library": "lightgbm", "trees": FAST, "weighted": True, "objective": ERR}
        | {"lazy": False},
        HELD_OUT | {"library": "xgboost", "init": LinearRanker("ndcg"), "options": {"refit": True}},
        HELD_OUT | {"library": "xgboost", "max_queries": 15},
    ],
    ids=str,
)
def test_training_stops_in_the_same_round_as_on_one_machine(client, how):
    found, alone = both(**{"train": train, "valid": valid} | STOP | how)
    check_equal(found, alone, valid)
    assert found.best_iteration_ < 40
    X, y, qid, _ = arguments(valid, lazy=True)
    how = {"metrics": ["gap@10", "err"], "max_grade": found.max_grade_}
    measured = skrank.dask.evaluate(y, found.predict(X), qid, **how).mean.loc["scores"].to_dict()
    here = skrank.scorer("gap@10", "err")(found, valid.X, valid.y, groups=valid.qid)
    assert measured == pytest.approx(here, rel=1e-9)


def test_a_mean_of_rankers_equals_that_of_one_machine(client):
    """The recommended one, of fewer rounds."""
    fitted = []
    for booster, lazy in (("xgboost.dask", True), ("xgboost", False)):
        mean = skrank.recommended_ranker(booster, n_jobs=1, random_state=0)
        for _, ranker in mean.estimators:
            ranker.set_params(estimator__n_estimators=5, objective=GAP)
        X, y, qid, _ = arguments(train, lazy)
        within(partial(mean.fit, X, y, qid))
        fitted.append(mean)
    spread, alone = fitted
    np.testing.assert_allclose(spread.predict(valid.X), alone.predict(valid.X), atol=1e-6)
    lazy = spread.predict(on_dask(valid.X, (50,))).compute()
    np.testing.assert_allclose(lazy, spread.predict(valid.X), rtol=1e-9, atol=1e-9)
    mixed = skrank.RankerMean([*spread.estimators, ("ridge", Ridge())])
    with pytest.raises(ValueError, match="Ridge"):
        mixed.fit(*arguments(train, lazy=True)[:3])


def test_frames_with_nan_categories_and_an_empty_partition(client):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(train.X, columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["site"] = pd.Categorical(rng.choice(["x", "y", "z"], len(frame)))
    rows = frame.assign(y=train.y, qid=train.qid)
    parts = [rows[rows.qid < 12], rows[rows.qid >= 12].iloc[:0], rows[rows.qid >= 12]]
    pieces = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    X = pieces[frame.columns.tolist()]
    light = lgb.DaskLGBMRanker(**LIGHT, time_out=2)
    heavy = dxgb.DaskXGBRanker(**XGB)
    for estimator, init in ((light, None), (heavy, "linear")):
        ranker = GroupedRanker(estimator, objective=GAP, init=init)
        within(lambda ranker=ranker: ranker.fit(X, pieces["y"], pieces["qid"]))
        assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
        scores = ranker.predict(X).compute()
        np.testing.assert_allclose(scores, ranker.predict(frame), rtol=1e-9, atol=1e-9)
        assert scores.index.equals(frame.index)
        with pytest.raises(ValueError, match="feature names"):
            ranker.predict(X[["a", "b"]])
    alone = LinearRanker("gap@10").fit(frame, train.y, train.qid)
    np.testing.assert_allclose(ranker.init_.coef_, alone.coef_, rtol=1e-6)


NAMED = pd.DataFrame(train.X, columns=list("abcd")).assign(
    site=pd.Categorical(np.array(list("xyz"))[train.qid % 3])
)


@pytest.mark.parametrize(("n_train", "n_valid"), [(1, 2), (2, 1)])
def test_each_worker_of_xgboost_gets_rows_of_a_frame(client, n_train, n_valid):
    """Also where there are fewer partitions than workers."""
    cuts = {1: (), 2: (int(np.searchsorted(train.qid, 12)),)}
    rows = NAMED, pd.Series(train.y), pd.Series(train.qid)
    given = [on_dask(one, cuts[n_train]) for one in rows]
    held_out = [on_dask(one, cuts[n_valid]) for one in rows]
    ranker = GroupedRanker(dxgb.DaskXGBRanker(**XGB), **STOP)
    names = ("X_val", "y_val", "groups_val")
    within(lambda: ranker.fit(*given, **dict(zip(names, held_out, strict=True))))
    value = skrank.scorer("gap@10")(ranker, NAMED, train.y, groups=train.qid)
    logged = ranker.evals_result_["validation"]["gap@10"][ranker.best_iteration_ - 1]
    assert logged == pytest.approx(value, abs=1e-5)


def test_xgboost_draws_features_by_their_weights(client):
    one = np.arange(4.0) == 2
    ranker = GroupedRanker(dxgb.DaskXGBRanker(**XGB, colsample_bynode=0.2), objective=GAP)
    within(lambda: ranker.fit(*arguments(train, lazy=True)[:3], feature_weights=one.astype(float)))
    assert ranker.feature_importances_.tolist() == one.tolist()


def test_an_error_on_one_worker_reaches_the_user(client):
    """The other worker does not wait for it, and the cluster trains again."""
    cut = (int(np.searchsorted(train.qid, 12)),)
    for last, raised in ((-1.0, pytest.raises(ValueError, match="is -1")), (0.0, nullcontext())):
        rows = train.X, np.append(train.y[:-1], last), train.qid
        X, y, qid = client.persist([on_dask(one, cut) for one in rows])
        data = dxgb.DaskDMatrix(client, X, y, qid=qid)
        how = {"obj": skrank.xgboost.objective("gap")}
        with raised:
            within(lambda data=data, how=how: dxgb.train(client, {"nthread": 1}, data, 2, **how))


def test_a_search_clones_rankers_with_a_client(client):
    """The client is an attribute that cannot be copied."""
    ranker = GroupedRanker(lgb.DaskLGBMRanker(client=client, **LIGHT, time_out=2), objective=GAP)
    assert clone(ranker).estimator.client is client
    grid, cv = {"estimator__n_estimators": [3]}, skrank.QueryKFold(2)
    search = GridSearchCV(ranker.set_params(scoring="gap@10"), grid, cv=cv, error_score="raise")
    within(lambda: search.fit(train.X, skrank.with_groups(train.y, train.qid)))
    assert search.best_estimator_.best_iteration_ == 3


LIGHTGBM, XGBOOST = lgb.DaskLGBMRanker(**LIGHT), dxgb.DaskXGBRanker(**XGB)
ROWS = np.ones(len(train.y))
SHARE = {"validation_fraction": 0.2}
UNKNOWN = on_dask(NAMED, (int(train.sizes[:10].sum()),))
UNKNOWN["site"] = UNKNOWN["site"].cat.as_unknown()
UNSUPPORTED = [
    (lgb.DaskLGBMRanker(metric="ndcg"), {"objective": None} | SHARE, "eval_metric"),
    (
        lgb.DaskLGBMRanker(bagging_by_query=True, subsample=0.5, subsample_freq=1),
        {},
        "bagging_by_query",
    ),
    (lgb.DaskLGBMRanker(boosting_type="dart"), SHARE | {"early_stopping_rounds": None}, "dart"),
    (LIGHTGBM, {"init": LIGHTGBM}, "init=DaskLGBMRanker"),
    (LIGHTGBM, {"init": "linear", "init_score": ROWS}, "init_score"),
    (XGBOOST, {"sample_weight": ROWS}, "sample_weight"),
    (dxgb.DaskXGBRanker(eval_metric=max), {"objective": None}, "eval_metric of DaskXGBRanker"),
    (lgb.DaskLGBMRegressor(), {"objective": None}, "DaskLGBMRegressor"),
]
OF_COLLECTIONS = [
    (LIGHTGBM, {"options": {"unjudged": "drop"}}, "unjudged"),
    (LIGHTGBM, {"groups": None}, "groups="),
    (LIGHTGBM, {"X": UNKNOWN}, "'site'.*categorize"),
    (LIGHTGBM, {"X_val": train.X, "y_val": train.y}, "X_val.*Dask"),
    (lgb.LGBMRanker(), {}, "LGBMRanker"),
    (RandomForestRegressor(), {"objective": None}, "RandomForestRegressor"),  # has no length yet
]


@pytest.mark.parametrize(
    ("estimator", "how", "message", "lazy"),
    [(*one, False) for one in UNSUPPORTED] + [(*one, True) for one in OF_COLLECTIONS],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_unsupported_arguments_raise(client, estimator, how, message, lazy):
    X, y, qid, _ = arguments(train, lazy)
    ranker = GroupedRanker(estimator, objective="gap")
    with pytest.raises((ValueError, TypeError), match=message):
        within(lambda: fit_with(ranker, X, y, {"groups": qid} | how))
