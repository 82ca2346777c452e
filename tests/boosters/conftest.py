"""Data of the tests of boosters, and a cluster of Dask."""

import pytest

from tests.helpers.boosters import Data


@pytest.fixture(scope="module")
def train():
    return Data(0)


@pytest.fixture(scope="module")
def valid():
    return Data(1, 40)


@pytest.fixture(scope="module")
def client():
    from tests.helpers.dask_runs import PATIENCE, distributed, start

    with start() as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client
