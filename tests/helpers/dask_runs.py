"""Clusters, data and trainings on Dask."""

import logging
import multiprocessing
import threading

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

dask = pytest.importorskip("dask")  # skips test files that import this one
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dxgb = pytest.importorskip("xgboost.dask")

if "forkserver" in multiprocessing.get_all_start_methods():
    # Workers are forks of one process, which imports for all of them
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    distributed.utils.get_mp_context().set_forkserver_preload(
        ["distributed", "dask.dataframe", "lightgbm", "xgboost.dask", "numba"]
    )

QUIET = [
    # LightGBM takes the number of threads from the workers, and deprecates what older ones need
    pytest.mark.filterwarnings("ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"),
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]

PATIENCE = 300  # seconds after which a call is taken to hang, also on a machine under load
LGB = {
    "metric": "None", "verbosity": -1, "min_child_samples": 5, "n_estimators": 10, "num_leaves": 4,
    "time_out": 2,
}  # fmt: skip


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


def start():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
        memory_limit=None, silence_logs=logging.CRITICAL,
    )  # fmt: skip


def on_dask(values, cuts):
    """A collection whose partitions begin at row 0 and at the cuts."""
    parts = [values[first:last] for first, last in zip((0, *cuts), (*cuts, None), strict=True)]
    if issparse(values):
        meta = csr_matrix((0, values.shape[1]))
        lazy = [da.from_delayed(dask.delayed(part), part.shape, meta=meta) for part in parts]
        return da.concatenate(lazy)
    if hasattr(values, "iloc"):
        return dd.concat([dd.from_pandas(part, npartitions=1, sort=False) for part in parts])
    chunks = (tuple(map(len, parts)), *((size,) for size in values.shape[1:]))
    return da.from_array(values, chunks=chunks)


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
