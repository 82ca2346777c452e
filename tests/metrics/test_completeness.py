"""Each registered metric has a class, documentation and points in the tests."""

import dataclasses
import inspect

import pytest

from skrank import metrics
from skrank.metrics import registered
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE

every_name = pytest.mark.parametrize("name", registered())


@every_name
def test_a_registered_metric_is_public_and_tested(name):
    tested = {point.metric.names[0] for point in CATALOGUE}
    assert name in tested, f"add a point of {name} to tests/helpers/catalogue.py"
    cls = registered()[name]
    assert getattr(metrics, cls.__name__, None) is cls


def test_every_literal_definition_is_used():
    used = {point.literal for point in CATALOGUE}
    unused = {name for name, literal in ref.METRICS.items() if literal not in used}
    assert unused == {"judged"}  # which the catalogue wraps


@pytest.mark.parametrize("name", ["ndcg_score", "recall_at_k_score", "average_precision_score"])
def test_score_functions_are_metrics_of_a_name(name):
    with pytest.raises(AttributeError, match=rf"no {name}: skrank\.metric\("):
        getattr(metrics, name)


@every_name
def test_fields_have_defaults_that_are_valid(name):
    cls = registered()[name]
    assert str(cls()) == name
    for field in dataclasses.fields(cls):
        assert field.default is not dataclasses.MISSING
        assert field.kw_only


@every_name
def test_docstring_names_every_parameter(name):
    cls = registered()[name]
    own = inspect.getdoc(cls)
    for field in dataclasses.fields(cls):
        assert field.name in own, field.name
    for section in ("Parameters", "References", "Examples"):
        assert f"{section}\n-" in own, section
