"""Caches of the callables for LightGBM and XGBoost, in copies and threads, and errors."""

import copy
import gc
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import skrank
from skrank.extending import Judgments
from tests.helpers.boosters import Data, LightGBM, XGBoost

both = pytest.mark.parametrize("library", [LightGBM, XGBoost])


# Copies, threads, repetition


@both
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_start_without_plans(library, train, copied):
    data, scores = library.build(train), np.zeros(len(train.y))
    for original, kept in (
        (library.module.objective("gap", sigmoid=2.0), "_bound"),
        (library.module.eval_metric("gap@10", "rr"), "_plans"),
    ):
        first = original(scores, data)
        again = copied(original)
        assert (len(getattr(original, kept)), len(getattr(again, kept))) == (1, 0)
        assert repr(again) == repr(original)
        assert type(again) is type(original)
        np.testing.assert_equal(again(scores, data), first)


@both
def test_the_same_callable_trains_the_same_again(library, train, valid):
    def trained(data, objective):
        return library.scores(library.train(data, objective, 5)[0], valid)

    objective, data = library.module.objective("gap"), library.build(train)
    first = trained(data, objective)
    np.testing.assert_array_equal(trained(data, objective), first)
    np.testing.assert_array_equal(trained(library.build(train), copy.deepcopy(objective)), first)
    for options in ({"random_state": 1}, {"tie_order": "stable"}):
        assert not np.array_equal(trained(data, library.module.objective("gap", **options)), first)


@both
def test_one_eval_metric_and_objective_in_two_threads(library, train, valid):
    objective, metric = library.module.objective("gap"), library.module.eval_metric("gap@10")

    def run(data):
        measured = [library.build(train), library.build(valid)]
        booster, log = library.train(library.build(data), objective, 8, measured, metric)
        return library.scores(booster, valid), log

    alone = [run(data) for data in (train, valid)]
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_equal(list(pool.map(run, [train, valid])), alone)


@both
def test_gradients_are_those_of_lambdarank_in_single_precision(library, train):
    scores = np.random.default_rng(0).normal(size=len(train.y)).astype(np.float32)
    scores.flags.writeable = False
    grad, hess = library.module.objective("gap")(scores, library.build(train))
    assert grad.dtype == hess.dtype == np.float32
    assert grad.flags.c_contiguous
    assert (hess >= 0).all()
    expected = skrank.LambdaRank("gap")(train.y, scores, groups=train.qid)
    np.testing.assert_allclose(grad, expected[0], atol=1e-5)
    np.testing.assert_allclose(hess, library.curvature * expected[1], atol=1e-5)


# Plans


@both
def test_plans_are_built_once_per_data_set(library, train, valid, monkeypatch):
    built = []
    monkeypatch.setattr(
        library.judging, "Judgments", lambda *args: built.append(1) or Judgments(*args)
    )
    metric = library.module.eval_metric("gap", "err", max_grade=4)
    measured = [library.build(train), library.build(valid)]
    library.train(library.build(train), library.module.objective("gap"), 6, measured, metric)
    assert len(built) == 3  # for the objective, and for both evaluation sets


@both
def test_plans_die_with_the_data(library, train):
    objective, metric = library.module.objective("gap"), library.module.eval_metric("gap")
    data, scores = library.build(train), np.zeros(len(train.y))
    objective(scores, data)
    metric(scores, data)
    assert len(objective._bound) == len(metric._plans) == 1
    del data
    gc.collect()
    assert len(objective._bound) == len(metric._plans) == 0


def change_labels(library, data):
    data.set_label(np.roll(data.get_label(), 1))


def change_labels_in_place(library, data):
    data.get_label()[:] = data.get_label()[::-1].copy()


def change_groups(library, data):
    data.set_group(data.get_group()[::-1].copy())


def change_weights(library, data):
    library.set_weights(data, 1.0 + np.arange(len(data.get_group())))


def no_change(library, data):
    pass


CHANGES = [no_change, change_labels, change_groups, change_weights]


@pytest.mark.parametrize(
    ("library", "change"),
    [(one, change) for one in (LightGBM, XGBoost) for change in CHANGES]
    + [(LightGBM, change_labels_in_place)],  # get_label of XGBoost is a copy
)
def test_no_stale_plan(library, train, change):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    callables = library.module.objective("gap"), library.module.eval_metric("gap@10", "rr")
    data = library.build(train)
    before = [call(scores, data) for call in callables]
    change(library, data)
    after = [call(scores, data) for call in callables]
    fresh = [copy.deepcopy(call)(scores, data) for call in callables]
    np.testing.assert_equal(after, fresh)
    assert (change is no_change) == np.array_equal(before[0][0], after[0][0])
    assert (change is no_change) == (before[1] == after[1])


