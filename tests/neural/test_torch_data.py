"""Data sets and batches of whole queries."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

from torch.utils.data import DataLoader  # noqa: E402

import skrank  # noqa: E402
from skrank.torch import QueryDataset, query_offsets  # noqa: E402

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
    for number in (5, -6, 1.5):
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": None}, "QueryDataset"),
        ({"X": np.ma.masked_less(X, 1)}, "row 0 of X"),
        ({"relevance": np.where(Y == 3, -1, Y)}, "label of row 3 is -1"),
        ({"sample_weight": np.where(QID == "d", -1, 1)}, "weight of query 'd' is -1"),
        ({"dtype": torch.int64}, "dtype=torch.int64"),
        ({"X": pd.DataFrame(X), "relevance": pd.Series(Y)[::-1]}, "X and relevance"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        QueryDataset(**({"X": X, "relevance": Y, "groups": QID} | arguments))


def test_the_column_of_queries_is_not_a_feature():
    frame = pd.DataFrame({"qid": QID, "price": X[:, 0]})
    for groups in (None, QID):
        assert QueryDataset(frame, Y, groups)[0].X.tolist() == [[0], [1], [2]]


def test_features_out_of_range_of_the_dtype_are_refused_and_labels_keep_theirs():
    wide = X.copy()
    wide[4, 1] = 1e39
    assert QueryDataset(wide, Y, QID, dtype=torch.float64)[2].X.max() == 1e39
    with pytest.raises(ValueError, match=r"feature 1 of row 4 is 1e\+39"):
        QueryDataset(wide, Y, QID)[2]
    assert QueryDataset(np.where(wide == 1e39, np.inf, X), Y, QID)[2].X.max() == np.inf
    grades = np.where(Y == 3, 257.7, Y)
    assert QueryDataset(X, grades, QID, dtype=torch.bfloat16)[2].labels.max() == 257.7


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loaders_take_the_data_set(workers):
    data = QueryDataset(X, Y, QID)
    loader = DataLoader(
        data, batch_size=2, shuffle=True, collate_fn=data.collate, num_workers=workers
    )
    assert sorted(chain(*map(rows_of, loader))) == ROWS.tolist()


def test_offsets_of_groups():
    assert query_offsets(["b", "b", "a"]).tolist() == [0, 2, 3]
    assert query_offsets([1, "1", "1"]).tolist() == [0, 1, 3]  # ids of two types
    assert query_offsets([2**53, 2**53 + 1, -1]).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"'b' .* row 2"):
        query_offsets(["b", 1, "b"])
    with pytest.raises(ValueError, match=r"query 3 .* row 2"):
        query_offsets([3, 1, 3])
    with pytest.raises(ValueError, match=r"groups .* row 1"):
        query_offsets(["a", None, "b"])
