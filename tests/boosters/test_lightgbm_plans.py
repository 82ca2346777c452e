"""What the callables for LightGBM keep, in copies and threads, and what they refuse."""

import copy
import gc
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import lightgbm as lgb
import numpy as np
import pytest

import skrank
import skrank.lightgbm
from skrank.extending import Judgments
from tests.helpers.lightgbm_data import (
    QUIET,
    Data,
    fit,
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
    scores = np.zeros(len(train.y))
    for original, kept in (
        (skrank.lightgbm.objective("gap", sigmoid=2.0), "_bound"),
        (skrank.lightgbm.eval_metric("gap@10", "rr"), "_plans"),
    ):
        first = original(train.y, scores, None, train.sizes)
        again = copied(original)
        assert (len(getattr(original, kept)), len(getattr(again, kept))) == (1, 0)
        assert repr(again) == repr(original)
        assert type(again) is type(original)
        np.testing.assert_equal(again(train.y, scores, None, train.sizes), first)


def test_one_eval_metric_and_objective_in_two_threads(train, valid):
    objective = skrank.lightgbm.objective("gap")
    metric = skrank.lightgbm.eval_metric("gap@10")

    def run(data):
        log = {}
        lgb.train(
            QUIET | {"objective": objective},
            data.dataset(),
            10,
            [train.dataset(), valid.dataset()],
            feval=metric,
            callbacks=[lgb.record_evaluation(log)],
        )
        return log

    alone = [run(data) for data in (train, valid)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, [train, valid])) == alone


def test_random_ties_do_not_follow_the_rows(train):
    scores = np.zeros(len(train.y))
    grads = [
        skrank.lightgbm.objective("gap", **options)(train.y, scores, None, train.sizes)[0]
        for options in ({}, {}, {"random_state": 1}, {"tie_order": "stable"})
    ]
    np.testing.assert_array_equal(grads[0], grads[1])
    assert not np.array_equal(grads[0], grads[2])
    assert not np.array_equal(grads[0], grads[3])


def test_outputs_are_single_precision_and_predictions_are_only_read(train):
    scores = np.linspace(0, 1, len(train.y))
    scores.flags.writeable = False
    grad, hess = skrank.lightgbm.objective("gap")(scores, train.dataset().construct())
    assert grad.dtype == hess.dtype == np.float32
    assert grad.flags.c_contiguous
    assert (hess >= 0).all()
    double = skrank.LambdaRank("gap")(train.y, scores, groups=train.qid)
    np.testing.assert_allclose(grad, double[0], atol=1e-5)
    np.testing.assert_allclose(hess, double[1], atol=1e-5)


# Plans


@pytest.mark.filterwarnings("ignore:The argument 'eval_set'")
def test_plans_are_built_once_per_data_set(train, valid, monkeypatch):
    built = []
    monkeypatch.setattr(
        skrank.lightgbm, "Judgments", lambda *args: built.append(1) or Judgments(*args)
    )
    lgb.train(
        QUIET | {"objective": skrank.lightgbm.objective("gap")},
        train.dataset(),
        6,
        [train.dataset(), valid.dataset()],
        feval=skrank.lightgbm.eval_metric("gap", "err"),
    )
    assert len(built) == 3  # for gradients, and for both evaluations
    built.clear()
    lgb.LGBMRanker(objective=skrank.lightgbm.objective("gap"), n_estimators=6, **QUIET).fit(
        train.X,
        train.y,
        group=train.sizes,
        eval_set=[(valid.X, valid.y), (train.X, train.y), (train.X[:], train.y)],
        eval_group=[valid.sizes, train.sizes, train.sizes],
        eval_metric=skrank.lightgbm.eval_metric("gap", "err", max_grade=4),
    )
    assert len(built) == 4


def test_plans_die_with_the_data(train):
    objective, metric = skrank.lightgbm.objective("gap"), skrank.lightgbm.eval_metric("gap")
    data = train.dataset().construct()
    scores = np.zeros(len(train.y))
    objective(scores, data)
    metric(scores, data)
    metric(np.array(train.y), scores, None, train.sizes)
    assert len(objective._bound) == 1
    assert len(metric._plans) == 1
    del data
    gc.collect()
    assert len(objective._bound) == len(metric._plans) == 0


