"""Caches of the callables for LightGBM and XGBoost, in copies and threads, and errors."""

import copy
import gc
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import numpy as np
import pytest

import skrank
from tests.helpers.boosters import LIBRARIES, METRICS, Data, XGBoost

both = pytest.mark.parametrize("library", LIBRARIES)


DRAWING = [
    skrank.LambdaRank("ndcg"),
    skrank.LambdaRank("gap", random_state=3),
    skrank.LambdaRank("err"),
    skrank.LambdaLoss("ndcg@10"),
    skrank.Softmax(random_gains=True),
    0.5 * skrank.LambdaRank("err") + 0.5 * skrank.Softmax(random_gains=True),
]
STARTS = {
    "none": lambda X: None,
    "tied": lambda X: X[:, 0].round(),
    "continuous": lambda X: X[:, 1].copy(),
}


@both
@pytest.mark.parametrize(
    ("objective", "start"), list(zip(DRAWING, cycle(STARTS), strict=False)), ids=str
)
def test_the_same_callable_and_data_train_the_same_whatever_was_trained_before(
    library, objective, start, train
):
    def build(start):
        return library.build(train, **{library.margin: STARTS[start](train.X)})

    def trained(objective, data):
        return library.scores(library.train(data, objective, 3)[0], train)

    called, data = library.module.objective(objective), build(start)
    first = trained(called, data)
    trained(called, build("none"))
    np.testing.assert_array_equal(trained(called, data), first)
    again = trained(pickle.loads(pickle.dumps(called)), build(start))
    np.testing.assert_array_equal(again, first)


@both
def test_the_seed_decides_between_tied_documents(library, train):
    first, other = (
        library.scores(library.train(library.build(train), objective, 3)[0], train)
        for objective in (library.module.objective("gap", random_state=seed) for seed in (0, 1))
    )
    assert not np.array_equal(other, first)


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
def test_eval_equals_the_metric(library, train, valid):
    metric = library.module.eval_metric(*METRICS, max_grade=4)
    parts = (train, False), (valid, False), (valid, True)
    measured = [library.build(data, weighted=weighted) for data, weighted in parts]
    objective = library.module.objective("gap")
    booster, log = library.train(library.build(train), objective, 3, measured, metric)
    for (data, weighted), logged in zip(parts, log.values(), strict=True):
        assert list(logged) == METRICS
        scores = library.scores(booster, data)
        for name in METRICS:
            expected = data.score(name, scores, weighted)
            assert logged[name][-1] == pytest.approx(expected, abs=6e-7)


@both
def test_callables_do_not_keep_data_sets(library, train):
    objective, metric = library.module.objective("gap"), library.module.eval_metric("gap")
    gc.freeze()  # of the objects of other tests, which are many
    data, scores = library.build(train), np.zeros(len(train.y))
    objective(scores, data)
    metric(scores, data)
    known = weakref.ref(data)
    del data
    gc.collect()
    gc.unfreeze()
    assert known() is None


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
        for library in LIBRARIES
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
    with pytest.raises(ValueError, match="one or more"):
        library.module.eval_metric()
    monkeypatch.setitem(sys.modules, library.name, None)
    with pytest.raises(ImportError, match=rf"pip install skrank\[{library.name}\]"):
        make("gap")
