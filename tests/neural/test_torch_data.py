"""Data sets and samplers of whole queries."""

import pickle
from itertools import chain

import numpy as np
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
    nothing = data.__getitems__([])
    assert nothing.X.shape == (0, 2)
    assert nothing.offsets.tolist() == [0]


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
    with pytest.raises(ValueError, match="QueryDataset needs the query of each row"):
        QueryDataset(X, Y)
    with pytest.raises(ValueError, match="relevance 15 rows"):
        QueryDataset(X[:3], Y, QID)
    with pytest.raises(ValueError, match="features must be numbers"):
        QueryDataset(X.astype(object), Y, QID)


def test_batches_are_filled_and_complete():
    sampler = QueryBatchSampler(SIZES, max_documents=6, random_state=1)
    epochs = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(sampler) == len(batches)
        assert sorted(chain(*batches)) == list(range(5))
        assert all(len(batch) == 1 or SIZES[batch].sum() <= 6 for batch in batches)
        sums = [SIZES[batch].sum() for batch in batches]
        firsts = [SIZES[batch[0]] for batch in batches]
        assert all(a + b > 6 for a, b in zip(sums, firsts[1:], strict=False))
        assert batches == list(sampler)
        epochs.append(batches)
    assert epochs[0] != epochs[1] or epochs[1] != epochs[2]
    few = QueryBatchSampler(SIZES, max_queries=2, shuffle=False)
    assert list(few) == [[0, 1], [2, 3], [4]]
    longer = QueryBatchSampler(SIZES, max_documents=2, shuffle=False)
    assert list(longer) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("world_size", [2, 3, 7])
def test_processes_share_the_batches(world_size):
    parts = [
        list(QueryBatchSampler(SIZES, max_documents=6, rank=rank, world_size=world_size))
        for rank in range(world_size)
    ]
    assert len({len(part) for part in parts}) == 1
    assert sorted(chain(*chain(*parts))) == list(range(5))
    with pytest.raises(ValueError, match="ranks go from 0 to 1"):
        QueryBatchSampler(SIZES, rank=2, world_size=2)


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_take_both(workers):
    data = QueryDataset(X, Y, QID)
    sampler = QueryBatchSampler(data, max_documents=6)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=keep_batch, num_workers=workers)
    rows = list(chain(*map(rows_of, loader)))
    assert sorted(rows) == ROWS.tolist()


@pytest.fixture
def files(tmp_path):
    """The rows in two files, whose row groups cut queries."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet

    paths = []
    for name, rows in (("one", slice(0, 9)), ("two", slice(9, 15))):
        table = arrow.table(
            {"qid": QID[rows], "relevance": Y[rows], "a": X[rows, 0], "b": X[rows, 1]}
        )
        paths.append(str(tmp_path / f"{name}.parquet"))
        pyarrow.parquet.write_table(table, paths[-1], row_group_size=4)
    return paths


def test_files_are_read_in_parts(files):
    data = QueryDataset.from_parquet(files, open_parts=1)
    memory = QueryDataset(X, Y, QID)
    assert data.ids.tolist() == memory.ids.tolist()
    for numbers in ([0, 1, 2, 3, 4], [4, 2], [3], []):
        found, expected = data.__getitems__(numbers), memory.__getitems__(numbers)
        assert all(
            a is b is None or torch.equal(a, b) for a, b in zip(found, expected, strict=True)
        )
    assert data.parts.tolist() == [0, 0, 1, 2, 3]
    assert len(data.source._open) == 1
    again = pickle.loads(pickle.dumps(data))
    assert torch.equal(again[2].X, memory[2].X)
    some = QueryDataset.from_parquet(files, features=["b"])
    assert torch.equal(some[2].X, memory[2].X[:, 1:])


def test_files_are_shuffled_part_by_part(files):
    data = QueryDataset.from_parquet(files)
    orders = set()
    for epoch in range(8):
        sampler = QueryBatchSampler(data, max_documents=1)
        sampler.set_epoch(epoch)
        order = list(chain(*sampler))
        parts = data.parts[order]
        assert np.count_nonzero(np.diff(parts)) == 3  # each part once
        orders.add(tuple(order))
    assert len(orders) > 3


def test_bad_files_are_refused(files, tmp_path):
    with pytest.raises(ValueError, match="there is no column 'label'"):
        QueryDataset.from_parquet(files, relevance="label")
    with pytest.raises(ValueError, match="query 'c' begins again in row 15"):
        QueryDataset.from_parquet([*files, files[0]])
