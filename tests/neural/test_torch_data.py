"""Data sets and samplers of whole queries."""

import pickle
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
        ({"groups": None}, "QueryDataset needs the query of each row"),
        ({"X": X[:3]}, "relevance 15 rows"),
        ({"X": X.astype(object)}, "features must be numbers"),
        ({"X": np.ma.masked_less(X, 1)}, "row 0 of X is masked"),
        ({"X": [[1.0], [2.0, 3.0]]}, "X must be an array of shape"),
        ({"relevance": np.where(Y == 3, -1, Y)}, "label of row 3 is -1: labels must be at least 0"),
        ({"relevance": np.where(Y == 3, np.inf, Y)}, "label of row 3 is inf"),
        ({"sample_weight": np.where(QID == "d", -1, 1)}, "weight of query 'd' is -1"),
        ({"sample_weight": np.where(QID == "d", 1e-50, 1)}, "'d' is 1e-50, which is 0.0 in the dt"),
        ({"sample_weight": np.where(QID == "d", 1e50, 1)}, "'d' is 1e[+]50, which is inf in"),
        ({"dtype": np.float32}, "dtype=<class 'numpy.float32'> is not a dtype of features"),
        ({"dtype": torch.int64}, "dtype=torch.int64 is not a dtype of features"),
        ({"X": pd.DataFrame(X), "relevance": pd.Series(Y)[::-1]}, "X and relevance hold the same"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryDataset(**({"X": X, "relevance": Y, "groups": QID} | arguments))


def test_values_out_of_range_of_the_dtype_are_refused():
    wide = X.copy()
    wide[4, 1] = 1e39
    assert QueryDataset(wide, Y, QID, dtype=torch.float64)[2].X.max() == 1e39
    with pytest.raises(ValueError, match=r"feature 1 of row 4 is 1e\+39, which is inf in"):
        QueryDataset(wide, Y, QID)[2]
    assert QueryDataset(np.where(wide == 1e39, np.inf, X), Y, QID)[2].X.max() == np.inf
    grades = np.where(Y == 3, 257, Y)
    assert QueryDataset(X, grades, QID)[2].labels.max() == 257
    with pytest.raises(ValueError, match=r"label of row 7 is 257.0, which is 256.0 in the dtype"):
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
        ({"data": [3.5, 2]}, "data must be whole numbers in one dimension, .* type flo"),
        ({"data": [3, -2]}, "query 1 of data has -2 documents"),
        ({"data": [[3, 2]]}, r"data must be whole numbers in one dim.* of shape \(1, 2\)"),
        ({"world_size": 2}, "rank=None and world_size=2 belong together"),
        ({"rank": 0}, "rank=0 and world_size=None belong together"),
        ({"rank": 0.5, "world_size": 2}, "rank=0.5 must be an integer"),
        ({"rank": 0, "world_size": 0}, "world_size=0 must be at least 1"),
        ({"rank": -1, "world_size": 2}, "rank=-1 must be at least 0"),
        ({"rank": 2, "world_size": 2}, "ranks go from 0 to 1"),
    ],
)
def test_bad_arguments_of_a_sampler_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryBatchSampler(**({"data": SIZES} | arguments))
    with pytest.raises(ValueError, match=r"epoch=1\.5 must be an integer"):
        QueryBatchSampler(SIZES).set_epoch(1.5)


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loaders_take_data_set_and_sampler(workers):
    data = QueryDataset(X, Y, QID)
    sampler = QueryBatchSampler(data, max_documents=6)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=keep_batch, num_workers=workers)
    rows = list(chain(*map(rows_of, loader)))
    assert sorted(rows) == ROWS.tolist()


