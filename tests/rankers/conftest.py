"""Data of the tests of rankers."""

import pytest

import skrank
from skrank.datasets import make_ranking


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=80, n_docs=(5, 25), n_features=8, random_state=0)


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)
