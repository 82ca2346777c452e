"""A cut query with one remaining row warns like other cut queries."""

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


def test_a_test_part_with_one_row_of_a_query():
    with pytest.warns(skrank.CutQueryWarning, match=r"scored.*query 5, of which there are 1 of 4"):
        cross_validate(Ridge(), X, Y, cv=split(WHOLE_TRAIN, [*WHOLE_TEST, 20]), scoring=GAP)


def test_a_training_part_with_one_row_of_a_query():
    ranker = skrank.GroupedRanker(Ridge(), max_queries=6)
    with pytest.warns(skrank.CutQueryWarning, match=r"to fit.*query 2, of which there are 1 of 4"):
        cross_validate(ranker, X, Y, cv=split([*WHOLE_TRAIN, 8], WHOLE_TEST), scoring=GAP)
    cross_validate(Ridge(), X, Y, cv=split([*WHOLE_TRAIN, 8], WHOLE_TEST), scoring=GAP)


def test_whole_queries_are_no_cut():
    cross_validate(Ridge(), X, Y, cv=split(WHOLE_TRAIN, WHOLE_TEST), scoring=GAP)
