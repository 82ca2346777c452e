"""Training of GroupedRanker: weights, labels, queries and containers of features."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from scipy.sparse import coo_matrix, csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

import skrank
from skrank import GroupedRanker
from skrank.metrics import gap_score
from skrank.scoring import scorer
from tests.helpers.rankers import (
    RANKERS,
    STOP,
    cat,
    hist,
    lgbm,
    xgb,
)

# training -----------------------------------------------------------------------------------------


def test_training_equals_a_direct_call_of_the_booster(data, y):
    sizes = np.bincount(data.qid)
    model = GroupedRanker(lgbm()).fit(data.X, y)
    by_hand = lgbm().fit(data.X, data.relevance, group=sizes)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()
    model = GroupedRanker(xgb()).fit(data.X, y)
    by_hand = xgb().fit(data.X, data.relevance, group=sizes)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()
    objective = skrank.lightgbm.objective("gap")
    by_hand = lgbm(objective=objective, metric="None").fit(data.X, data.relevance, group=sizes)
    model = GroupedRanker(lgbm(), objective="gap").fit(data.X, y)
    assert model.predict(data.X).tolist() == by_hand.predict(data.X).tolist()


def test_early_stopping_on_a_metric_does_not_change_the_trees_of_xgboost(data, y):
    """Trees of `xgboost.train` equal those of `XGBRanker.fit`."""
    model = GroupedRanker(xgb(), eval_metric="gap", **STOP).set_params(early_stopping_rounds=None)
    plain = GroupedRanker(xgb(eval_metric="ndcg"), **STOP).set_params(early_stopping_rounds=None)
    ours, own = (one.fit(data.X, y).estimator_.get_booster() for one in (model, plain))
    assert ours.get_dump() == own.get_dump()


def test_the_fitted_xgboost_ranker_is_complete(data, y, tmp_path):
    frame = pd.DataFrame(data.X, columns=data.feature_names)
    model = RANKERS["xgboost-gap"]
    model = clone(model).fit(frame, y)
    inner = model.estimator_
    assert isinstance(inner, xgboost.XGBRanker)
    assert inner.predict(frame).tolist() == model.predict(frame).tolist()
    assert inner.best_iteration + 1 == model.best_iteration_
    assert inner.feature_importances_.tolist() == model.feature_importances_.tolist()
    assert inner.evals_result()["validation_0"] == model.evals_result_["validation"]
    contributions = inner.get_booster().predict(xgboost.DMatrix(frame), pred_contribs=True)
    assert contributions.shape == (len(y), 9)
    inner.save_model(tmp_path / "model.json")
    loaded = xgboost.XGBRanker()
    loaded.load_model(tmp_path / "model.json")
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    assert clone(inner).get_params() == clone(xgb()).get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(frame).tolist() == model.predict(frame).tolist()


def test_weights(data, y):
    weight = np.where(data.qid < 20, 5.0, 1.0)
    for estimator in (lgbm(), xgb(), cat(), Ridge(), hist(), make_pipeline(Ridge())):
        plain, weighted = GroupedRanker(estimator), GroupedRanker(estimator)
        plain.fit(data.X, y)
        weighted.fit(data.X, y, sample_weight=weight)
        assert not np.allclose(plain.predict(data.X), weighted.predict(data.X))
        rows = np.random.default_rng(0).permutation(len(y))
        again = GroupedRanker(estimator).fit(data.X[rows], y.iloc[rows], sample_weight=weight[rows])
        assert gap_score(y, again.predict(data.X)) == pytest.approx(
            gap_score(y, weighted.predict(data.X)), abs=0.1
        )
    for estimator in (lgbm(), xgb(), cat()):
        with pytest.raises(ValueError, match="varies inside query"):
            GroupedRanker(estimator).fit(data.X, y, sample_weight=np.arange(len(y)) + 1.0)
    stopped = GroupedRanker(lgbm(), objective="gap", **STOP)
    for name in ("lightgbm-gap", "xgboost-gap", "hist-gap", "catboost"):
        stopped = clone(RANKERS[name]).fit(data.X, y, sample_weight=weight)
        assert stopped.score(data.X, y, sample_weight=weight) > 0.5


def test_max_grade_is_the_highest_of_all_labels(data):
    relevance = np.where(data.qid == 0, data.relevance, np.minimum(data.relevance, 2))
    relevance[0] = 4
    model = GroupedRanker(lgbm(), objective="gap", **STOP).fit(data.X, relevance, data.qid)
    assert model.max_grade_ == 4
    narrow = data.qid > 0
    found = scorer("err")(model, data.X[narrow], relevance[narrow], groups=data.qid[narrow])
    by_hand = skrank.metric("err", max_grade=4)(
        relevance[narrow], model.predict(data.X[narrow]), groups=data.qid[narrow]
    )
    assert found == by_hand


def test_max_grade_includes_validation_rows(data):
    train = data.qid >= 20
    relevance = np.where(train, np.minimum(data.relevance, 2), data.relevance)
    relevance[0] = 4
    validation = {
        "X_val": data.X[~train], "y_val": relevance[~train], "groups_val": data.qid[~train],
    }  # fmt: skip
    model = GroupedRanker(lgbm(), objective="gap", eval_metric="err")
    model.fit(data.X[train], relevance[train], data.qid[train], **validation)
    assert model.max_grade_ == 4
    by_hand = skrank.metric("err", max_grade=4)(
        relevance[~train], model.predict(data.X[~train]), groups=data.qid[~train]
    )
    assert max(model.evals_result_["validation"]["err"]) == pytest.approx(by_hand)


def test_classifiers_are_trained_on_grades(data, y):
    model = GroupedRanker(LogisticRegression(max_iter=2000)).fit(data.X, y)
    expected = model.estimator_.predict_proba(data.X) @ np.arange(5)
    assert model.predict(data.X) == pytest.approx(expected)


def test_other_rankers_get_the_queries(data, y):
    class Other(BaseEstimator):
        def fit(self, X, y, qid):
            assert np.all(np.diff(qid) >= 0)
            self.n_queries_ = len(set(qid.tolist()))
            return self

        def predict(self, X):
            return X[:, 0]

    rows = np.random.default_rng(0).permutation(len(y))
    assert GroupedRanker(Other()).fit(data.X[rows], y.iloc[rows]).estimator_.n_queries_ == 80
    with pytest.raises(ValueError, match="needs the query of each row"):
        GroupedRanker(Other()).fit(data.X, data.relevance)


def test_unjudged_rows(data):
    relevance = data.relevance.astype(float)
    relevance[::7] = np.nan
    judged = ~np.isnan(relevance)
    with pytest.raises(ValueError, match="row 0 was not judged"):
        GroupedRanker(lgbm()).fit(data.X, relevance, data.qid)
    dropped = GroupedRanker(lgbm(), unjudged="drop").fit(data.X, relevance, data.qid)
    alone = GroupedRanker(lgbm()).fit(data.X[judged], relevance[judged], data.qid[judged])
    assert dropped.predict(data.X).tolist() == alone.predict(data.X).tolist()
    zero = GroupedRanker(lgbm(), unjudged="zero").fit(data.X, relevance, data.qid)
    filled = GroupedRanker(lgbm()).fit(data.X, np.nan_to_num(relevance), data.qid)
    assert zero.predict(data.X).tolist() == filled.predict(data.X).tolist()
    ridge = GroupedRanker(Ridge(), unjudged="drop").fit(data.X, relevance)
    assert ridge.predict(data.X) == pytest.approx(
        Ridge().fit(data.X[judged], relevance[judged]).predict(data.X)
    )
    with pytest.raises(ValueError, match="every document is unjudged"):
        GroupedRanker(lgbm(), unjudged="drop").fit(
            data.X, np.full(len(relevance), np.nan), data.qid
        )


# containers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])
def test_sparse_and_missing_values(make, data, y):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    for sparse in (csr_array(X), coo_matrix(X)):
        model = GroupedRanker(make(), objective="gap", eval_metric="gap", **STOP).fit(sparse, y)
        assert scorer("gap")(model, csr_array(X), y) > 0.6
    X[::3, 1] = np.nan
    assert GroupedRanker(make(), objective="gap", **STOP).fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize("make", [lgbm, xgb], ids=["lightgbm", "xgboost"])
def test_frames_of_polars_are_read_without_pyarrow(make, data, y, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    kinds = np.array(["a", "b", "c"])[data.qid % 3]
    some = pl.Series([None if row % 7 == 0 else row for row in range(len(y))])
    columns = {"flag": data.X[:, 0] > 0, "some": some, "kind": pl.Series(kinds, dtype=pl.String)}
    frame = pl.DataFrame(data.X, data.feature_names).with_columns(**columns)
    enum = frame.with_columns(kind=frame["kind"].cast(pl.Enum(["c", "a", "b", "d"])))
    ranker = GroupedRanker(make(**{"enable_categorical": True} if make is xgb else {}))
    ranker.set_params(eval_metric="gap", **STOP).fit(enum, y)
    same = {"flag": columns["flag"], "some": 0}
    known = pd.DataFrame(data.X, columns=data.feature_names).assign(**same)
    known["some"] = some.to_numpy()
    known["kind"] = pd.Categorical(kinds, categories=["c", "a", "b", "d"])
    again = clone(ranker).fit(known, y)
    assert ranker.predict(enum).tolist() == again.predict(known).tolist()
    assert ranker.predict(enum[:5]).tolist() == again.predict(known[:5]).tolist()
    with pytest.raises(ValueError, match=r"'kind' is a Categorical.*polars\.Enum"):
        ranker.fit(frame.with_columns(kind=frame["kind"].cast(pl.Categorical)), y)
