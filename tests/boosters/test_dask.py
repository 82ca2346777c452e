"""Training on Dask with worker processes: the model and the values of one machine, or an error."""

import importlib
import logging
import os
import signal
import sys
import threading
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import skrank
from skrank import _validation as check

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import lightgbm as lgb  # noqa: E402
import xgboost as xgb  # noqa: E402
import xgboost.dask as dxgb  # noqa: E402

import skrank.dask  # noqa: E402
import skrank.lightgbm  # noqa: E402
import skrank.xgboost  # noqa: E402
from skrank.dask import _even_cuts, partition_queries  # noqa: E402

pytestmark = [
    # LightGBM takes the number of threads from the workers, and deprecates what older ones need
    pytest.mark.filterwarnings("ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"),
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]
PATIENCE = 300  # seconds after which a call is taken to hang, also on a machine under load
LGB = {
    "metric": "None", "verbosity": -1, "min_child_samples": 5, "n_estimators": 10, "num_leaves": 4,
    "time_out": 2,
}  # fmt: skip
XGB = {"disable_default_eval_metric": 1, "max_depth": 3, "nthread": 1}
GAP = skrank.metric("gap", max_grade=4)


class Data:
    """Ragged queries; features of few values, so that all workers find the same bins."""

    def __init__(self, seed, n_queries=40):
        rng = np.random.default_rng(seed)
        self.sizes = rng.integers(1, 25, n_queries)
        self.qid = np.repeat(np.arange(n_queries), self.sizes)
        self.X = rng.integers(0, 8, (len(self.qid), 4)).astype(np.float64)
        latent = self.X[:, 0] / 2 + self.X[:, 1] / 4 + rng.normal(size=len(self.qid)) - 1.5
        self.y = np.clip(np.floor(latent), 0, 4)
        self.y[self.qid < 14] = np.minimum(self.y[self.qid < 14], 2)  # one worker sees no 4
        self.weight = rng.choice([0.5, 1.0, 2.0], n_queries)[self.qid]

    def score(self, metric, scores):
        return skrank.metric(metric)(self.y, scores, groups=self.qid)


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 30)


@pytest.fixture(scope="module")
def client():
    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def start():
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        memory_limit=None,
        silence_logs=logging.CRITICAL,
    )


def within(call, seconds=PATIENCE):
    """What a call returns or raises; it must end in time, so that no test hangs."""
    result = []

    def run():
        try:
            result.append((call(), None))
        except Exception as error:
            result.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert result, f"still running after {seconds} s"
    value, error = result[0]
    if error is not None:
        raise error
    return value


# Partitions -------------------------------------------------------------------------------------


def assert_whole(parts, X, y, qid, weight=None):
    """Every query is in one partition, with its rows in their order."""
    found, labels = parts.X.compute(), parts.y.compute()
    numbers, sizes = parts.qid.compute(), parts.group.compute()
    found = found.to_numpy() if hasattr(found, "to_numpy") else found
    found = found.toarray() if sp.issparse(found) else found
    np.testing.assert_array_equal(numbers, np.repeat(np.arange(len(sizes)), sizes))
    assert sorted(parts.queries.tolist()) == sorted(set(np.asarray(qid).tolist()))
    for number, query in enumerate(parts.queries):
        there = np.asarray(qid) == query
        np.testing.assert_array_equal(found[numbers == number], X[there])
        np.testing.assert_array_equal(labels[numbers == number], y[there])
        if weight is not None:
            own = parts.weight.compute()[numbers == number]
            np.testing.assert_array_equal(own, weight[there])
    ends = np.cumsum(sizes)
    of_parts = np.cumsum([len(piece) for piece in dask.compute(*parts.y.to_delayed().ravel())])
    assert set(of_parts) <= set(ends)
    assert len({one.npartitions for one in (parts.X, parts.y, parts.qid, parts.group)}) == 1
    np.testing.assert_array_equal(np.cumsum(parts.y.chunks[0]), of_parts)
    assert sum(parts.group.chunks[0]) == len(sizes)