def change_labels(data):
    data.set_label(np.roll(data.get_label(), 1))


def change_labels_in_place(data):
    data.get_label()[:] = data.get_label()[::-1].copy()


def change_groups(data):
    data.set_group(data.get_group()[::-1].copy())


def change_weights(data):
    data.set_weight(np.repeat(1.0 + np.arange(len(data.get_group())), data.get_group()))


def no_change(data):
    pass


@pytest.mark.parametrize(
    "change", [no_change, change_labels, change_labels_in_place, change_groups, change_weights]
)
def test_no_stale_plan(train, change):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    callables = skrank.lightgbm.objective("gap"), skrank.lightgbm.eval_metric("gap@10", "err")
    data = train.dataset().construct()
    before = [call(scores, data) for call in callables]
    change(data)
    after = [call(scores, data) for call in callables]
    fresh = [copy.deepcopy(call)(scores, data) for call in callables]
    np.testing.assert_equal(after, fresh)
    assert (change is no_change) == np.array_equal(before[0][0], after[0][0])
    assert (change is no_change) == (before[1] == after[1])


def test_training_again_with_other_labels(train, valid):
    objective = skrank.lightgbm.objective("gap")
    data = train.dataset(free_raw_data=False)
    lgb.train(QUIET | {"objective": objective}, data, 5)
    data.set_label(np.roll(train.y, 5))
    found = lgb.train(QUIET | {"objective": objective}, data, 5).predict(valid.X)
    fresh = lgb.Dataset(train.X, np.roll(train.y, 5), group=train.sizes)
    expected = lgb.train(QUIET | {"objective": skrank.lightgbm.objective("gap")}, fresh, 5)
    np.testing.assert_array_equal(found, expected.predict(valid.X))


def test_scale_of_grades_comes_from_the_training_labels(train):
    low = Data(5, 20, max_grade=2)
    scores = np.random.default_rng(0).normal(size=len(low.y))
    data = lgb.Dataset(low.X, low.y, group=low.sizes, reference=train.dataset()).construct()
    name, value, _ = skrank.lightgbm.eval_metric("err")(scores, data)
    assert name == "err"
    given = skrank.metric("err", max_grade=4)
    assert value == pytest.approx(given(low.y, scores, groups=low.qid))
    assert value < 0.9 * low.score("err", scores)


def test_labels_mean_what_was_written():
    y = np.array([0.7, 0.1, 0.3, 0.0, 0.7, 0.2])
    scores = np.array([3.0, 2.0, 1.0, 3.0, 2.0, 1.0])
    data = lgb.Dataset(np.zeros((6, 1)), y, group=[3, 3], params={"verbosity": -1}).construct()
    metric = skrank.metric("ap", rel=0.7)
    name, value, _ = skrank.lightgbm.eval_metric(metric)(scores, data)
    assert name == "ap(rel=0.7)"
    assert value == pytest.approx(metric(y, scores, groups=[0, 0, 0, 1, 1, 1]))
    assert value == pytest.approx(0.75)


def test_memory_grows_with_rows_only():
    rows = 20_000
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 4, rows).astype(np.float32), rng.normal(size=rows)
    objective, metric = skrank.lightgbm.objective("gap@10"), skrank.lightgbm.eval_metric("gap")
    tracemalloc.start()
    objective(y, scores, None, [rows])
    metric(y, scores, None, [rows])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * rows


# What is refused


def test_bagging_by_query_is_refused_by_a_grouped_ranker(train):
    estimator = lgb.LGBMRanker(subsample=0.5, subsample_freq=1, bagging_by_query=True, **QUIET)
    with pytest.raises(ValueError, match=r"trains nothing.*bagging_by_query=False"):
        skrank.GroupedRanker(estimator, objective="gap").fit(train.X, train.y, train.qid)
    skrank.GroupedRanker(estimator).fit(train.X, train.y, train.qid)  # LightGBM's own objective


@pytest.mark.parametrize("fraction", ["bagging_fraction", "subsample", "sub_row", "bagging"])
@pytest.mark.parametrize("every", ["bagging_freq", "subsample_freq"])
@pytest.mark.parametrize("yes", [True, "true", "+"])
def test_bagging_by_query_is_refused_under_each_of_its_names(fraction, every, yes, train):
    bagging = {"bagging_by_query": yes, fraction: 0.5, every: 1}
    with pytest.raises(ValueError, match="trains nothing"):
        skrank.lightgbm.cv(bagging, train.dataset(), 2, objective="gap")


