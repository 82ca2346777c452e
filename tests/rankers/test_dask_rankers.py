"""GroupedRanker with DaskLGBMRanker and DaskXGBRanker equals training on one machine."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skrank
from skrank import GroupedRanker

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import lightgbm as lgb  # noqa: E402
import xgboost as xgb  # noqa: E402
import xgboost.dask as dxgb  # noqa: E402

import skrank.dask  # noqa: E402
from tests.helpers.dask_runs import LGB, PATIENCE, Data, start, within  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"),
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]
GAP = skrank.LambdaRank("gap@10", tie_order="stable")  # each worker would draw other orders
ERR = replace(GAP, metric=skrank.metric("err"))
# each worker of LightGBM estimates numbers of rows from hessians, so that later trees differ
LIGHT = {name: value for name, value in LGB.items() if name not in ("metric", "time_out")}
LIGHT["n_estimators"] = 5
XGB = {"max_depth": 3, "n_estimators": 40, "n_jobs": 1}


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 30)


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def fit(ranker, data, **how):
    return within(lambda: ranker.fit(data.X, data.y, data.qid, **how))


def on_dask(data, first=10):
    """Arrays of two partitions of whole queries."""
    cut = int(data.sizes[:first].sum())
    chunks = (cut, len(data.y) - cut)
    X = da.from_array(data.X, chunks=(chunks, -1))
    return X, *(da.from_array(one, chunks=(chunks,)) for one in (data.y, data.qid, data.weight))


@pytest.mark.parametrize("objective", [GAP, ERR])
@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm_equals_training_on_one_machine(client, train, valid, objective, weighted):
    """Also on ERR, which needs the highest grade of all workers."""
    how = {"sample_weight": train.weight} if weighted else {}
    found = GroupedRanker(
        lgb.DaskLGBMRanker(client=client, **LIGHT, time_out=2), objective=objective
    )
    fit(found, train, **how)
    alone = GroupedRanker(lgb.LGBMRanker(n_jobs=1, **LIGHT), objective=objective)
    alone.fit(train.X, train.y, train.qid, **how)
    np.testing.assert_allclose(found.predict(valid.X), alone.predict(valid.X), atol=1e-6)
    assert found.best_iteration_ == alone.best_iteration_ == 5
    assert found.max_grade_ == 4
    assert type(found.estimator_) is lgb.LGBMRanker
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(valid.X), found.predict(valid.X))


def test_xgboost_stops_in_the_same_round_as_on_one_machine(client, train, valid):
    how = {
        "objective": GAP, "eval_metric": ["gap@10", "err"], "validation_fraction": 0.3,
        "early_stopping_rounds": 3, "random_state": 0,
    }  # fmt: skip
    found = fit(GroupedRanker(dxgb.DaskXGBRanker(**XGB), **how), train)
    alone = GroupedRanker(xgb.XGBRanker(**XGB, tree_method="hist"), **how)
    alone.fit(train.X, train.y, train.qid)
    assert found.best_iteration_ == alone.best_iteration_ < 40
    for metric in ("gap@10", "err"):
        mine, other = (one.evals_result_["validation"][metric] for one in (found, alone))
        np.testing.assert_allclose(mine, other, atol=1e-6)
    np.testing.assert_allclose(found.predict(valid.X), alone.predict(valid.X), atol=1e-4)
    assert type(found.estimator_) is xgb.XGBRanker


@pytest.mark.parametrize("init", [None, "linear"])
@pytest.mark.parametrize(("n_rounds", "patience"), [(40, 3), (5, None)])
def test_lightgbm_stops_in_the_same_round_as_on_one_machine(
    client, train, valid, init, n_rounds, patience
):
    how = {
        "objective": GAP, "eval_metric": ["gap@10", "err"], "early_stopping_rounds": patience,
        "init": init,
    }  # fmt: skip
    many = LIGHT | {"n_estimators": n_rounds, "learning_rate": 0.5}
    X, y, qid, _ = on_dask(train)
    X_val, y_val, qid_val, _ = on_dask(valid)
    found = GroupedRanker(lgb.DaskLGBMRanker(**many, time_out=2), **how)
    within(lambda: found.fit(X, y, qid, X_val=X_val, y_val=y_val, groups_val=qid_val))
    alone = GroupedRanker(lgb.LGBMRanker(n_jobs=1, **many), **how)
    alone.fit(train.X, train.y, train.qid, X_val=valid.X, y_val=valid.y, groups_val=valid.qid)
    assert found.best_iteration_ == alone.best_iteration_
    assert found.best_iteration_ < 40
    for metric in ("gap@10", "err"):
        mine, other = (one.evals_result_["validation"][metric] for one in (found, alone))
        np.testing.assert_allclose(mine, other, atol=1e-6)
    scores = found.predict(X_val).compute()
    np.testing.assert_allclose(scores, alone.predict(valid.X), atol=1e-5)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(valid.X), scores)


def test_lightgbm_holds_out_weighted_queries_and_trains_again(client, train, valid):
    how = {
        "objective": ERR, "eval_metric": "ndcg", "validation_fraction": 0.3, "random_state": 0,
        "early_stopping_rounds": 2, "refit": True,
    }  # fmt: skip
    many = LIGHT | {"n_estimators": 40, "learning_rate": 0.5}
    found = GroupedRanker(lgb.DaskLGBMRanker(**many, time_out=2), **how)
    fit(found, train, sample_weight=train.weight)
    alone = GroupedRanker(lgb.LGBMRanker(n_jobs=1, **many), **how)
    alone.fit(train.X, train.y, train.qid, sample_weight=train.weight)
    assert found.best_iteration_ == alone.best_iteration_ < 40
    mine, other = (one.evals_result_["validation"]["ndcg"] for one in (found, alone))
    np.testing.assert_allclose(mine, other, atol=1e-6)
    np.testing.assert_allclose(found.predict(valid.X), alone.predict(valid.X), atol=1e-5)


def test_collections(client, train, valid):
    X, y, qid, weight = on_dask(train)
    X_val, y_val, qid_val, _ = on_dask(valid)
    ranker = GroupedRanker(
        dxgb.DaskXGBRanker(**XGB), objective=GAP, eval_metric="gap@10", early_stopping_rounds=3
    )
    within(lambda: ranker.fit(X, y, qid, X_val=X_val, y_val=y_val, groups_val=qid_val))
    alone = GroupedRanker(xgb.XGBRanker(**XGB, tree_method="hist"), **_params(ranker))
    alone.fit(train.X, train.y, train.qid, X_val=valid.X, y_val=valid.y, groups_val=valid.qid)
    assert ranker.best_iteration_ == alone.best_iteration_
    scores = ranker.predict(X_val)
    np.testing.assert_array_equal(scores.compute(), ranker.predict(valid.X))
    np.testing.assert_allclose(scores.compute(), alone.predict(valid.X), atol=1e-4)
    measured = skrank.dask.scorer("gap@10", "err")(ranker, X_val, y_val, groups=qid_val)
    assert measured == skrank.scorer("gap@10", "err")(ranker, valid.X, valid.y, groups=valid.qid)
    assert ranker.n_features_in_ == 4

    light = GroupedRanker(lgb.DaskLGBMRanker(**LIGHT, time_out=2), objective=ERR)
    within(lambda: light.fit(X, y, qid, sample_weight=weight))
    alone = GroupedRanker(lgb.LGBMRanker(n_jobs=1, **LIGHT), objective=ERR)
    alone.fit(train.X, train.y, train.qid, sample_weight=train.weight)
    np.testing.assert_allclose(light.predict(valid.X), alone.predict(valid.X), atol=1e-6)


def test_early_stopping_without_validation_warns(client, train):
    X, y, qid, _ = on_dask(train)
    ranker = GroupedRanker(dxgb.DaskXGBRanker(**XGB | {"n_estimators": 2}), eval_metric="gap@10")
    with pytest.warns(UserWarning, match="^eval_metric of GroupedRanker without validation"):
        within(lambda: ranker.fit(X, y, qid))
    assert ranker.best_iteration_ == 2


def _params(ranker):
    params = ranker.get_params(deep=False)
    return {name: value for name, value in params.items() if name != "estimator"}


def test_frames(client, train):
    frame = pd.DataFrame(train.X, columns=list("abcd")).assign(y=train.y, qid=train.qid)
    parts = [frame[frame.qid < 12], frame[frame.qid >= 12].iloc[:0], frame[frame.qid >= 12]]
    pieces = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    X = pieces[list("abcd")]
    ranker = GroupedRanker(lgb.DaskLGBMRanker(**LIGHT, time_out=2), objective=GAP)
    within(lambda: ranker.fit(X, pieces["y"], pieces["qid"]))
    assert ranker.feature_names_in_.tolist() == list("abcd")
    scores = ranker.predict(X).compute()
    np.testing.assert_array_equal(scores, ranker.predict(frame[list("abcd")]))
    assert scores.index.equals(frame.index)


@pytest.mark.parametrize("init_scale", [1.0, None])
def test_xgboost_from_a_linear_start(client, train, valid, init_scale):
    """With early stopping, from collections and from arrays, as on one machine."""
    how = {
        "objective": GAP, "eval_metric": ["gap@10", "err"], "early_stopping_rounds": 3,
        "init": "linear", "init_scale": init_scale,
    }  # fmt: skip
    X_val, y_val, groups_val = valid.X, valid.y, valid.qid
    lazy_train, lazy_valid = on_dask(train), on_dask(valid)
    alone = GroupedRanker(xgb.XGBRanker(**XGB, tree_method="hist"), **how)
    alone.fit(train.X, train.y, train.qid, X_val=X_val, y_val=y_val, groups_val=groups_val)
    found = GroupedRanker(dxgb.DaskXGBRanker(**XGB), **how)
    X, y, qid, _ = lazy_train
    names = ("X_val", "y_val", "groups_val")
    external = dict(zip(names, lazy_valid, strict=False))
    within(lambda: found.fit(X, y, qid, **external))
    assert found.best_iteration_ == alone.best_iteration_
    assert found.init_factor_ == pytest.approx(alone.init_factor_, rel=1e-6)
    np.testing.assert_allclose(found.init_.coef_, alone.init_.coef_, rtol=1e-6)
    for metric in ("gap@10", "err"):
        mine, other = (one.evals_result_["validation"][metric] for one in (found, alone))
        assert len(mine) > found.best_iteration_  # the first value is that of the start
        np.testing.assert_allclose(mine, other, atol=1e-5)
    scores = found.predict(lazy_valid[0]).compute()
    np.testing.assert_array_equal(scores, found.predict(valid.X))
    np.testing.assert_allclose(scores, alone.predict(valid.X), atol=1e-4)


def test_a_linear_start_of_arrays_in_memory(client, train, valid):
    how = {
        "objective": GAP, "eval_metric": "gap@10", "validation_fraction": 0.3, "random_state": 0,
        "early_stopping_rounds": 3, "init": skrank.LinearRanker("ndcg"),
    }  # fmt: skip
    found = fit(GroupedRanker(dxgb.DaskXGBRanker(**XGB), **how, refit=True), train)
    alone = GroupedRanker(xgb.XGBRanker(**XGB, tree_method="hist"), **how, refit=True)
    alone.fit(train.X, train.y, train.qid)
    assert found.best_iteration_ == alone.best_iteration_
    np.testing.assert_allclose(found.predict(valid.X), alone.predict(valid.X), atol=1e-4)


def test_lightgbm_from_a_linear_start(client, train, valid):
    X, y, qid, weight = on_dask(train)
    light = GroupedRanker(lgb.DaskLGBMRanker(**LIGHT, time_out=2), objective=GAP, init="linear")
    within(lambda: light.fit(X, y, qid, sample_weight=weight))
    alone = GroupedRanker(lgb.LGBMRanker(n_jobs=1, **LIGHT), objective=GAP, init="linear")
    alone.fit(train.X, train.y, train.qid, sample_weight=train.weight)
    assert light.init_factor_ == pytest.approx(alone.init_factor_, rel=1e-6)
    scores = light.predict(on_dask(valid)[0]).compute()
    np.testing.assert_allclose(scores, alone.predict(valid.X), atol=1e-5)
    again = pickle.loads(pickle.dumps(light))
    np.testing.assert_array_equal(again.predict(valid.X), light.predict(valid.X))


def test_frames_with_nan_and_categories_from_a_linear_start(client, train):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(train.X, columns=list("abcd"))
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["site"] = pd.Categorical(rng.choice(["x", "y", "z"], len(frame)))
    cut = int(train.sizes[:10].sum())
    X = dd.concat([dd.from_pandas(part, npartitions=1) for part in (frame[:cut], frame[cut:])])
    ranker = GroupedRanker(
        dxgb.DaskXGBRanker(**XGB, enable_categorical=True), objective=GAP, init="linear"
    )
    within(lambda: ranker.fit(X, *on_dask(train)[1:3]))
    alone = GroupedRanker(
        xgb.XGBRanker(**XGB, tree_method="hist", enable_categorical=True),
        objective=GAP,
        init="linear",
    ).fit(frame, train.y, train.qid)
    np.testing.assert_allclose(ranker.init_.coef_, alone.init_.coef_, rtol=1e-6)
    np.testing.assert_array_equal(ranker.predict(X).compute(), ranker.predict(frame))


def test_a_search_clones_rankers_with_a_client(client, train):
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


def test_unsupported_arguments_raise(client, train, valid):
    light, heavy = lgb.DaskLGBMRanker(**LIGHT), dxgb.DaskXGBRanker(**XGB)
    X, y, qid, _ = on_dask(train)
    arrays, collections = (train.X, train.y, train.qid), (X, y, qid)
    cases = [
        (
            lgb.DaskLGBMRanker(metric="ndcg"),
            {"objective": None, "validation_fraction": 0.2},
            arrays,
            {},
            "metric of DaskLGBMRanker is not measured",
        ),
        (
            lgb.DaskLGBMRanker(boosting_type="dart"),
            {"validation_fraction": 0.2, "early_stopping_rounds": None},
            arrays,
            {},
            "dart",
        ),
        (light, {"init": light}, arrays, {}, "init=DaskLGBMRanker trains on Dask"),
        (light, {"init": Ridge()}, collections, {}, r"init=Ridge\(\) trains on arrays"),
        (light, {"init": "linear"}, arrays, {"init_score": train.y}, "init_score= of fit and init"),
        (heavy, {}, arrays, {"sample_weight": train.weight}, "takes no weights of queries on Dask"),
        (
            heavy,
            {"validation_fraction": 0.2},
            collections,
            {},
            "validation_fraction is for data in",
        ),
        (light, {"max_queries": 3}, collections, {}, "max_queries is for data in memory"),
        (light, {"unjudged": "drop"}, collections, {}, "unjudged is for data in memory"),
        (light, {}, (X, y), {}, "needs groups="),
    ]
    for estimator, how, data, options, message in cases:
        ranker = GroupedRanker(estimator, **{"objective": "gap"} | how)
        with pytest.raises(ValueError, match=message):
            within(lambda ranker=ranker, data=data, options=options: ranker.fit(*data, **options))
    with pytest.raises(TypeError, match=r"LGBMRanker trains on arrays: give lightgbm.DaskLGBM"):
        GroupedRanker(lgb.LGBMRanker()).fit(X, y, qid)
    for estimator in (lgb.DaskLGBMRegressor(), dxgb.DaskXGBClassifier()):
        with pytest.raises(TypeError, match="trains on single rows of Dask collections"):
            GroupedRanker(estimator).fit(*arrays)
    clicks = skrank.AdditivePositionBias("gap")
    with pytest.raises(ValueError, match="cannot learn about positions"):
        GroupedRanker(light, objective=clicks).fit(*arrays, position=np.zeros(len(train.y)))


@pytest.mark.parametrize("init", [None, "linear"])
@pytest.mark.parametrize("estimator", [xgb.XGBRanker(**XGB), lgb.LGBMRanker(**LIGHT)], ids=repr)
def test_scores_on_dask_equal_those_in_memory(estimator, init, train):
    """Scores are equal to the last bit, and float64 as in the metadata."""
    model = GroupedRanker(estimator, init=init).fit(train.X, train.y, train.qid)
    table = np.asarray(train.X)
    scores = model.predict(table)
    lazy = model.predict(da.from_array(table, chunks=(37, -1)))
    found = lazy.compute(scheduler="synchronous")
    assert lazy.dtype == found.dtype == np.float64
    np.testing.assert_array_equal(found, scores)
