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


@pytest.fixture(scope="module")
def collection():
    """Qrels and a run, as dicts; no two documents of a query have equal scores."""
    rng = np.random.default_rng(0)
    pool = [f"d{i}" for i in range(80)]

    def some(n, values):
        return dict(zip(rng.choice(pool, n, replace=False).tolist(), values, strict=True))

    qrels = {f"q{i}": some(30, rng.integers(0, 4, 30).tolist()) for i in range(25)}
    run = {f"q{i}": some(40, rng.permutation(1000)[:40].tolist()) for i in range(25)}
    return qrels, run


def rows(qrels, run):
    """The run joined with the qrels: documents without a label, and those not retrieved."""
    found = []
    for query, labels in qrels.items():
        scores = run[query]
        found += [(query, labels.get(doc, np.nan), score) for doc, score in scores.items()]
        found += [(query, label, -np.inf) for doc, label in labels.items() if doc not in scores]
    query, relevance, scores = zip(*found, strict=True)
    return np.array(relevance, float), np.array(scores, float), np.array(query, object)


def test_arrays_and_collections_of_dask(collection):
    expected = trec.evaluate(*collection, METRICS)
    relevance, scores, groups = rows(*collection)
    report = skrank.evaluate(relevance, scores, groups=groups, metrics=METRICS)
    cuts = np.searchsorted([int(one[1:]) for one in groups], [0, 4, 4, 15, 25])
    chunks = (tuple(np.diff(cuts).tolist()),)
    collections = [da.from_array(one, chunks=chunks) for one in (relevance, scores, groups)]
    with dask.config.set(scheduler="synchronous"):
        on_dask = skrank.dask.evaluate(*collections, METRICS)
    first = expected.per_query.loc["run"]
    for found in (report, on_dask):
        np.testing.assert_array_equal(found.per_query.to_numpy(), first.to_numpy())
        np.testing.assert_array_equal(found.mean.to_numpy(), expected.mean.loc["run"].to_numpy())
        assert found.per_query.index.tolist() == first.index.tolist()