@pytest.mark.parametrize("n_partitions", [None, 1, 3, 7])
def test_data_in_memory(client, train, n_partitions):
    order = np.random.default_rng(0).permutation(len(train.y))
    X, y, weight = train.X[order], train.y[order], train.weight[order]
    qid = np.array([f"query {one}" for one in train.qid[order]])
    parts = partition_queries(X, y, qid, sample_weight=weight, n_partitions=n_partitions)
    assert_whole(parts, X, y, qid, weight)
    assert parts.X.npartitions == (n_partitions or 2)
    rows = np.array(parts.y.chunks[0])
    assert rows.max() - rows.min() <= 2 * train.sizes.max()
    held = [len(keys) for keys in client.has_what().values()]
    assert n_partitions == 1 or min(held) > 0


def test_kinds_of_data_in_memory(client, train):
    frame = pd.DataFrame(train.X, columns=list("abcd"))
    labels = skrank.with_groups(train.y, train.qid)
    frame.index = labels.index
    parts = partition_queries(frame, labels)
    assert isinstance(parts.X, dd.DataFrame)
    assert_whole(parts, train.X, train.y, train.qid)
    parts = partition_queries(sp.csr_matrix(train.X), train.y, train.qid)
    blocks = dask.compute(*parts.X.to_delayed().ravel())
    assert all(sp.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sp.vstack(blocks).toarray(), train.X)
    parts = partition_queries(train.X.tolist(), train.y.tolist(), train.qid.tolist())
    assert_whole(parts, train.X, train.y, train.qid)
    assert parts.weight is None


def chunked(data, *ends):
    """Collections cut after these rows; an end twice makes an empty partition."""
    chunks = tuple(np.diff([0, *ends, len(data.y)]).tolist())
    X = da.from_array(data.X, chunks=(chunks, 4))
    return X, da.from_array(data.y, chunks=(chunks,)), da.from_array(data.qid, chunks=(chunks,))


def test_collections_of_whole_queries(client, train):
    ends = np.cumsum(train.sizes)[[9, 9, 25]]
    X, y, qid = chunked(train, *ends)
    weight = da.from_array(train.weight, chunks=y.chunks)
    parts = partition_queries(X, y, qid, sample_weight=weight)
    assert parts.X.npartitions == 3
    assert_whole(parts, train.X, train.y, train.qid, train.weight)


def test_frames_are_shuffled_by_query(client, train):
    order = np.random.default_rng(0).permutation(len(train.y))
    frame = pd.DataFrame(train.X, columns=list("abcd")).assign(y=train.y, qid=train.qid)
    torn = dd.from_pandas(frame.iloc[order].reset_index(drop=True), npartitions=3)
    with pytest.raises(ValueError, match=r"query \d+ lies in partitions 0 and 1.*frame.shuffle"):
        partition_queries(torn[list("abcd")], torn["y"], torn["qid"])
    whole = torn.shuffle("qid").persist()
    features = whole[list("abcd")]
    parts = partition_queries(features, whole["y"], whole["qid"])
    rows = whole.compute()
    assert_whole(parts, rows[list("abcd")].to_numpy(), rows["y"].to_numpy(), rows["qid"])


def test_partitions_that_are_refused(client, train):
    X, y, qid = chunked(train, train.sizes[0])
    weight = train.weight.copy()
    weight[1:3] = [3, 4]
    cases = [
        ((*chunked(train, train.sizes[0] + 1),), {}, "query 1 lies in partitions 0 and 1"),
        ((X, y.rechunk((len(train.y),)), qid), {}, "partitions: take all from one frame"),
        ((X.rechunk((None, 2)), y, qid), {}, "X is cut by columns"),
        ((X, train.y, qid), {}, "y must be a Dask collection"),
        ((X, y, None), {}, "needs groups="),
        ((X, y, qid), {"n_partitions": 2}, "for data in memory"),
        ((X, y, qid), {"sample_weight": da.from_array(weight, chunks=y.chunks)}, "varies inside"),
        ((train.X, train.y, train.qid), {"sample_weight": weight}, "varies inside query"),
        ((train.X, train.y, train.qid), {"n_partitions": 41}, "40 queries do not fill 41"),
        ((train.X, train.y, train.qid), {"n_partitions": 0}, "n_partitions=0 must be at least 1"),
        ((train.X, train.y, None), {}, "partition_queries needs the query of each row"),
        ((train.X, train.y, train.qid[1:]), {}, "one query id per row"),
        ((train.X, train.y[1:], train.qid), {}, "entries for"),
        ((train.X, train.y - 1, train.qid), {}, r"label of row \d+ is -1: labels must be"),
        ((train.X, train.y * np.nan, train.qid), {}, "label of row 0 is missing"),
        ((X, y - 1, qid), {}, r"label of row \d+ is -1: labels must be"),
    ]
    for args, options, message in cases:
        with pytest.raises(ValueError, match=message):
            partition_queries(*args, **options)


