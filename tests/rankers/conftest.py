"""Data of the tests of rankers."""

import pytest

import skrank
from tests.helpers.rankers import DATA


@pytest.fixture(scope="module")
def data():
    return DATA


@pytest.fixture(scope="module")
def y(data):
    return skrank.with_groups(data.relevance, data.qid)
