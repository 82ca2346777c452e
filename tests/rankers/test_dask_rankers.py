"""GroupedRanker with DaskLGBMRanker and DaskXGBRanker equals training on one machine."""

import pickle
from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
import skrank.dask
from skrank import GroupedRanker
from tests.helpers.dask_runs import (
    LGB,
    PATIENCE,
    QUIET,
    Data,
    da,
    dd,
    distributed,
    dxgb,
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


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def on_dask(data, first=10):
    """Arrays of two partitions of whole queries: X, labels, queries and weights."""
    cut = int(data.sizes[:first].sum())
    chunks = (cut, len(data.y) - cut)
    X = da.from_array(data.X, chunks=(chunks, -1))
    return X, *(da.from_array(one, chunks=(chunks,)) for one in (data.y, data.qid, data.weight))


def arguments(data, lazy):
    return on_dask(data) if lazy else (data.X, data.y, data.qid, data.weight)


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
        within(
            lambda ranker=ranker, X=X, y=y, qid=qid, options=options: ranker.fit(
                X, y, qid, **options
            )
        )
        fitted.append(ranker)
    return fitted


def check_equal(found, alone, data):
    """Equal rounds, starts, values and scores; the fitted ranker needs no cluster."""
    assert found.best_iteration_ == alone.best_iteration_
    assert found.max_grade_ == alone.max_grade_
    assert found.init_factor_ == pytest.approx(alone.init_factor_, rel=1e-6)
    log, expected = (one.evals_result_.get("validation", {}) for one in (found, alone))
    assert log.keys() == expected.keys()
    for name in log:
        np.testing.assert_allclose(log[name], expected[name], atol=1e-5)
    scores = found.predict(data.X)
    np.testing.assert_allclose(scores, alone.predict(data.X), atol=1e-6)
    assert type(found.estimator_) in (lgb.LGBMRanker, xgb.XGBRanker)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(data.X), scores)
    lazy = found.predict(on_dask(data)[0])
    assert lazy.dtype == lazy.compute().dtype == np.float64
    np.testing.assert_array_equal(lazy.compute(), scores)


@pytest.mark.parametrize("objective", [GAP, ERR])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_lightgbm_equals_training_on_one_machine(client, objective, weighted, lazy):
    """Also on ERR, which needs the highest grade of all workers."""
    found, alone = both("lightgbm", train, lazy=lazy, weighted=weighted, objective=objective)
    check_equal(found, alone, valid)
    assert found.best_iteration_ == 5
    assert found.max_grade_ == 4


STOP = {"objective": GAP, "eval_metric": ["gap@10", "err"], "early_stopping_rounds": 3}
FAST = {"n_estimators": 40, "learning_rate": 0.5}
HELD_OUT = {"validation_fraction": 0.3, "random_state": 0}


@pytest.mark.parametrize(
    "how",
    [
        {"library": "lightgbm", "trees": FAST},
        {"library": "lightgbm", "trees": FAST, "init": "linear", "weighted": True},
        {"library": "lightgbm", "trees": FAST | {"n_estimators": 5}, "early_stopping_rounds": None},
        {"library": "xgboost"},
        {"library": "xgboost", "init": "linear"},
        {"library": "xgboost", "init": "linear", "init_scale": None},
    ],
    ids=str,
)
def test_collections_stop_in_the_same_round_as_on_one_machine(client, how):
    found, alone = both(train=train, valid=valid, **STOP | how)
    check_equal(found, alone, valid)
    assert found.best_iteration_ < 40
    X, y, qid, _ = on_dask(valid)
    measured = skrank.dask.scorer("gap@10", "err")(found, X, y, groups=qid)
    assert measured == skrank.scorer("gap@10", "err")(found, valid.X, valid.y, groups=valid.qid)


@pytest.mark.parametrize(
    "how",
    [
        {"library": "lightgbm", "trees": FAST, "weighted": True, "objective": ERR, "refit": True},
        {"library": "xgboost"},
        {"library": "xgboost", "init": skrank.LinearRanker("ndcg"), "refit": True},
    ],
    ids=str,
)
def test_queries_of_arrays_are_held_out_as_on_one_machine(client, how):
    found, alone = both(train=train, lazy=False, **STOP | HELD_OUT | how)
    check_equal(found, alone, valid)
    assert found.best_iteration_ < 40


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
    heavy = dxgb.DaskXGBRanker(**XGB, enable_categorical=True)
    for estimator, init in ((light, None), (heavy, "linear")):
        ranker = GroupedRanker(estimator, objective=GAP, init=init)
        within(lambda ranker=ranker: ranker.fit(X, pieces["y"], pieces["qid"]))
        assert ranker.feature_names_in_.tolist() == frame.columns.tolist()
        scores = ranker.predict(X).compute()
        np.testing.assert_array_equal(scores, ranker.predict(frame))
        assert scores.index.equals(frame.index)
    alone = skrank.LinearRanker("gap@10").fit(frame, train.y, train.qid)
    np.testing.assert_allclose(ranker.init_.coef_, alone.coef_, rtol=1e-6)


def test_a_search_clones_rankers_with_a_client(client):
    """The client is an attribute that cannot be copied."""
    ranker = GroupedRanker(lgb.DaskLGBMRanker(client=client, **LIGHT, time_out=2), objective=GAP)
    assert clone(ranker).estimator.client is client
    grid = {"objective": [GAP, "ndcg"], "estimator__n_estimators": [3]}
    search = GridSearchCV(
        ranker.set_params(scoring="gap@10"), grid, cv=skrank.QueryKFold(2), error_score="raise"
    )
    y = skrank.with_groups(train.y, train.qid)
    within(lambda: search.fit(train.X, y))
    assert search.best_estimator_.best_iteration_ == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


LIGHTGBM, XGBOOST = lgb.DaskLGBMRanker(**LIGHT), dxgb.DaskXGBRanker(**XGB)
CLICKS = skrank.AdditivePositionBias("gap")
ROWS = np.ones(len(train.y))
SHARE = {"validation_fraction": 0.2}
UNSUPPORTED = [
    (lgb.DaskLGBMRanker(metric="ndcg"), {"objective": None} | SHARE, "metric of DaskLGBMRanker is"),
    (lgb.DaskLGBMRanker(boosting_type="dart"), SHARE | {"early_stopping_rounds": None}, "dart"),
    (LIGHTGBM, {"init": LIGHTGBM}, "init=DaskLGBMRanker trains on Dask"),
    (LIGHTGBM, {"init": "linear", "init_score": ROWS}, "init_score= of fit and init"),
    (LIGHTGBM, {"objective": CLICKS, "position": ROWS}, "cannot learn about positions"),
    (XGBOOST, {"sample_weight": ROWS}, "takes no weights of queries on Dask"),
    (lgb.DaskLGBMRegressor(), {"objective": None}, "trains on single rows of Dask collections"),
    (dxgb.DaskXGBClassifier(), {"objective": None}, "trains on single rows of Dask collections"),
]
OF_COLLECTIONS = [
    (LIGHTGBM, {"init": Ridge()}, r"init=Ridge\(\) trains on arrays"),
    (XGBOOST, SHARE, "validation_fraction is for data in"),
    (LIGHTGBM, {"max_queries": 3}, "max_queries is for data in memory"),
    (LIGHTGBM, {"unjudged": "drop"}, "unjudged is for data in memory"),
    (LIGHTGBM, {"groups": None}, "needs groups="),
    (lgb.LGBMRanker(), {}, r"LGBMRanker trains on arrays: give lightgbm.DaskLGBM"),
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