def test_no_client_and_no_dask(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ImportError, match=r"needs dask and distributed: pip install skrank\[dask\]"
    ):
        partition_queries(train.X, train.y, train.qid)


def test_importing_the_module_imports_no_dask():
    code = "import sys, skrank.dask; assert not {'dask', 'distributed'} & set(sys.modules)"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_even_and_leave_no_part_empty(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 2 + 100 * (seed % 2), 30)
    sizes[rng.integers(30)] = 3000
    for count in (1, 2, 5, 29, 30):
        cuts = _even_cuts(sizes, count)
        assert [first for first, _ in cuts[1:]] == [last for _, last in cuts[:-1]]
        assert (cuts[0][0], cuts[-1][1], len(cuts)) == (0, 30, count)
        assert min(last - first for first, last in cuts) > 0
    even = _even_cuts(np.full(40, 10), 4)
    assert even == [(0, 10), (10, 20), (20, 30), (30, 40)]


# XGBoost ----------------------------------------------------------------------------------------


def matrix(client, parts):
    return dxgb.DaskDMatrix(client, parts.X, parts.y, qid=parts.qid)


def train_dask(client, parts, evals, rounds=8, *, metrics=("gap@10", "err"), callbacks=(), **own):
    own = {"obj": skrank.xgboost.objective("gap", tie_order="stable")} | own
    return within(
        lambda: dxgb.train(
            client,
            XGB,
            parts,
            rounds,
            evals=evals,
            custom_metric=skrank.xgboost.eval_metric(*metrics),
            callbacks=list(callbacks),
            verbose_eval=False,
            **own,
        )
    )


def train_alone(train, valid, rounds=8, *, metrics=("gap@10", "err"), callbacks=()):
    log = {}
    matrices = [xgb.DMatrix(one.X, one.y, qid=one.qid) for one in (train, valid)]
    booster = xgb.train(
        XGB | {"tree_method": "hist"},
        matrices[0],
        rounds,
        evals=[(matrices[0], "train"), (matrices[1], "valid")],
        obj=skrank.xgboost.objective("gap", tie_order="stable"),
        custom_metric=skrank.xgboost.eval_metric(*metrics),
        callbacks=list(callbacks),
        evals_result=log,
        verbose_eval=False,
    )
    return booster, log


class RoundsOfWorker(xgb.callback.TrainingCallback):
    """Leaves on each worker how many rounds it trained, and what it logged."""

    def after_iteration(self, model, epoch, evals_log):
        distributed.get_worker().seen = epoch, {name: dict(log) for name, log in evals_log.items()}
        return False


def test_xgboost_is_as_on_one_machine(client, train, valid):
    dtrain, dvalid = (
        matrix(client, partition_queries(one.X, one.y, one.qid)) for one in (train, valid)
    )
    stop = skrank.xgboost.early_stopping("gap@10", 5)
    evals = [(dtrain, "train"), (dvalid, "valid")]
    found = train_dask(client, dtrain, evals, 60, callbacks=[RoundsOfWorker(), stop])
    stop = skrank.xgboost.early_stopping("gap@10", 5)
    alone, log = train_alone(train, valid, 60, callbacks=[stop])
    booster, history = found["booster"], found["history"]
    assert alone.best_iteration + 6 == alone.num_boosted_rounds() < 60
    assert booster.best_iteration == alone.best_iteration
    data = xgb.DMatrix(valid.X)
    np.testing.assert_allclose(booster.predict(data), alone.predict(data), atol=1e-4)
    for name in ("train", "valid"):
        for metric in ("gap@10", "err"):
            np.testing.assert_allclose(history[name][metric], log[name][metric], atol=1e-6)
    scores = booster.predict(data, iteration_range=(0, booster.num_boosted_rounds()))
    assert history["valid"]["gap@10"][-1] == pytest.approx(valid.score("gap@10", scores), abs=6e-7)
    seen = list(client.run(lambda dask_worker: dask_worker.seen).values())
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert seen[0][0] + 1 == booster.num_boosted_rounds()


