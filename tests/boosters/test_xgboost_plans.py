"""What the callables for XGBoost keep, in copies, threads and workers, and what they refuse."""

import copy
import gc
import pickle
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pytest
import xgboost as xgb
from xgboost.tracker import RabitTracker

import skrank
import skrank.xgboost
from skrank._boosters import xgboost_data
from skrank.extending import Judgments
from tests.helpers.xgboost_data import (
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


# Copies, threads, repetition


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_start_without_plans(train, copied):
    data, scores = train.matrix(), np.zeros(len(train.y), np.float32)
    for original, kept in (
        (skrank.xgboost.objective("gap", sigmoid=2.0), "_bound"),
        (skrank.xgboost.eval_metric("gap@10", "rr"), "_plans"),
    ):
        first = original(scores, data)
        again = copied(original)
        assert (len(getattr(original, kept)), len(getattr(again, kept))) == (1, 0)
        assert repr(again) == repr(original)
        np.testing.assert_equal(again(scores, data), first)


def test_the_same_callable_trains_the_same_again(train, valid):
    objective, data = skrank.xgboost.objective("gap"), train.matrix()
    first = margins(fit(data, objective, 5), valid)
    again = margins(fit(data, objective, 5), valid)
    fresh = margins(fit(train.matrix(), copy.deepcopy(objective), 5), valid)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(fresh, first)
    other = margins(fit(data, skrank.xgboost.objective("gap", random_state=1), 5), valid)
    assert not np.array_equal(other, first)


def test_one_callable_in_two_threads(train, valid):
    objective = skrank.xgboost.objective("gap")

    def run(matrix):
        return margins(fit(matrix, objective, 8), valid)

    matrices = [train.matrix(), train.matrix(), valid.matrix()]
    alone = [run(matrix) for matrix in matrices]
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_equal(list(pool.map(run, matrices)), alone)


# Plans


def test_plans_are_built_once_per_data_set(train, valid, monkeypatch):
    built = []
    monkeypatch.setattr(
        xgboost_data, "Judgments", lambda *args: built.append(1) or Judgments(*args)
    )
    stop = skrank.xgboost.early_stopping("err", 3)
    train_until(train, valid, stop, "gap", "err")
    assert len(built) == 3  # for gradients, and for both evaluations


def test_plans_die_with_the_data(train):
    objective, metric = skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric("gap")
    data, scores = train.matrix(), np.zeros(len(train.y))
    objective(scores, data)
    metric(scores, data)
    del data
    gc.collect()
    assert len(objective._bound) == len(metric._plans) == 0


def change_labels(data):
    data.set_label(np.roll(data.get_label(), 1))


def change_groups(data):
    data.set_group(data.get_group()[::-1].copy())


def change_weights(data):
    data.set_weight(1.0 + np.arange(len(data.get_group())))


def no_change(data):
    pass


@pytest.mark.parametrize("change", [no_change, change_labels, change_groups, change_weights])
def test_no_stale_plan(train, change):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    callables = skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric("gap@10", "rr")
    data = train.matrix()
    before = [call(scores, data) for call in callables]
    change(data)
    after = [call(scores, data) for call in callables]
    fresh = [copy.deepcopy(call)(scores, data) for call in callables]
    np.testing.assert_equal(after, fresh)
    assert (change is no_change) == np.array_equal(before[0][0], after[0][0])
    assert (change is no_change) == (before[1] == after[1])


def test_memory_grows_with_rows_only():
    rows = 20_000
    rng = np.random.default_rng(0)
    data = xgb.DMatrix(np.zeros((rows, 1)), rng.integers(0, 4, rows), group=[rows])
    scores = rng.normal(size=rows)
    objective, metric = skrank.xgboost.objective("gap@10"), skrank.xgboost.eval_metric("gap")
    tracemalloc.start()
    objective(scores, data)
    metric(scores, data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * rows


# Several workers


def test_two_workers_train_and_evaluate_as_one(train):
    train.y[train.qid < 20] = np.minimum(train.y[train.qid < 20], 2)  # one does not see the top
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()

    def work(_):
        with xgb.collective.CommunicatorContext(**tracker.worker_args()):
            first = xgb.collective.get_rank() == 0
            rows = (train.qid < 20) == first
            weight = train.weight[:20] if first else train.weight[20:]
            data = xgb.DMatrix(
                train.X[rows], train.y[rows], qid=train.qid[rows], weight=weight, nthread=1
            )
            log = {}
            booster = xgb.train(
                QUIET,
                data,
                3,
                evals=[(data, "train")],
                obj=skrank.xgboost.objective("err"),
                custom_metric=skrank.xgboost.eval_metric("err", "gap@10", max_grade=4),
                evals_result=log,
                verbose_eval=False,
            )
            return log["train"], margins(booster, train)

    with ThreadPoolExecutor(2) as pool:
        (log, scores), (log2, scores2) = pool.map(work, range(2))
    tracker.wait_for()
    assert log == log2
    np.testing.assert_array_equal(scores, scores2)
    for name in ("err", "gap@10"):
        expected = train.score(name, scores, weight=True)
        assert log[name][-1] == pytest.approx(expected, abs=6e-7)


def test_weights_are_scaled_by_the_mean_of_all_workers(train):
    scores = np.random.default_rng(0).normal(size=len(train.y)).astype(np.float32)
    objective = skrank.xgboost.objective("gap", tie_order="stable")
    expected = objective(scores, train.matrix(weighted=True))
    tracker = RabitTracker(host_ip="127.0.0.1", n_workers=2)
    tracker.start()

    def work(first):
        with xgb.collective.CommunicatorContext(**tracker.worker_args()):
            rows = (train.qid < 20) == first
            weight = train.weight[:20] if first else train.weight[20:]
            data = xgb.DMatrix(train.X[rows], train.y[rows], qid=train.qid[rows], weight=weight)
            return copy.deepcopy(objective)(scores[rows], data)

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(work, [True, False]))
    tracker.wait_for()
    for found, whole in zip(map(np.concatenate, zip(*parts, strict=True)), expected, strict=True):
        np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-7)