@pytest.fixture
def write(tmp_path):
    """A function that writes columns to a parquet file, and returns its path."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pyarrow.parquet

    def write(name="rows", size=3, names=None, **columns):
        path = tmp_path / f"{name}.parquet"
        table = arrow.table(columns).rename_columns(names or list(columns))
        pyarrow.parquet.write_table(table, path, row_group_size=size)
        return path

    return write


@pytest.fixture
def files(write):
    """Two files with the rows; row groups end inside queries."""
    return [
        write(name, 4, qid=QID[rows], relevance=Y[rows], a=X[rows, 0], b=X[rows, 1])
        for name, rows in (("one", slice(0, 9)), ("two", slice(9, 15)))
    ]


def test_row_groups_are_read_on_demand(files):
    data = QueryDataset.from_parquet(files, open_parts=1)
    memory = QueryDataset(X, Y, QID)
    assert data.ids.tolist() == memory.ids.tolist()
    for numbers in ([0, 1, 2, 3, 4], [4, 2], [3], []):
        found, expected = data.__getitems__(numbers), memory.__getitems__(numbers)
        assert all(
            a is b is None or torch.equal(a, b) for a, b in zip(found, expected, strict=True)
        )
    assert data.parts.tolist() == [0, 0, 1, 2, 3]
    assert data.source._part.cache_info().currsize == 1
    again = pickle.loads(pickle.dumps(data))
    assert torch.equal(again[2].X, memory[2].X)
    some = QueryDataset.from_parquet(files, features=["b"])
    assert torch.equal(some[2].X, memory[2].X[:, 1:])
    assert torch.equal(QueryDataset.from_parquet(str(files[0]))[0].X, memory[0].X)


def test_files_are_shuffled_by_row_group(files):
    data = QueryDataset.from_parquet(files)
    orders = set()
    for epoch in range(8):
        sampler = QueryBatchSampler(data, max_documents=1)
        sampler.set_epoch(epoch)
        order = list(chain(*sampler))
        parts = data.parts[order]
        assert np.count_nonzero(np.diff(parts)) == 3  # each row group once
        orders.add(tuple(order))
    assert len(orders) > 3


ROW = {"relevance": [1, 0], "a": [0.5, 0.25]}


@pytest.mark.parametrize("ids", [[2**53, None], ["a", None]], ids=["numbers", "strings"])
@pytest.mark.parametrize("encoded", [False, True])
def test_rows_without_a_query_are_refused(write, ids, encoded):
    """A null would convert whole numbers to floats, and has the code of another id."""
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array(ids)
    path = write(qid=column.dictionary_encode() if encoded else column, **ROW)
    with pytest.raises(ValueError, match=r"column 'qid' of .*rows.parquet has no query id in"):
        QueryDataset.from_parquet(path)


def test_ids_of_files_of_several_types_stay_different(write):
    """A common dtype in NumPy would be float, or text for numbers and text."""
    arrow = pytest.importorskip("pyarrow")
    first = write("one", qid=arrow.array([2**53] * 2), **ROW)
    narrow = write("two", qid=arrow.array([1, 2], "int32"), **ROW)
    other = write("three", qid=arrow.array([2**53 + 1] * 2, "uint64"), **ROW)
    ids = QueryDataset.from_parquet([first, narrow, other]).ids
    assert ids.tolist() == [2**53, 1, 2, 2**53 + 1]
    text = write("four", qid=["1", "2"], **ROW)
    with pytest.raises(ValueError, match=r"column 'qid' of .*one.*four.* incompatible types"):
        QueryDataset.from_parquet([first, text])


def test_features_of_files_keep_double_precision(write):
    values = [1 + 1e-12, 1e300]
    path = write(qid=[0, 0], relevance=[1, 0], a=values, b=[2**53 + 1, None])
    found = QueryDataset.from_parquet(path, features="a", dtype=torch.float64)[0].X
    assert found.tolist() == [[value] for value in values]
    nulls = QueryDataset.from_parquet(path, features="b")[0].X[:, 0].isnan()
    assert nulls.tolist() == [False, True]
    with pytest.raises(ValueError, match=r"feature 'a' of row 1 is 1e\+300, which is inf in"):
        QueryDataset.from_parquet(path, features=["a"])[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "column 'title' has type string, and features must be numbers"),
        ({"relevance": "title"}, "column 'title' has type string, and labels must be numbers"),
        ({"relevance": "label"}, "has no column 'label'"),
        ({"features": []}, "at least one other column of features"),
        ({"features": ["a", "relevance"]}, "another one of labels"),
        ({"groups": "relevance"}, "name one column of query ids, another one of labels"),
        ({"features": 1}, "features=1 must be"),
        ({"open_parts": 0, "features": "a"}, "open_parts=0 must be at least 1"),
        ({"dtype": torch.int32}, "dtype=torch.int32 is not a dtype of features"),
    ],
)
def test_bad_columns_are_named(write, arguments, message):
    path = write(qid=[0, 0], title=["x", "y"], **ROW)
    with pytest.raises(ValueError, match=message):
        QueryDataset.from_parquet(path, **arguments)


def test_columns_of_one_name_are_refused(write):
    path = write(names=["qid", "relevance", "a", "a"], qid=[1], relevance=[1], a=[1], b=[1])
    with pytest.raises(ValueError, match="has 2 columns 'a'"):
        QueryDataset.from_parquet(path, features="a")


def test_bad_files_are_refused(files, tmp_path, write):
    with pytest.raises(ValueError, match="paths is empty: give at least one file"):
        QueryDataset.from_parquet([])
    with pytest.raises(ValueError, match="paths=3 must be one item or a sequence"):
        QueryDataset.from_parquet(3)
    (tmp_path / "empty.parquet").touch()
    with pytest.raises(ValueError, match=r"empty.parquet cannot be read: .* 0 bytes"):
        QueryDataset.from_parquet(tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"cannot be read: .*directory"):
        QueryDataset.from_parquet(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        QueryDataset.from_parquet(tmp_path / "none.parquet")
    for labels, message in (
        ([], r"there are no rows in .*rows.parquet"),
        ([0, 1, 0, 1, -1], "label of row 4 is -1"),
        ([2**53 + 1, 0], r"'relevance' of .*rows.parquet cannot be read: .*9007199254740993"),
    ):
        path = write(qid=[0] * len(labels), relevance=labels, a=[0.5] * len(labels))
        with pytest.raises(ValueError, match=message):
            QueryDataset.from_parquet(path)[0]
    with pytest.raises(ValueError, match="query 'c' begins again in row 15"):
        QueryDataset.from_parquet([*files, files[0]])