@pytest.mark.parametrize(
    "bagging",
    [
        {"bagging_fraction": 0.5, "bagging_freq": 1},
        {"bagging_by_query": True},
        {"bagging_by_query": True, "bagging_fraction": 0.5},
        {"bagging_by_query": False, "bagging_fraction": 0.5, "bagging_freq": 1},
        {"data_sample_strategy": "goss"},
        {"boosting": "dart"},
    ],
)
def test_other_sampling_trains(train, bagging):
    assert fit(train, skrank.lightgbm.objective("gap"), 5, **bagging).predict(train.X).std() > 0.01


@pytest.mark.parametrize("make", [skrank.lightgbm.objective, skrank.lightgbm.eval_metric])
class TestErrors:
    def call(self, make, data, scores=None, **fields):
        given = {"label": data.y, "group": data.sizes} | fields
        dataset = lgb.Dataset(data.X, params={"verbosity": -1}, **given).construct()
        scores = np.zeros(len(data.y)) if scores is None else scores
        return make("gap")(scores, dataset)

    def test_no_groups(self, make, train):
        with pytest.raises(ValueError, match=r"lightgbm.Dataset has no groups: pass group="):
            self.call(make, train, group=None)
        with pytest.raises(ValueError, match=r"LightGBM's data has no groups: pass group="):
            make("gap")(train.y, np.zeros(len(train.y)))

    def test_weights_that_vary_inside_a_query(self, make, train):
        weight = np.arange(1.0, len(train.y) + 1)
        with pytest.raises(ValueError, match=r"varies inside query.*the same weight"):
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

    def test_predictions_of_another_length(self, make, train):
        with pytest.raises(ValueError, match="rows"):
            self.call(make, train, np.zeros(3))

    def test_unknown_names(self, make):
        with pytest.raises(ValueError, match="did you mean 'ndcg'"):
            make("ndgc@10")

    def test_lightgbm_is_missing(self, make, monkeypatch):
        monkeypatch.setitem(sys.modules, "lightgbm", None)
        with pytest.raises(ImportError, match=r"pip install skrank\[lightgbm\]"):
            make("gap")


def test_positions_are_refused_in_training_only(train):
    positions = np.concatenate([np.arange(size) for size in train.sizes])
    data = train.dataset(position=positions).construct()
    with pytest.raises(ValueError, match=r"position=.*objective='lambdarank'"):
        skrank.lightgbm.objective("gap")(np.zeros(len(train.y)), data)
    assert skrank.lightgbm.eval_metric("gap")(np.zeros(len(train.y)), data)[0] == "gap"


def test_options():
    with pytest.raises(ValueError, match="did you mean 'sigmoid'"):
        skrank.lightgbm.objective("gap", sigmod=2)
    with pytest.raises(ValueError, match="belong to the objective"):
        skrank.lightgbm.objective(skrank.LambdaRank("gap"), sigmoid=2)
    given = skrank.LambdaRank("gap", sigmoid=2)
    assert skrank.lightgbm.objective(given).objective is given
    with pytest.raises(ValueError, match="name one or more"):
        skrank.lightgbm.eval_metric()


def test_one_metric_or_several(train):
    scores = np.zeros(len(train.y))
    one = skrank.lightgbm.eval_metric("gap@10")(train.y, scores, None, train.sizes)
    assert one == ("gap@10", pytest.approx(train.score("gap@10", scores)), True)
    same = skrank.lightgbm.eval_metric("gap@10", "map", "ap")(train.y, scores, None, train.sizes)
    assert [name for name, _, _ in same] == ["gap@10", "ap"]


def test_empty_groups_do_not_matter(train):
    sizes = np.r_[0, train.sizes, 0]
    scores = np.random.default_rng(0).normal(size=len(train.y))
    metric = skrank.lightgbm.eval_metric("gap")
    assert metric(train.y, scores, None, sizes) == metric(train.y, scores, None, train.sizes)


def test_boosters_are_imported_when_needed():
    code = (
        "import sys, skrank.lightgbm, skrank.xgboost\n"
        "print({'lightgbm', 'xgboost', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
