"""Registry = functions = points of the tests: a new metric cannot be half finished."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from skrank import metrics
from skrank.metrics import Metric, registered
from tests.helpers import reference as ref
from tests.helpers.catalogue import CATALOGUE, every_single_point, lists

FUNCTIONS = {
    name: function
    for name, function in vars(metrics).items()
    if name.endswith("_score") and inspect.isfunction(function)
}
COMMON = {"relevance", "scores", "groups", "sample_weight"}


def built_by(function):
    """The metric class that a score function makes."""
    used = [function.__globals__.get(name) for name in function.__code__.co_names]
    classes = [one for one in used if inspect.isclass(one) and issubclass(one, Metric)]
    assert len(classes) == 1, f"{function.__name__} should make one metric"
    return classes[0]


FUNCTION_OF = {built_by(function): function for function in FUNCTIONS.values()}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
every_name = pytest.mark.parametrize("name", registered())


@every_name
def test_a_registered_metric_is_tested(name):
    tested = {point.metric.names[0] for point in CATALOGUE}
    assert name in tested, f"add a point of {name} to tests/helpers/catalogue.py"


@every_name
def test_a_registered_metric_is_public(name):
    cls = registered()[name]
    assert getattr(metrics, cls.__name__, None) is cls


@every_name
def test_a_registered_metric_has_a_function(name):
    assert registered()[name] in FUNCTION_OF, f"write a function for {name} in metrics/functions.py"


def test_functions_are_of_different_registered_metrics():
    assert len(FUNCTION_OF) == len(FUNCTIONS)
    assert set(FUNCTION_OF) <= set(registered().values())


def test_every_literal_definition_is_used():
    used = {point.literal for point in CATALOGUE}
    unused = {name for name, literal in ref.METRICS.items() if literal not in used}
    assert unused == {"judged"}  # which the catalogue wraps


def test_points_are_different():
    texts = [point.text for point in CATALOGUE]
    assert len(set(texts)) == len(texts)


@every_function
def test_signature_is_that_of_the_class(name):
    function = FUNCTIONS[name]
    cls = built_by(function)
    parameters = inspect.signature(function).parameters
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    assert set(parameters) == set(fields) | COMMON
    for parameter in ("relevance", "scores"):
        assert parameters[parameter].default is inspect.Parameter.empty
        assert parameters[parameter].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    for parameter in set(parameters) - {"relevance", "scores"}:
        assert parameters[parameter].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["groups"].default is None
    assert parameters["sample_weight"].default is None
    for field, default in fields.items():
        assert parameters[field].default == default, field


@every_name
def test_fields_have_defaults_that_are_valid(name):
    cls = registered()[name]
    assert str(cls()) == name
    for field in dataclasses.fields(cls):
        assert field.default is not dataclasses.MISSING
        assert field.kw_only


@every_function
def test_docstring_names_every_parameter(name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function)
    cls = built_by(function)
    assert f"`{cls.__name__}`" in text
    for parameter in inspect.signature(function).parameters:
        assert parameter in text, parameter
    own = inspect.getdoc(cls)
    for field in dataclasses.fields(cls):
        assert field.name in own, field.name
    for section in ("Parameters", "References", "Examples"):
        assert f"{section}\n-" in own, section


@every_single_point
def test_functions_pass_every_parameter_on(point):
    function = FUNCTION_OF[type(point.metric)]
    data = lists(31, levels=3, n_queries=20)
    weights = np.array([float(1 + len(query) % 3) for query in data.groups])
    for changes in (
        {},
        {"empty": 0},
        {"ties": "worst"},
        {"condensed": True},
        {"average": point.metric.averages[-1]},
    ):
        one = dataclasses.replace(point.settled, **changes)
        given = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        for sample_weight in (None, weights):
            how = {"groups": data.groups, "sample_weight": sample_weight}
            assert function(data.relevance, data.scores, **given, **how) == one(
                data.relevance, data.scores, **how
            )