def test_workers_without_a_part_of_the_data(client, train, valid):
    whole, single = (
        matrix(client, partition_queries(one.X, one.y, one.qid, n_partitions=count))
        for one, count in ((train, 2), (valid, 1))
    )
    for dtrain, dvalid, data, other in (
        (whole, single, train, valid),
        (single, whole, valid, train),
    ):
        found = train_dask(client, dtrain, [(dtrain, "train"), (dvalid, "valid")], 4)
        alone, log = train_alone(data, other, 4)
        for name in ("train", "valid"):
            np.testing.assert_allclose(found["history"][name]["err"], log[name]["err"], atol=1e-6)
        scores = found["booster"].predict(xgb.DMatrix(other.X))
        np.testing.assert_allclose(scores, alone.predict(xgb.DMatrix(other.X)), atol=1e-4)


def test_an_error_on_one_worker_reaches_the_user(client, train):
    parts = partition_queries(train.X, train.y, train.qid)
    labels = da.concatenate([parts.y[:-1], da.from_array([-1.0])]).rechunk(parts.y.chunks)
    bad = dxgb.DaskDMatrix(client, parts.X, labels, qid=parts.qid)
    with pytest.raises(ValueError, match=r"is -1: labels must be at least 0"):
        train_dask(client, bad, [(bad, "train")])
    good = matrix(client, parts)
    assert len(train_dask(client, good, [(good, "train")])["history"]["train"]["err"]) == 8


def test_a_log_per_query_is_refused(client, train):
    dtrain = matrix(client, partition_queries(train.X, train.y, train.qid))
    metric = skrank.xgboost.eval_metric("gap", per_query=skrank.xgboost.QueryLog())
    with pytest.raises(ValueError, match="queries of one worker only"):
        within(
            lambda: dxgb.train(
                client, XGB, dtrain, 2, evals=[(dtrain, "train")], custom_metric=metric,
                obj=skrank.xgboost.objective("gap"), verbose_eval=False,
            )
        )  # fmt: skip


# LightGBM ---------------------------------------------------------------------------------------


def ranker(client, objective=None, **params):
    objective = objective or skrank.lightgbm.objective(GAP, tie_order="stable")
    return lgb.DaskLGBMRanker(client=client, objective=objective, **LGB | params)


def fit_dask(client, parts, objective=None, params=None, **options):
    model = ranker(client, objective, **params or {})
    options = {"group": parts.group, "sample_weight": parts.weight} | options
    within(lambda: model.fit(parts.X, parts.y, **options))
    return model


def local(model):
    """The model without the parameters of the network."""
    return lgb.Booster(model_str=model.booster_.model_to_string())


