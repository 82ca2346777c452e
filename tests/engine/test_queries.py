"""Sources of groups, and rows of queries in any order."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import skrank
from skrank.extending import Queries, require_groups

Y, IDS = [2, 0, 1, 1], ["b", "b", "a", "b"]


def polars(values):
    return pytest.importorskip("polars").Series(values)


def column(values):
    return np.array(values)[:, None]


CONTAINERS = (list, np.array, pd.Series, pd.Index, tuple, polars, column)
OTHER_IDS = [
    [1, 1, 2, 2], [-5, -5, 0, 3], [1.5, 1.5, 2, 2], ["a", "a", "", "b"], [b"a", b"a", b"b", b"b"],
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "ids"), [*((make, IDS) for make in CONTAINERS), *((list, ids) for ids in OTHER_IDS)]
)
def test_with_groups_puts_the_query_on_the_index(make, ids):
    y = skrank.with_groups(make(Y), make(ids))
    assert isinstance(y, pd.Series)
    assert y.index.names[0] == "qid"
    assert y.index.get_level_values("qid").to_list() == ids
    assert y.to_list() == Y
    assert y.name == "relevance"


def test_with_groups_of_series_that_are_not_aligned():
    relevance, qid = pd.Series(Y, index=[0, 1, 2, 3]), pd.Series(IDS, index=[3, 2, 1, 0])
    with pytest.raises(ValueError, match=r"groups.to_numpy\(\)"):
        skrank.with_groups(relevance, qid)
    y = skrank.with_groups(relevance, qid.to_numpy())
    assert y.index.to_list() == list(zip(IDS, range(4), strict=True))


def labelled(ids):
    return skrank.with_groups(Y, ids)


def frame(index=None, column=None):
    X = pd.DataFrame({"f": np.arange(4.0)})
    if column is not None:
        X["qid"] = column
    return X if index is None else X.set_index(pd.Index(index, name="qid"))


def multi_index():
    index = pd.MultiIndex.from_arrays([IDS, [0, 1, 0, 2]], names=["qid", "doc"])
    return pd.Series(Y, index=index)


@pytest.mark.parametrize(
    "sources",
    [
        (IDS,), (IDS, Y), (IDS, labelled(IDS), frame(IDS)),
        (None, labelled(IDS)), (None, labelled(IDS), frame()), (None, multi_index()),
        (None, Y, frame(IDS)), (None, None, frame(IDS)), (None, Y, frame(column=IDS)),
        (None, labelled(IDS), frame(column=IDS)), (IDS, Y, frame(column=IDS)),
    ],
)  # fmt: skip
def test_groups_come_first_then_the_index_of_y_then_x(sources):
    assert require_groups(*sources, who="Ranker").tolist() == IDS


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        ((None, Y, frame()), "with_groups.*groups="),
        ((None, pd.Series(Y), np.ones((4, 1))), "with_groups.*groups="),
        ((IDS, Y, frame(["b", "b", "a", "c"])), "groups.*row 3"),
        ((None, labelled(IDS), frame(IDS[::-1])), "of y and .* of X"),
        (([1, 1, 2, 2], labelled(IDS)), "row 0 has query 1.*'b'"),
        ((["1", "1", "2", "2"], labelled([1, 1, 2, 2])), "row 0 has query '1'"),
    ],
)
def test_no_source_and_sources_that_disagree(sources, named):
    with pytest.raises(ValueError, match=named):
        require_groups(*sources, who="Ranker")


IDS_OF_ALL_KINDS = {
    "ints": [3, 3, 1, 1, 1, 2],
    "scattered": [2, 1, 2, 3, 1, 2],
    "strings": ["b", "a", "b", "c", "c", "c"],
    "objects": np.array(["b", 1, "b", (2, 3), 1, 1], object),
    "large": [2**62, 2**62, -(2**62), 0, 0, 2**62],
    "unsigned": np.array([2**63 + 1, 2**63, 2**63 + 1, 0, 0, 0], np.uint64),
    "dates": np.array(["2020-01-02", "2020-01-01", "2020-01-02", "2021-01-01"] + ["2020-01-01"] * 2,
                      "datetime64[D]"),
    "one": [7],
}  # fmt: skip


@pytest.mark.parametrize("kind", IDS_OF_ALL_KINDS)
def test_queries_hold_the_rows_of_each_id(kind):
    groups = np.asarray(IDS_OF_ALL_KINDS[kind])
    queries = Queries.from_groups(groups)
    assert list(queries.ids) == list(dict.fromkeys(groups))  # in order of first row
    assert queries.n_rows == queries.sizes.sum() == len(groups)
    rows = np.arange(len(groups))
    order = queries.gather(rows)
    assert_array_equal(np.sort(order), rows)
    assert_array_equal(queries.scatter(order), rows)
    for number, query in enumerate(queries.ids):
        mine = order[queries.indptr[number] : queries.indptr[number + 1]]
        expected = [row for row in rows if groups[row] == query]
        assert mine.tolist() == expected  # in row order
        assert (queries.row_query[queries.indptr[number] :][: len(mine)] == number).all()
    assert [queries.caller_row(row) for row in rows] == order.tolist()