@both
def test_labels_mean_what_was_written(library):
    data = Data(0, 2)
    data.X, data.sizes, data.qid = np.zeros((6, 1)), [3, 3], [0, 0, 0, 1, 1, 1]
    data.y = np.array([0.7, 0.1, 0.3, 0.0, 0.7, 0.2])
    scores = np.array([3.0, 2.0, 1.0, 3.0, 2.0, 1.0])
    metric = skrank.metric("ap", rel=0.7)
    name, value = library.module.eval_metric(metric)(scores, library.build(data))[:2]
    assert name == "ap(rel=0.7)"
    assert value == pytest.approx(metric(data.y, scores, groups=data.qid))
    assert value == pytest.approx(0.75)


@both
def test_memory_grows_with_rows_only(library):
    rows = 20_000
    rng = np.random.default_rng(0)
    data = Data(0, 1)
    data.X, data.sizes, data.qid = np.zeros((rows, 1)), [rows], np.zeros(rows, int)
    data.y, scores = rng.integers(0, 4, rows).astype(np.float32), rng.normal(size=rows)
    dataset = library.build(data)
    objective, metric = library.module.objective("gap@10"), library.module.eval_metric("gap")
    tracemalloc.start()
    objective(scores, dataset)
    metric(scores, dataset)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * rows


@both
def test_one_metric_or_several(library, train):
    data, scores = library.build(train), np.zeros(len(train.y))
    name, value = library.module.eval_metric("gap@10")(scores, data)[:2]
    assert (name, value) == ("gap@10", pytest.approx(train.score("gap@10", scores)))
    same = library.module.eval_metric("gap@10", "map", "ap")(scores, data)
    assert [name for name, *_ in same] == ["gap@10", "ap"]
    with pytest.raises(ValueError, match="name one or more"):
        library.module.eval_metric()


# What is refused


@both
@pytest.mark.parametrize("make", ["objective", "eval_metric"])
class TestErrors:
    def test_no_groups(self, library, make, train):
        data = library.build(train, **{"group" if library is LightGBM else "qid": None})
        with pytest.raises(ValueError, match=f"{library.source} has no groups: pass"):
            getattr(library.module, make)("gap")(np.zeros(len(train.y)), data)

    def test_negative_labels(self, library, make, train):
        data = library.build(train, label=train.y - 1)
        with pytest.raises(ValueError, match=r"label of row \d+ is -1: labels must be at least 0"):
            getattr(library.module, make)("gap")(np.zeros(len(train.y)), data)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_unusable_predictions(self, library, make, train, value):
        scores = np.zeros(len(train.y))
        scores[5] = value
        with pytest.raises(ValueError, match=r"score of row 5 is (nan|inf).*Repair the model"):
            getattr(library.module, make)("gap")(scores, library.build(train))

    def test_predictions_of_another_length(self, library, make, train):
        with pytest.raises(ValueError, match="rows"):
            getattr(library.module, make)("gap")(np.zeros(3), library.build(train))

    def test_unknown_names(self, library, make):
        with pytest.raises(ValueError, match="did you mean 'ndcg'"):
            getattr(library.module, make)("ndgc@10")

    def test_the_library_is_missing(self, library, make, monkeypatch):
        monkeypatch.setitem(sys.modules, library.name, None)
        with pytest.raises(ImportError, match=rf"pip install skrank\[{library.name}\]"):
            getattr(library.module, make)("gap")


@both
def test_options(library):
    with pytest.raises(ValueError, match="did you mean 'sigmoid'"):
        library.module.objective("gap", sigmod=2)
    with pytest.raises(ValueError, match="belong to the objective"):
        library.module.objective(skrank.LambdaRank("gap"), sigmoid=2)
    given = skrank.LambdaRank("gap", sigmoid=2)
    assert library.module.objective(given).objective is given


def test_boosters_are_imported_when_needed():
    code = (
        "import sys, skrank.lightgbm, skrank.xgboost\n"
        "print({'lightgbm', 'xgboost', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
