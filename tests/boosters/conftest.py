"""Data of the tests of boosters."""

import pytest

from tests.helpers.boosters import Data


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 40)
