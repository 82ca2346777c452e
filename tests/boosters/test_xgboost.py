"""Objectives, eval metrics and early stopping in XGBoost: parity with its own, and its traps."""

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
from skrank._engine.judgments import Judgments

QUIET = {"disable_default_eval_metric": 1, "nthread": 1, "max_depth": 4}
METRICS = ["gap@10", "gap", "ap@5", "ndcg@10", "ndcg(gain=linear)@3", "err", "rr", "precision@5"]


class Data:
    """Ragged queries, some without a relevant document, with features that tell a part."""

    def __init__(self, seed, n_queries=60):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(1, 40, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.normal(size=(self.sizes.sum(), 6)).astype(np.float32)
        latent = self.X[:, 0] + 0.5 * self.X[:, 1] + rng.normal(size=len(self.X)) - 0.5
        self.y = np.clip(np.floor(latent), 0, 4)
        self.y[np.isin(self.qid, (3, 4, 11))] = 0
        self.weight = rng.choice([0.5, 1.0, 2.0], n_queries)

    def matrix(self, weighted=False, kind=xgb.DMatrix, **fields):
        fields = {"label": self.y, "qid": self.qid} | fields
        return kind(self.X, **({"weight": self.weight} if weighted else {}) | fields)

    def score(self, name, scores, weight=False):
        weight = self.weight[self.qid] if weight else None
        return skrank.metric(name)(self.y, scores, groups=self.qid, sample_weight=weight)


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 40)


def fit(matrix, obj=None, rounds=15, **params):
    return xgb.train(QUIET | params, matrix, rounds, obj=obj)


def margins(booster, data):
    return booster.predict(data.matrix(), output_margin=True)


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
        custom_metric=skrank.xgboost.eval_metric(*METRICS),
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


def train_until(train, valid, stop, *metrics, **kwargs):
    log = {}
    booster = xgb.train(
        QUIET | {"learning_rate": 0.5},
        train.matrix(),
        150,
        evals=[(valid.matrix(), "valid"), (train.matrix(), "train")],
        obj=skrank.xgboost.objective("gap"),
        custom_metric=skrank.xgboost.eval_metric(*metrics),
        callbacks=[stop],
        evals_result=log,
        verbose_eval=False,
    )
    return booster, log["valid"]


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
        custom_metric=skrank.xgboost.eval_metric("gap@10", "err"),
        callbacks=[skrank.xgboost.early_stopping("gap@10", 5, data_name="test")],
    )
    found = result["test-gap@10-mean"].to_numpy()
    assert np.argmax(found) == len(found) - 1 > 0


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
    shared = train.matrix()

    def run(matrix):
        return margins(fit(matrix, objective, 8), valid)

    matrices = [shared, shared, valid.matrix(), shared]
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
                custom_metric=skrank.xgboost.eval_metric("err", "gap@10"),
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
