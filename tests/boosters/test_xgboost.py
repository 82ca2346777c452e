"""Objectives, eval metrics and early stopping in XGBoost: parity with its own."""

import numpy as np
import pytest
import xgboost as xgb

import skrank
import skrank.xgboost
from tests.helpers.xgboost_data import (
    METRICS,
    QUIET,
    Data,
    fit,
    margins,
    train_until,
)


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 40)


# Parity


@pytest.mark.parametrize("kind", [xgb.DMatrix, xgb.QuantileDMatrix])
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("sum_norm", [True, False])
@pytest.mark.parametrize("score_norm", [True, False])
def test_rank_ndcg_of_xgboost_is_reproduced_up_to_a_constant(
    valid, score_norm, sum_norm, weight, kind
):
    train = Data(0, 200)
    own = {
        "objective": "rank:ndcg",
        "lambdarank_num_pair_per_sample": 32,
        "lambdarank_normalization": sum_norm,
        "lambdarank_score_normalization": score_norm,
    }
    # large gradients add up in XGBoost's single precision: later rounds differ by some 1e-5
    rounds = 8 if score_norm and not sum_norm else 15
    expected = margins(fit(train.matrix(weight, kind), rounds=rounds, **own), valid)
    norms = {"score_norm": score_norm, "sum_norm": sum_norm}
    ours = skrank.xgboost.objective("ndcg", truncation_level=32, tie_order="stable", **norms)
    found = margins(fit(train.matrix(weight, kind), ours, rounds), valid)
    assert expected.std() > 0.1
    difference = found - expected
    np.testing.assert_allclose(difference, difference.mean(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(("name", "empty"), [("ndcg@{}-", 0), ("ndcg@{}", 1)])
def test_ndcg_equals_xgboosts(train, valid, name, empty):
    log, ks = {}, (1, 3, 10, 100)
    xgb.train(
        {"objective": "rank:ndcg", "eval_metric": [name.format(k) for k in ks], "nthread": 1},
        train.matrix(),
        4,
        evals=[(valid.matrix(), "valid")],
        custom_metric=skrank.xgboost.eval_metric(
            *(skrank.metric("ndcg", k=k, empty=empty, ties="stable") for k in ks)
        ),
        evals_result=log,
        verbose_eval=False,
    )
    for k in ks:
        ours = log["valid"][f"ndcg(empty={empty},ties=stable)@{k}"]
        np.testing.assert_allclose(ours, log["valid"][name.format(k)], atol=1.1e-6)


@pytest.mark.parametrize("kind", [xgb.DMatrix, xgb.QuantileDMatrix])
@pytest.mark.parametrize("weight", [False, True])
def test_eval_equals_the_metric(train, valid, weight, kind):
    log = {}
    dtrain = train.matrix(kind=kind)
    fields = {"ref": dtrain} if kind is xgb.QuantileDMatrix else {}
    booster = xgb.train(
        QUIET,
        dtrain,
        3,
        evals=[(dtrain, "train"), (valid.matrix(weight, kind, **fields), "valid")],
        obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric(*METRICS, max_grade=4),
        evals_result=log,
        verbose_eval=False,
    )
    assert list(log["valid"]) == METRICS
    on_train, on_valid = margins(booster, train), margins(booster, valid)
    for name in METRICS:
        assert log["train"][name][-1] == pytest.approx(train.score(name, on_train), abs=6e-7)
        expected = valid.score(name, on_valid, weight)
        assert log["valid"][name][-1] == pytest.approx(expected, abs=6e-7)


def test_curvature_is_doubled(train):
    scores = np.random.default_rng(0).normal(size=len(train.y)).astype(np.float32)
    scores.flags.writeable = False
    grad, hess = skrank.xgboost.objective("gap")(scores, train.matrix())
    assert grad.dtype == hess.dtype == np.float32
    expected = skrank.LambdaRank("gap")(train.y, scores, groups=train.qid)
    np.testing.assert_allclose(grad, expected[0], atol=1e-5)
    np.testing.assert_allclose(hess, 2 * expected[1], atol=1e-5)


# Early stopping


def test_early_stopping_picks_the_best_round(train, valid):
    stop = skrank.xgboost.early_stopping("gap@10", 15, data_name="valid", save_best=True)
    booster, log = train_until(train, valid, stop, "gap@10", "err")
    best = booster.best_iteration
    assert 0 < best < 150 - 15
    assert best == int(np.argmax(log["gap@10"]))
    assert booster.num_boosted_rounds() == best + 1
    scores = margins(booster, valid)
    assert booster.best_score == pytest.approx(valid.score("gap@10", scores), abs=6e-7)


def test_early_stopping_goes_the_way_of_the_metric(train, valid, monkeypatch):
    assert skrank.xgboost.early_stopping("gap", 5).maximize is True
    monkeypatch.setattr(type(skrank.metric("gap")), "greater_is_better", False)
    stop = skrank.xgboost.early_stopping("gap", 5, data_name="valid", min_delta=0.01)
    assert stop.maximize is False
    booster, log = train_until(train, valid, stop, "gap")
    assert booster.best_iteration == 0
    assert len(log["gap"]) == 6


def test_awkward_names_survive_the_log(train, valid):
    metric = skrank.metric("ndcg", gain={0: 0, 1: 1e-05, 2: 2, 3: 3, 4: 4.5}, k=3)
    assert ":" in str(metric)
    assert "-" in str(metric)
    stop = skrank.xgboost.early_stopping(metric, 3, data_name="valid")
    booster, log = train_until(train, valid, stop, "gap", metric)
    name = str(metric).replace(":", "=")
    assert list(log) == ["gap", name]
    assert booster.best_iteration == int(np.argmax(log[name]))


def test_early_stopping_checks_its_input():
    with pytest.raises(ValueError, match="did you mean 'gap'"):
        skrank.xgboost.early_stopping("gapp", 5)
    with pytest.raises(ValueError, match="rounds=0 must be at least 1"):
        skrank.xgboost.early_stopping("gap", 0)


def test_cv_of_xgboost(train):
    result = xgb.cv(
        QUIET,
        train.matrix(),
        30,
        nfold=3,
        obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric("gap@10", "err", max_grade=4),
        callbacks=[skrank.xgboost.early_stopping("gap@10", 5, data_name="test")],
    )
    found = result["test-gap@10-mean"].to_numpy()
    assert np.argmax(found) == len(found) - 1 > 0


# Weights and queries


def test_empty_groups_and_their_weights_do_not_count(train):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    padded = xgb.DMatrix(
        train.X, train.y, group=np.r_[0, train.sizes, 0], weight=np.r_[7, train.weight, 7]
    )
    for call in (skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric("gap")):
        np.testing.assert_equal(call(scores, padded), call(scores, train.matrix(weighted=True)))


def test_queries_without_a_relevant_document_are_skipped_whatever_their_weight(train):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    metric = skrank.xgboost.eval_metric("gap")
    weight = np.where(np.isin(np.arange(60), (3, 4, 11)), 1000.0, 1.0)
    assert metric(scores, train.matrix()) == metric(scores, train.matrix(weight=weight))


def test_one_query_is_no_missing_query():
    y, scores = np.array([0.0, 2, 1]), np.array([0.3, 0.2, 0.1])
    for fields in ({"qid": [7, 7, 7]}, {"group": [3]}):
        name, value = skrank.xgboost.eval_metric("gap")(
            scores, xgb.DMatrix(np.zeros((3, 1)), y, **fields)
        )
        assert (name, value) == ("gap", pytest.approx(skrank.metric("gap")(y, scores)))


def test_labels_mean_what_was_written():
    y = [0.7, 0.1, 0.3, 0.0, 0.7, 0.2]
    data = xgb.DMatrix(np.zeros((6, 1)), y, qid=[0, 0, 0, 1, 1, 1])
    metric = skrank.xgboost.eval_metric(skrank.metric("ap", rel=0.7))
    assert metric(np.array([3.0, 2, 1, 3, 2, 1]), data) == ("ap(rel=0.7)", pytest.approx(0.75))
