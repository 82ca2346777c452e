"""Objectives and eval metrics in LightGBM: parity with LightGBM's own, at all entry points."""

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import skrank
import skrank.lightgbm
from tests.helpers.boosters import LGB, Data, LightGBM


def fit(data, objective, rounds=15, weight=False, **params):
    return LightGBM.train(data.dataset(weight), objective, rounds, **params)[0]


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("sigmoid", [1.0, 2.0])
def test_lambdarank_of_lightgbm_is_reproduced(valid, norm, sigmoid, weight):
    # large leaves: LightGBM's table of the sigmoid has errors of about 1e-5
    train = Data(0, 300)
    params = {"min_data_in_leaf": 20, "num_leaves": 8, "learning_rate": 0.05, "weight": weight}
    ours = skrank.lightgbm.objective(
        "ndcg", truncation_level=30, tie_order="stable", norm=norm, sigmoid=sigmoid
    )
    own = {"lambdarank_truncation_level": 30, "lambdarank_norm": norm, "sigmoid": sigmoid}
    expected = fit(train, "lambdarank", **params, **own).predict(valid.X)
    assert expected.std() > 0.1
    found = fit(train, ours, **params).predict(valid.X)
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_all_entry_points_train_the_same(train, valid):
    objective = skrank.lightgbm.objective("gap", truncation_level=20)
    expected = fit(train, objective).predict(valid.X)
    ranker = lgb.LGBMRanker(objective=objective, n_estimators=15, **LGB)
    by_ranker = clone(ranker).fit(train.X, train.y, group=train.sizes)
    np.testing.assert_array_equal(by_ranker.predict(valid.X), expected)
    data = train.dataset()
    for _ in range(2):  # the same callable and Dataset, no copies
        booster = lgb.Booster(LGB, data)
        for _ in range(15):
            booster.update(fobj=objective)
        np.testing.assert_array_equal(booster.predict(valid.X), expected)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_ranker_with_eval_sets_and_early_stopping(train, valid):
    ranker = lgb.LGBMRanker(
        objective=skrank.lightgbm.objective("gap"), n_estimators=150, learning_rate=0.3, **LGB
    ).fit(
        train.X, train.y, group=train.sizes,
        eval_set=[(valid.X, valid.y), (train.X, train.y)], eval_group=[valid.sizes, train.sizes],
        eval_sample_weight=[valid.weight, None],
        eval_metric=skrank.lightgbm.eval_metric("gap@10", "ndcg@10"),
        callbacks=[lgb.early_stopping(20, first_metric_only=True, verbose=False)],
    )  # fmt: skip
    history = ranker.evals_result_["valid_0"]
    assert list(history) == ["gap@10", "ndcg@10"]
    best = ranker.best_iteration_
    assert best < 150
    assert best == int(np.argmax(history["gap@10"])) + 1
    scores = ranker.predict(valid.X)
    assert valid.score("gap@10", scores, weighted=True) == pytest.approx(max(history["gap@10"]))
    on_train = ranker.evals_result_["training"]["gap@10"][best - 1]
    assert on_train == pytest.approx(train.score("gap@10", ranker.predict(train.X)))


@pytest.mark.parametrize("given", [False, True])
def test_cv_that_tears_queries_is_refused(train, given):
    folds = list(KFold(3).split(train.X)) if given else None
    params = LGB | {"objective": skrank.lightgbm.objective("gap")}
    with pytest.raises(ValueError, match=r"query \d+.*folds=skrank.QueryKFold"):
        lgb.cv(params, train.dataset(), 2, nfold=3, folds=folds, stratified=False)
    cv = skrank.QueryKFold(3)
    feval = skrank.lightgbm.eval_metric("err")
    folded, split = (
        lgb.cv(
            params | {"metric": "None"},
            train.dataset(free_raw_data=False),
            2,
            folds=one,
            feval=feval,
        )
        for one in (cv, list(cv.split(train.X, train.y, train.qid)))
    )
    assert folded == split


@pytest.mark.parametrize(
    ("fraction", "every", "yes"),
    [
        ("bagging_fraction", "bagging_freq", True),
        ("subsample", "subsample_freq", "+"),
        ("sub_row", "bagging_freq", True),
        ("bagging", "subsample_freq", "+"),
    ],
)
def test_bagging_by_query_is_refused_under_each_of_its_names(fraction, every, yes, train):
    bagging = {"bagging_by_query": yes, fraction: 0.5, every: 1}
    estimator = lgb.LGBMRanker(**bagging, **LGB)
    with pytest.raises(ValueError, match="trains nothing"):
        skrank.GroupedRanker(estimator, objective="gap").fit(train.X, train.y, train.qid)
    estimator.set_params(**{fraction: None})
    skrank.GroupedRanker(estimator, objective="gap").fit(train.X, train.y, train.qid)
    objective = skrank.lightgbm.objective("gap")
    for other in ({fraction: 0.5, every: 1}, {"data_sample_strategy": "goss"}):
        assert fit(train, objective, 5, **other).predict(train.X).std() > 0.01


def test_positions_are_refused_in_training_only(train):
    positions = np.concatenate([np.arange(size) for size in train.sizes])
    data = train.dataset(position=positions).construct()
    with pytest.raises(ValueError, match=r"position=.*objective='lambdarank'"):
        skrank.lightgbm.objective("gap")(np.zeros(len(train.y)), data)
    assert skrank.lightgbm.eval_metric("gap")(np.zeros(len(train.y)), data)[0] == "gap"


@pytest.mark.parametrize("make", [skrank.lightgbm.objective, skrank.lightgbm.eval_metric])
def test_arrays_without_groups_and_weights_that_vary_are_refused(make, train):
    scores = np.zeros(len(train.y))
    with pytest.raises(ValueError, match="group="):
        make("gap")(train.y, scores)
    weight = np.arange(1.0, len(train.y) + 1)
    dataset = train.dataset(weight=weight).construct()
    for data in ((train.y, scores, weight, train.sizes), (scores, dataset)):
        with pytest.raises(ValueError, match=r"varies inside query.*the same weight"):
            make("gap")(*data)
