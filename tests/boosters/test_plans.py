"""Caches of the callables for LightGBM and XGBoost, in copies and threads, and errors."""

import copy
import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import skrank
from skrank.extending import Judgments
from tests.helpers.boosters import METRICS, Data, LightGBM, XGBoost

both = pytest.mark.parametrize("library", [LightGBM, XGBoost])


@both
def test_the_same_callable_trains_the_same_again(library, train, valid):
    def trained(data, objective):
        return library.scores(library.train(data, objective, 5)[0], valid)

    objective, data = library.module.objective("gap"), library.build(train)
    first = trained(data, objective)
    np.testing.assert_array_equal(trained(data, objective), first)
    np.testing.assert_array_equal(
        trained(library.build(train), pickle.loads(pickle.dumps(objective))), first
    )
    other = library.module.objective("gap", random_state=1)
    assert not np.array_equal(trained(data, other), first)


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
@pytest.mark.parametrize("weighted", [False, True])
def test_eval_equals_the_metric(library, train, valid, weighted):
    metric = library.module.eval_metric(*METRICS, max_grade=4)
    measured = [library.build(train), library.build(valid, weighted=weighted)]
    objective = library.module.objective("gap")
    booster, log = library.train(library.build(train), objective, 3, measured, metric)
    for part, data, weights in (("valid_0", train, False), ("valid_1", valid, weighted)):
        assert list(log[part]) == METRICS
        scores = library.scores(booster, data)
        for name in METRICS:
            expected = data.score(name, scores, weights)
            assert log[part][name][-1] == pytest.approx(expected, abs=6e-7)


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


CHANGES = {
    "nothing": lambda library, data: None,
    "labels": lambda library, data: data.set_label(np.roll(data.get_label(), 1)),
    "labels in place": lambda library, data: np.copyto(data.get_label(), np.roll(data.label, 1)),
    "groups": lambda library, data: data.set_group(data.get_group()[::-1].copy()),
    "weights": lambda library, data: library.set_weights(data, 1.0 + np.arange(60)),
}


@pytest.mark.parametrize(
    ("library", "change"),
    [
        (library, change)
        for library in (LightGBM, XGBoost)
        for change in CHANGES
        if (library, change) != (XGBoost, "labels in place")  # its get_label is a copy
    ],
)
def test_no_stale_plan(library, train, change):
    scores = np.random.default_rng(0).normal(size=len(train.y))
    callables = library.module.objective("gap"), library.module.eval_metric("gap@10", "rr")
    data = library.build(train)
    before = [call(scores, data) for call in callables]
    CHANGES[change](library, data)
    after = [call(scores, data) for call in callables]
    fresh = [copy.deepcopy(call)(scores, data) for call in callables]
    np.testing.assert_equal(after, fresh)
    assert (change == "nothing") == np.array_equal(before[0][0], after[0][0])
    assert (change == "nothing") == (before[1] == after[1])


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
@pytest.mark.parametrize("make", ["objective", "eval_metric"])
def test_what_is_refused(library, make, train, monkeypatch):
    make, source = getattr(library.module, make), library.build(train)
    scores = np.zeros(len(train.y))
    for values, data, message in (
        (scores, library.build(train, group=None), f"{library.source} has no groups: pass"),
        (scores, library.build(train, label=train.y - 1), r"label of row \d+"),
        (np.where(np.arange(len(scores)) == 5, np.nan, 0), source, "row 5"),
        (np.where(np.arange(len(scores)) == 5, np.inf, 0), source, "row 5"),
        (np.zeros(3), source, "rows"),
    ):
        with pytest.raises(ValueError, match=message):
            make("gap")(values, data)
    with pytest.raises(ValueError, match="'ndcg'"):
        make("ndgc@10")
    with pytest.raises(ValueError, match="name one or more"):
        library.module.eval_metric()
    monkeypatch.setitem(sys.modules, library.name, None)
    with pytest.raises(ImportError, match=rf"pip install skrank\[{library.name}\]"):
        make("gap")
