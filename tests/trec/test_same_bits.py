"""One run as dicts, arrays and Dask collections: the same values."""

import numpy as np
import pytest

import skrank
from skrank import trec
from skrank.metrics import registered

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

import skrank.dask  # noqa: E402

METRICS = [
    "ndcg@10", "ndcg(gain=linear)", "err@20", "recall@5", "judged@5", "0.7*gap+0.3*ndcg@10",
    "gap(condensed=True)", "+".join(f"ndcg@{k}" for k in range(1, 10)), "trec_eval:11pt_avg",
    # infap asks whether a document was in the pool, which a missing label does not say
    *(name for name in registered() if name != "infap"),
]  # fmt: skip


def test_arrays_and_collections_of_dask():
    """Of 50 documents of a query, 10 are judged only, and 20 retrieved only; scores differ."""
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 4, (25, 50)).astype(float)
    scores = rng.permuted(np.tile(np.arange(50.0), (25, 1)), axis=1)
    qrels = {
        f"q{q}": {f"d{i}": int(label) for i, label in enumerate(labels[:30])}
        for q, labels in enumerate(relevance)
    }
    run = {
        f"q{q}": {f"d{i}": score for i, score in enumerate(row[10:].tolist(), start=10)}
        for q, row in enumerate(scores)
    }
    expected = trec.evaluate(qrels, run, METRICS)
    relevance[:, 30:], scores[:, :10] = np.nan, -np.inf
    arrays = relevance.ravel(), scores.ravel(), np.repeat(np.array(list(qrels), object), 50)
    report = skrank.evaluate(*arrays[:2], groups=arrays[2], metrics=METRICS)
    collections = [da.from_array(one, chunks=((200, 0, 550, 500),)) for one in arrays]
    with dask.config.set(scheduler="synchronous"):
        on_dask = skrank.dask.evaluate(*collections, METRICS)
    first = expected.per_query.loc["run"]
    for found in (report, on_dask):
        np.testing.assert_array_equal(found.per_query.to_numpy(), first.to_numpy())
        np.testing.assert_array_equal(found.mean.to_numpy(), expected.mean.loc["run"].to_numpy())
        assert found.per_query.index.tolist() == first.index.tolist()
