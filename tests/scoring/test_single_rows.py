"""Queries of which one row is left: no list at all, and told of like any other cut."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_validate

import skrank

GAP = skrank.scorer("gap")
QID = np.repeat(np.arange(6), 4)
X = np.random.default_rng(0).normal(size=(24, 2))
Y = skrank.with_groups(np.arange(24) % 3, QID)


def split(train, test):
    return [(np.asarray(train), np.asarray(test))]


WHOLE_TRAIN, WHOLE_TEST = list(range(8)), list(range(12, 20))


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (
            [*WHOLE_TRAIN, 8],
            WHOLE_TEST,
            r"cut in the training part.*query 2, of which it has 1 of 4",
        ),
        (WHOLE_TRAIN, [*WHOLE_TEST, 20], r"cut in the test part.*query 5, of which it has 1 of 4"),
        ([*WHOLE_TRAIN, 8], [9, 10, 11, *WHOLE_TEST], r"training and in the test part.*query 2"),
        ([*WHOLE_TRAIN, 8, 9, 10], [11, *WHOLE_TEST], r"training and in the test part.*query 2"),
    ],
    ids=["training", "test", "one here", "one there"],
)
def test_a_query_cut_to_one_row_is_told_of(train, test, message):
    with pytest.warns(skrank.CutQueryWarning, match=message):
        cross_validate(Ridge(), X, Y, cv=split(train, test), scoring=GAP)


def test_a_row_drawn_several_times_is_one_row():
    """It does not make a query whole."""
    with pytest.warns(skrank.CutQueryWarning, match=r"query 2, of which it has 1 of 4"):
        cross_validate(Ridge(), X, Y, cv=split([*WHOLE_TRAIN, 8, 8, 8, 8], WHOLE_TEST), scoring=GAP)


def test_the_other_rows_of_a_query_cut_to_one_row_are_known():
    ranker = skrank.GroupedRanker(Ridge(), max_queries=6).fit(X[:9], Y.iloc[:9])
    with pytest.warns(skrank.CutQueryWarning, match=r"1 of the 2 queries scored have other rows"):
        ranker.score(X[9:16], Y.iloc[9:16])


def test_whole_queries_are_no_cut():
    cross_validate(Ridge(), X, Y, cv=split(WHOLE_TRAIN, WHOLE_TEST), scoring=GAP)
