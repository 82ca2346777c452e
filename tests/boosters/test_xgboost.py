"""Objectives, eval metrics and early stopping in XGBoost: parity with XGBoost's own."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import xgboost as xgb
from xgboost.tracker import RabitTracker

import skrank
import skrank.xgboost
from tests.helpers.boosters import Data, XGBoost


def fit(matrix, obj=None, rounds=15, **params):
    return XGBoost.train(matrix, obj, rounds, **params)[0]


margins = XGBoost.scores


def train_until(train, valid, stop, *metrics, **params):
    """A booster trained on GAP, and its values on `valid`, which is not the last data set."""
    booster, log = XGBoost.train(
        train.matrix(), skrank.xgboost.objective("gap"), 150, [valid.matrix(), train.matrix()],
        skrank.xgboost.eval_metric(*metrics, max_grade=4), learning_rate=0.5, callbacks=[stop],
        **params,
    )  # fmt: skip
    return booster, log["valid_0"]


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
    # XGBoost sums large gradients in single precision: later rounds differ by about 1e-5
    rounds = 8 if score_norm and not sum_norm else 15
    expected = margins(fit(train.matrix(weight, kind), rounds=rounds, **own), valid)
    norm = {(True, False): "score", (False, True): "sum"}.get((score_norm, sum_norm), sum_norm)
    ours = skrank.xgboost.objective("ndcg", truncation_level=32, tie_order="stable", norm=norm)
    found = margins(fit(train.matrix(weight, kind), ours, rounds), valid)
    assert expected.std() > 0.1
    difference = found - expected
    np.testing.assert_allclose(difference, difference.mean(), atol=1e-5, rtol=0)


def test_early_stopping_picks_the_best_round(train, valid):
    stop = skrank.xgboost.early_stopping("gap@10", 15, data_name="valid_0", save_best=True)
    booster, log = train_until(train, valid, stop, "gap@10", "err")
    best = booster.best_iteration
    assert 0 < best < 150 - 15
    assert best == int(np.argmax(log["gap@10"]))
    assert booster.num_boosted_rounds() == best + 1
    scores = margins(booster, valid)
    assert booster.best_score == pytest.approx(valid.score("gap@10", scores), abs=6e-7)


def test_early_stopping_goes_the_way_of_the_metric(train, valid):
    assert skrank.xgboost.early_stopping("gap", 5).maximize is True
    stop = skrank.xgboost.early_stopping("error@5", 5, data_name="valid_0")
    assert stop.maximize is False
    booster, log = train_until(train, valid, stop, "error@5")
    assert booster.best_iteration == int(np.argmin(log["error@5"]))


def test_awkward_names_survive_the_log(train, valid):
    metric = skrank.metric("ndcg", gain={0: 0, 1: 1e-05, 2: 2, 3: 3, 4: 4.5}, k=3)
    stop = skrank.xgboost.early_stopping(metric, 3, data_name="valid_0")
    booster, log = train_until(train, valid, stop, "gap", metric)
    name = str(metric).replace(":", "=")
    assert list(log) == ["gap", name]
    assert booster.best_iteration == int(np.argmax(log[name]))


def test_stopping_on_a_metric_that_is_not_evaluated_names_the_others(train, valid):
    stop = skrank.xgboost.early_stopping("gap@10", rounds=3)
    with pytest.raises(ValueError, match=r"gap.*ndcg@5"):
        train_until(train, valid, stop, "gap(max_grade=4)@10", "ndcg@5")


def test_a_callback_stops_one_training(train, valid):
    stop = skrank.xgboost.early_stopping("gap@10", rounds=3, data_name="valid_0")
    train_until(train, valid, stop, "gap@10")
    with pytest.raises(ValueError, match="early_stopping"):
        train_until(train, valid, stop, "gap@10")


def test_empty_groups_and_their_weights_do_not_count(train):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    padded = xgb.DMatrix(
        train.X, train.y, group=np.r_[0, train.sizes, 0], weight=np.r_[7, train.query_weight, 7]
    )
    for call in (skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric("gap")):
        np.testing.assert_equal(call(scores, padded), call(scores, train.matrix(weighted=True)))


def test_one_query_is_no_missing_query():
    y, scores = np.array([0.0, 2, 1]), np.array([0.3, 0.2, 0.1])
    for fields in ({"qid": [7, 7, 7]}, {"group": [3]}):
        name, value = skrank.xgboost.eval_metric("gap")(
            scores, xgb.DMatrix(np.zeros((3, 1)), y, **fields)
        )
        assert (name, value) == ("gap", pytest.approx(skrank.metric("gap")(y, scores)))


@pytest.mark.parametrize("factor", [1.0, 0.0])  # of the weights of one worker
def test_two_workers_give_the_gradients_and_values_of_one(factor):
    """The mean of the weights and the highest grade are those of both workers."""
    data, scores = Data(0), np.random.default_rng(0).normal(size=len(Data(0).y)).astype(np.float32)
    data.y[data.qid < 20] = np.minimum(data.y[data.qid < 20], 2)
    data.query_weight[:20] *= factor
    data.weight = data.query_weight[data.qid]
    objective = skrank.xgboost.objective("err", tie_order="stable")
    metric = skrank.xgboost.eval_metric("err", "gap@10", max_grade=4)
    geometric = skrank.xgboost.eval_metric(skrank.metric("ap", average="geometric"))
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()

    def work(rows):
        with xgb.collective.CommunicatorContext(**tracker.worker_args()):
            part = data.part(rows).matrix(weighted=True)
            with pytest.raises(ValueError, match="workers"):  # no sum of values of parts
                geometric(scores[rows], part)
            return [copy.deepcopy(one)(scores[rows], part) for one in (objective, metric)]

    with ThreadPoolExecutor(2) as pool:
        halves = np.flatnonzero(data.qid < 20), np.flatnonzero(data.qid >= 20)
        (first, values), (second, others) = pool.map(work, halves)
    tracker.wait_for()
    found = [np.concatenate(parts) for parts in zip(first, second, strict=True)]
    whole = objective(scores, data.matrix(weighted=True))
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-7)
    expected = [data.score(name, scores, weighted=True) for name in ("err", "gap@10")]
    assert [value for _, value in values] == pytest.approx(expected, abs=6e-7)
    assert others == values


def test_scikit_learn_estimators_of_xgboost_are_refused(train):
    model = xgb.XGBRegressor(objective=skrank.xgboost.objective("gap"), n_estimators=2)
    with pytest.raises(TypeError, match=r"skrank\.GroupedRanker"):
        model.fit(train.X, train.y)
    ranker = xgb.XGBRanker(eval_metric=skrank.xgboost.eval_metric("gap"), n_estimators=2)
    evaluated = {"eval_set": [(train.X, train.y)], "eval_qid": [train.qid]}
    with pytest.raises(TypeError, match=r"skrank\.GroupedRanker"):
        ranker.fit(train.X, train.y, qid=train.qid, **evaluated)
