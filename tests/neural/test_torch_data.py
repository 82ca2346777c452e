"""Data sets and samplers of whole queries."""

from itertools import chain, pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

from torch.utils.data import DataLoader  # noqa: E402

import skrank  # noqa: E402
from skrank.torch import QueryBatchSampler, QueryDataset, keep_batch  # noqa: E402

SIZES = np.array([3, 1, 4, 2, 5])
QID = np.repeat(["c", "a", "d", "b", "e"], SIZES)
ROWS = np.arange(15)
X = np.column_stack([ROWS, ROWS % 3]).astype(float)
Y = ROWS % 4


def rows_of(batch):
    return batch.X[:, 0].int().tolist()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_batches_hold_whole_queries(kind):
    shuffled = np.random.default_rng(0).permutation(15)
    data = QueryDataset(kind(X[shuffled]), Y[shuffled], QID[shuffled], sample_weight=None)
    assert len(data) == 5
    assert set(data.ids) == set("abcde")
    for number, name in enumerate(data.ids):
        one = data[number]
        assert sorted(rows_of(one)) == ROWS[name == QID].tolist()
        assert one.labels.tolist() == [row % 4 for row in rows_of(one)]
        assert one.offsets.tolist() == [0, data.sizes[number]]
    both = data.__getitems__([3, 0])
    assert rows_of(both) == rows_of(data[3]) + rows_of(data[0])
    assert both.offsets.tolist() == [0, *np.cumsum(data.sizes[[3, 0]])]
    assert both.ids.tolist() == [3, 0]
    assert rows_of(data[-1]) == rows_of(data[4])
    assert data.__getitems__([-2, 0]).ids.tolist() == [3, 0]
    nothing = data.__getitems__([])
    assert nothing.X.shape == (0, 2)
    assert nothing.offsets.tolist() == [0]
    for number in (5, -6, 1.5, "a", slice(2)):
        with pytest.raises(IndexError):
            data[number]


def test_weights_and_groups_on_the_index():
    y = skrank.with_groups(Y, QID)
    weights = np.repeat([1.0, 2, 3, 4, 5], SIZES)
    data = QueryDataset(X, y, sample_weight=weights, dtype=torch.float64)
    assert data.__getitems__([2, 4]).weights.tolist() == [3, 5]
    assert data[0].X.dtype == torch.float64
    padded, labels, mask = data.__getitems__([0, 1]).padded()
    assert padded.shape == (2, 3, 2)
    assert mask.tolist() == [[True] * 3, [True, False, False]]
    assert labels.isnan().tolist() == (~mask).tolist()
    assert data[0].to("cpu").X.device.type == "cpu"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": None}, "QueryDataset"),
        ({"X": X[:3]}, "relevance"),
        ({"X": X.astype(object)}, "features"),
        ({"X": np.ma.masked_less(X, 1)}, "row 0"),
        ({"X": [[1.0], [2.0, 3.0]]}, r"\bX\b"),
        ({"relevance": np.where(Y == 3, -1, Y)}, "label of row 3"),
        ({"relevance": np.where(Y == 3, np.inf, Y)}, "label of row 3"),
        ({"sample_weight": np.where(QID == "d", -1, 1)}, "weight of query 'd'"),
        ({"sample_weight": np.where(QID == "d", 1e-50, 1)}, "'d'"),
        ({"sample_weight": np.where(QID == "d", 1e50, 1)}, "'d'"),
        ({"dtype": np.float32}, "dtype=<class 'numpy.float32'"),
        ({"dtype": torch.int64}, "dtype=torch.int64"),
        ({"X": pd.DataFrame(X), "relevance": pd.Series(Y)[::-1]}, r"\bX\b"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryDataset(**({"X": X, "relevance": Y, "groups": QID} | arguments))


def test_values_out_of_range_of_the_dtype_are_refused():
    wide = X.copy()
    wide[4, 1] = 1e39
    assert QueryDataset(wide, Y, QID, dtype=torch.float64)[2].X.max() == 1e39
    with pytest.raises(ValueError, match="feature 1 of row 4"):
        QueryDataset(wide, Y, QID)[2]
    assert QueryDataset(np.where(wide == 1e39, np.inf, X), Y, QID)[2].X.max() == np.inf
    grades = np.where(Y == 3, 257, Y)
    assert QueryDataset(X, grades, QID)[2].labels.max() == 257
    with pytest.raises(ValueError, match="label of row 7"):
        QueryDataset(X, grades, QID, dtype=torch.bfloat16)[2]


@pytest.mark.parametrize("kind", [">f8", "g", "u8", ">i2"])
def test_features_of_any_numeric_dtype(kind):
    expected = QueryDataset(X, Y, QID)[2].X
    assert torch.equal(QueryDataset(X.astype(kind), Y, QID)[2].X, expected)


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("options", [{"shuffle": False}, {"max_queries": 2}, {}])
def test_batches_are_filled_complete_and_shared(options, world_size):
    for seed in range(20):
        sizes = np.random.default_rng(seed).integers(0, 6, seed % 7)
        ranks = [
            list(QueryBatchSampler(sizes, max_documents=6, random_state=seed, rank=rank,
                                   world_size=world_size, **options))
            for rank in range(world_size)
        ]  # fmt: skip
        batches = [batch for turn in zip(*ranks, strict=True) for batch in turn if batch]
        queries = [query for batch in batches for query in batch]
        assert sorted(queries) == list(range(len(sizes)))
        assert options.get("shuffle", True) or queries == sorted(queries)
        most = options.get("max_queries", np.inf)
        for batch in batches:
            assert len(batch) <= most
            assert len(batch) == 1 or sizes[batch].sum() <= 6
        for batch, following in pairwise(batches):  # the next query does not fit
            assert len(batch) == most or sizes[[*batch, following[0]]].sum() > 6


def test_epochs_have_other_orders_that_can_be_repeated():
    sampler, epochs = QueryBatchSampler(SIZES, max_documents=6, random_state=1), []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        epochs.append(list(sampler))
        assert epochs[-1] == list(sampler)
    assert epochs[0] != epochs[1] or epochs[1] != epochs[2]
    longer = QueryBatchSampler(SIZES, max_documents=2, shuffle=False)
    assert list(longer) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": [3.5, 2]}, "data"),
        ({"data": [3, -2]}, "query 1"),
        ({"data": [[3, 2]]}, "data"),
        ({"world_size": 2}, "rank=None and world_size=2"),
        ({"rank": 0}, "rank=0 and world_size=None"),
        ({"rank": 0.5, "world_size": 2}, "rank=0.5"),
        ({"rank": 0, "world_size": 0}, "world_size=0"),
        ({"rank": -1, "world_size": 2}, "rank=-1"),
        ({"rank": 2, "world_size": 2}, "ranks"),
    ],
)
def test_bad_arguments_of_a_sampler_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryBatchSampler(**({"data": SIZES} | arguments))
    with pytest.raises(ValueError, match=r"epoch=1\.5"):
        QueryBatchSampler(SIZES).set_epoch(1.5)


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loaders_take_data_set_and_sampler(workers):
    data = QueryDataset(X, Y, QID)
    sampler = QueryBatchSampler(data, max_documents=6)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=keep_batch, num_workers=workers)
    rows = list(chain(*map(rows_of, loader)))
    assert sorted(rows) == ROWS.tolist()