def evaluated(valid_parts):
    return {
        "eval_set": [(valid_parts.X, valid_parts.y)],
        "eval_group": [valid_parts.group],
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_lightgbm_is_as_on_one_machine(client, train, valid, weighted):
    weight = train.weight if weighted else None
    parts = partition_queries(train.X, train.y, train.qid, sample_weight=weight)
    found = local(fit_dask(client, parts)).predict(valid.X)
    params = {name: value for name, value in LGB.items() if name != "time_out"}
    alone = lgb.LGBMRanker(
        objective=skrank.lightgbm.objective(GAP, tie_order="stable"), n_jobs=1, **params
    ).fit(train.X, train.y, group=train.sizes, sample_weight=weight)
    # features of few values have the same bins everywhere, and small trees the same splits
    np.testing.assert_allclose(found, alone.predict(valid.X), atol=1e-6)
    assert found.std() > 0.1


@pytest.mark.parametrize(
    ("params", "options", "message"),
    [
        ({}, {"eval_metric": ("gap", "err")}, "an eval metric in distributed LightGBM"),
        ({"metric": "ndcg"}, {"callbacks": True}, "early stopping in distributed LightGBM"),
        ({"metric": "ndcg", "early_stopping_round": 5}, {}, "early stopping in distributed"),
    ],
)
@pytest.mark.parametrize("n_partitions", [1, 2])  # a machine without validation data, and none
@pytest.mark.filterwarnings("ignore:Worker .* was not allocated eval_set data:UserWarning")
def test_lightgbm_must_not_judge_by_machine(
    client, train, valid, params, options, message, n_partitions
):
    parts = partition_queries(train.X, train.y, train.qid)
    held_out = partition_queries(valid.X, valid.y, valid.qid, n_partitions=n_partitions)
    options = evaluated(held_out) | options
    if "callbacks" in options:
        options["callbacks"] = [lgb.early_stopping(3, verbose=False)]
    if "eval_metric" in options:
        options["eval_metric"] = skrank.lightgbm.eval_metric(*options["eval_metric"])
    with pytest.raises(ValueError, match=message):
        fit_dask(client, parts, params=params, **options)
    # no worker is left waiting for one that failed
    wait_until(lambda: not any(client.processing().values()))


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_lightgbms_own_objective_with_an_eval_metric(client, train, valid):
    parts, held_out = (partition_queries(one.X, one.y, one.qid) for one in (train, valid))
    with pytest.raises(ValueError, match="an eval metric in distributed LightGBM"):
        fit_dask(
            client,
            parts,
            "lambdarank",
            eval_metric=skrank.lightgbm.eval_metric("gap"),
            **evaluated(held_out),
        )


def test_the_scale_of_grades_must_be_fixed(client, train):
    parts = partition_queries(train.X, train.y, train.qid)
    with pytest.raises(ValueError, match=r"err in distributed LightGBM.*max_grade=4"):
        fit_dask(client, parts, skrank.lightgbm.objective("err"))
    for metric in ("ndcg", "gap(thresholds=[0.4,0.3,0.2,0.1])", "err(max_grade=4)"):
        fit_dask(client, parts, skrank.lightgbm.objective(metric), {"n_estimators": 2})


def test_one_machine_on_dask_may_do_all(client, train, valid):
    parts, held_out = (
        partition_queries(one.X, one.y, one.qid, n_partitions=1) for one in (train, valid)
    )
    model = fit_dask(
        client,
        parts,
        skrank.lightgbm.objective("err"),
        {"n_estimators": 50},
        eval_metric=skrank.lightgbm.eval_metric("err"),
        callbacks=[lgb.early_stopping(3, verbose=False)],
        **evaluated(held_out),
    )
    scores = local(model).predict(valid.X, num_iteration=model.best_iteration_)
    assert model.best_score_["valid_0"]["err"] == pytest.approx(valid.score("err", scores))


@pytest.mark.parametrize(
    ("params", "machines"), [({}, 1), ({"num_machines": 3}, 3), ({"num_machine": "2"}, 2)]
)
def test_number_of_machines(params, machines):
    assert check.n_machines(params) == machines


# A worker dies ----------------------------------------------------------------------------------


class Slowly(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        distributed.get_worker().epoch = epoch
        time.sleep(0.05)
        return False


def slowly(env):
    distributed.get_worker().epoch = env.iteration
    time.sleep(0.05)


def kill_one_in_training(client):
    """Kill a worker as soon as it has trained some rounds."""
    address = max(client.nthreads())
    pid = client.run(os.getpid)[address]

    def rounds(dask_worker):
        return getattr(dask_worker, "epoch", -1)

    def watch():
        wait_until(lambda: client.run(rounds, workers=[address])[address] >= 2)
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
@pytest.mark.parametrize("booster", ["lightgbm", "xgboost"])
def test_a_killed_worker_is_an_error_and_no_other_model(train, booster):
    # tasks that can run on a dead worker only are given up
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}),
        start() as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE)
        parts = partition_queries(train.X, train.y, train.qid)
        killer = kill_one_in_training(client)
        if booster == "lightgbm":
            options = {"params": {"n_estimators": 2000}, "callbacks": [slowly]}
            fit = partial(fit_dask, client, parts, **options)
        else:
            dtrain = matrix(client, parts)
            evals = [(dtrain, "train")]
            fit = partial(train_dask, client, dtrain, evals, 2000, callbacks=[Slowly()])
        with pytest.raises(Exception, match=r"\S") as caught:  # of Dask or of the booster
            fit()
        assert not isinstance(caught.value, AssertionError)  # it did not hang
        killer.join(PATIENCE)
        assert not killer.is_alive()


def test_the_module_is_found_on_demand():
    assert skrank.dask is importlib.import_module("skrank.dask")
