"""Each registered metric has a class, documentation and points in the tests."""

import pytest

from skrank import metrics
from skrank.metrics import registered
from tests.helpers.catalogue import CATALOGUE

every_name = pytest.mark.parametrize("name", registered())


@every_name
def test_a_registered_metric_is_public_and_tested(name):
    tested = {point.metric.names[0] for point in CATALOGUE}
    assert name in tested, f"add a point of {name} to tests/helpers/catalogue.py"
    cls = registered()[name]
    assert getattr(metrics, cls.__name__, None) is cls