def test_a_geometric_mean_is_not_summed_over_workers(train, monkeypatch):
    monkeypatch.setattr(xgb.collective, "get_world_size", lambda: 2)
    monkeypatch.setattr(xgb.collective, "allreduce", lambda values, op: values)
    metric = skrank.xgboost.eval_metric(skrank.metric("ap", average="geometric"))
    with pytest.raises(ValueError, match=r"cannot be summed over the workers"):
        metric(np.zeros(len(train.y)), train.matrix())


# What is refused


@pytest.mark.parametrize("make", [skrank.xgboost.objective, skrank.xgboost.eval_metric])
class TestErrors:
    def call(self, make, data, scores=None, **fields):
        scores = np.zeros(len(data.y)) if scores is None else scores
        return make("gap")(scores, data.matrix(**fields))

    @pytest.mark.parametrize("kind", [xgb.DMatrix, xgb.QuantileDMatrix])
    def test_no_groups(self, make, train, kind):
        with pytest.raises(ValueError, match=r"the DMatrix has no groups: pass qid="):
            make("gap")(np.zeros(len(train.y)), kind(train.X, train.y))

    def test_weights_of_rows(self, make, train):
        weight = train.weight[train.qid]
        with pytest.raises(ValueError, match=r"weights for 60 queries.*one weight per query"):
            self.call(make, train, weight=weight)

    def test_negative_labels(self, make, train):
        with pytest.raises(ValueError, match=r"label of row \d+ is -1: labels must be at least 0"):
            self.call(make, train, label=train.y - 1)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_unusable_predictions(self, make, train, value):
        scores = np.zeros(len(train.y))
        scores[5] = value
        with pytest.raises(ValueError, match=r"score of row 5 is (nan|inf).*Repair the model"):
            self.call(make, train, scores)

    def test_unknown_names(self, make):
        with pytest.raises(ValueError, match="did you mean 'ndcg'"):
            make("ndgc@10")

    def test_xgboost_is_missing(self, make, monkeypatch):
        monkeypatch.setitem(sys.modules, "xgboost", None)
        for call in (make, lambda name: skrank.xgboost.early_stopping(name, 5)):
            with pytest.raises(ImportError, match=r"pip install skrank\[xgboost\]"):
                call("gap")


def test_scikit_learn_estimators_of_xgboost_are_refused(train):
    remedy = r"needs a DMatrix with queries.*xgboost.train, or skrank.GroupedRanker"
    model = xgb.XGBRegressor(objective=skrank.xgboost.objective("gap"), n_estimators=2)
    with pytest.raises(TypeError, match=remedy):
        model.fit(train.X, train.y)
    ranker = xgb.XGBRanker(eval_metric=skrank.xgboost.eval_metric("gap"), n_estimators=2)
    with pytest.raises(TypeError, match=remedy):
        ranker.fit(
            train.X,
            train.y,
            qid=train.qid,
            eval_set=[(train.X, train.y)],
            eval_qid=[train.qid],
            verbose=False,
        )


def test_arrays_of_a_device_are_fetched(train):
    class OnDevice:
        """Has of a cupy array what the adapter needs."""

        __cuda_array_interface__: ClassVar[dict] = {}

        def __init__(self, values):
            self.get = lambda: np.asarray(values)

    scores, data = np.linspace(0, 1, len(train.y)), train.matrix()
    for call in (skrank.xgboost.objective("gap"), skrank.xgboost.eval_metric("gap")):
        np.testing.assert_equal(call(OnDevice(scores), data), call(scores, data))


def test_one_metric_or_several(train):
    scores = np.zeros(len(train.y))
    one = skrank.xgboost.eval_metric("gap@10")(scores, train.matrix())
    assert one == ("gap@10", pytest.approx(train.score("gap@10", scores)))
    same = skrank.xgboost.eval_metric("gap@10", "map", "ap")(scores, train.matrix())
    assert [name for name, _ in same] == ["gap@10", "ap"]
    with pytest.raises(ValueError, match="name one or more"):
        skrank.xgboost.eval_metric()
